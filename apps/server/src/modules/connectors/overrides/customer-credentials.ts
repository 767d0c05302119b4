import { systemTenantId } from '#core/base/access/principal';
import type { Services } from '#core/platform/services';
import { findAdapter } from '#modules/connectors/adapters';
import { InvalidConnectorConfig } from '#modules/connectors/connectors.errors';
import { maskCredentials, originOf, unmaskCredentials } from '#modules/connectors/connectors.rules';
import { listAddresses } from '#modules/connectors/overrides/overrides.queries';
import { credentialsByKey } from '#modules/connectors/overrides/overrides.rules';
import { missingSettings, settingsProblem } from '#modules/connectors/settings';

type Fields = Readonly<Record<string, unknown>>;

/** Credentials of a tenant by the api_key of their connector. */
export type CustomerCredentials = Readonly<Record<string, Given>>;

/** `origins`: addresses of the connectors of that name when the credentials were stored. */
type Given = { credentials: Fields; origins: readonly string[] };

type Stored = { isFlat: boolean; byKey: Record<string, Given> };

type Vault = Pick<Services, 'encryption'>;

type Sealing = {
  tenantId: string;
  overrideId: string;
  /** As sent: by api_key, or flat for the first provider in the order. A mask keeps the stored value. */
  sent: Fields;
  order: readonly string[];
  stored: string | null;
};

/**
 * @throws CredentialsRequired (422) for a mask without a stored value, or with one for another address,
 *   InvalidConnectorConfig (422) if no connector of that name can use the credentials
 */
export async function sealCustomerCredentials(
  services: Pick<Services, 'database' | 'encryption'>,
  { tenantId, overrideId, sent, order, stored }: Sealing,
): Promise<string | null> {
  if (Object.keys(sent).length === 0) return null;
  const { isFlat, byKey: sentByKey } = credentialsByKey(sent, order);
  const known = stored === null ? {} : (readable(services, overrideId, stored)?.byKey ?? {});
  const connectors = await connectorsOf(services, tenantId, Object.keys(sentByKey));
  const byKey = Object.entries(sentByKey).map(([key, fields]): [string, Given] => {
    const named = connectors.filter(({ api_key: of }) => of === key);
    const found = named.map(({ api_base_url: url }) => originOf(url));
    const before = Object.hasOwn(known, key) ? known[key] : undefined;
    // A deleted connector may be created again at another address.
    const origins = found.length === 0 ? (before?.origins ?? []) : found;
    const stays = before !== undefined && origins.every((origin) => before.origins.includes(origin));
    const credentials = unmaskCredentials({ ...fields }, stays ? { ...before.credentials } : null);
    assertUsable(credentials, { place: isFlat ? 'customer_credentials' : `customer_credentials.${key}`, named });
    return [key, { credentials, origins }];
  });
  const value: Stored = { isFlat, byKey: Object.fromEntries(byKey) };
  return services.encryption.encrypt(JSON.stringify(value), placeOf(overrideId));
}

/** The field names in the shape in which they were sent, with masked values. */
export function maskCustomerCredentials(
  vault: Vault,
  { id, customer_credentials: stored }: { id: string; customer_credentials: string | null },
): Record<string, unknown> {
  if (stored === null) return {};
  const { isFlat, byKey } = readable(vault, id, stored) ?? { isFlat: false, byKey: {} };
  const masked = Object.entries(byKey).map(([key, { credentials }]) => [key, maskCredentials({ ...credentials })]);
  return isFlat ? ((masked[0]?.[1] ?? {}) as Record<string, unknown>) : Object.fromEntries(masked);
}

/** @throws Error if the stored value was modified or its key no longer exists */
export function openCustomerCredentials(
  vault: Vault,
  { id, customer_credentials: stored }: { id: string; customer_credentials: string | null },
): CustomerCredentials {
  return stored === null ? {} : open(vault, id, stored).byKey;
}

/** Empty if they cannot be decrypted. */
export function readCustomerCredentials(
  vault: Vault,
  { id, customer_credentials: stored }: { id: string; customer_credentials: string | null },
): CustomerCredentials {
  return stored === null ? {} : (readable(vault, id, stored)?.byKey ?? {});
}

/** Credentials are never sent to an address that the connector did not have when they were stored. */
export function mayBeSent({ origins }: Given, baseUrl: string): boolean {
  return origins.includes(originOf(baseUrl));
}

type Connector = Awaited<ReturnType<typeof connectorsOf>>[number];

/** Validates the credentials with the adapters; every credential is one line of text. */
function assertUsable(credentials: Fields, { place, named }: { place: string; named: readonly Connector[] }): void {
  const problems = named.flatMap(({ api_key: key, api_base_url: baseUrl, category, config }) => {
    const adapter = findAdapter({ key, category, config });
    if (adapter === undefined) return [];
    const settings = { baseUrl, config, credentials };
    const missing = missingSettings(adapter, settings).map((name) => `${name} is missing.`);
    return [...missing, settingsProblem(adapter, settings)];
  });
  // Other problems of the connector do not concern this request.
  const ofAdapter = problems.find((problem) => problem?.startsWith('auth_config.'))?.replace('auth_config', place);
  const problem = lineProblem(credentials, place) ?? ofAdapter;
  if (problem !== undefined) throw InvalidConnectorConfig({ details: { problem } });
}

function lineProblem(credentials: Fields, place: string): string | undefined {
  const wrong = Object.entries(credentials).find(([, value]) => typeof value !== 'string' || !/^\P{Cc}+$/u.test(value));
  return wrong === undefined ? undefined : `${place}.${wrong[0]} has to be a text of one line.`;
}

async function connectorsOf({ database }: Pick<Services, 'database'>, tenantId: string, keys: readonly string[]) {
  const [own, system] = await Promise.all([
    database.tenant(tenantId).all(listAddresses({ tenantId, keys })),
    tenantId === systemTenantId ? [] : database.platform().all(listAddresses({ tenantId: systemTenantId, keys })),
  ]);
  return [...own, ...system];
}

function open({ encryption }: Vault, id: string, stored: string): Stored {
  return JSON.parse(encryption.decrypt(stored, placeOf(id))) as Stored;
}

/** Undefined if decryption fails: it is shown as missing and must be sent again. */
function readable(vault: Vault, id: string, stored: string): Stored | undefined {
  try {
    return open(vault, id, stored);
  } catch {
    return undefined;
  }
}

function placeOf(id: string): string {
  return `operation_overrides.customer_credentials:${id}`;
}
