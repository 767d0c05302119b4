export type OperationDomain = 'messaging' | 'translation' | 'models' | 'geocoding' | 'connectors';

/** A task that outside providers perform. */
export type Operation = {
  /** Never changes: overrides refer to it. */
  readonly id: string;
  readonly name: string;
  readonly domain: OperationDomain;
  /** True if the installation runs it on its own, not on request of a tenant. */
  readonly isSystemScoped: boolean;
};

const of = (id: string, domain: OperationDomain, name: string, isSystemScoped = false): Operation => ({
  id: `0190a000-0000-7000-8000-0000000000${id}`,
  name,
  domain,
  isSystemScoped,
});

/** Every operation by its key, as the control plane and overrides name it. */
export const operations = {
  'connectors.check': of('01', 'connectors', 'Check how a connector does', true),
  'messaging.sms': of('11', 'messaging', 'Send an SMS'),
  'messaging.chatapp': of('12', 'messaging', 'Send a chat message'),
  'messaging.email': of('13', 'messaging', 'Send a mail'),
  'messaging.webhook': of('14', 'messaging', 'Hand a notification to a program'),
  'translation.text': of('21', 'translation', 'Translate a text'),
  'translation.i18n': of('22', 'translation', 'Translate a name and a description'),
  'translation.entity': of('23', 'translation', 'Translate a record'),
  'translation.entity_type': of('24', 'translation', 'Translate many records'),
  'models.list': of('31', 'models', 'List the models of providers'),
  'geocoding.search': of('41', 'geocoding', 'Find the coordinates of an address'),
  'geocoding.reverse': of('42', 'geocoding', 'Find the address of coordinates'),
} as const satisfies Record<string, Operation>;

export type OperationKey = keyof typeof operations;

export function isOperationKey(key: string): key is OperationKey {
  return Object.hasOwn(operations, key);
}
