import type { ConnectorRow } from '#modules/connectors/connectors.queries';
import type { Fields } from '#modules/connectors/provider';

/** Something that connectors are for, each by one of the adapters. */
export type Kind<Adapter> = {
  /** Adapters by `config.adapter` or api_key. */
  readonly adapters: Readonly<Record<string, Adapter>>;
  /** The categories that a connector for this may have. */
  readonly categories: readonly string[];
  /** For connectors that name none. */
  readonly byDefault?: string;
};

export type Named = {
  config: Fields;
  /** The api_key of the connector. */
  key?: string | undefined;
};

/** The adapter that a connector names; undefined for an unknown name. */
export function adapterIn<Adapter>(
  { adapters, byDefault }: Omit<Kind<Adapter>, 'categories'>,
  { config, key }: Named,
): Adapter | undefined {
  const { adapter: name = key !== undefined && Object.hasOwn(adapters, key) ? key : byDefault } = config;
  return typeof name === 'string' && Object.hasOwn(adapters, name) ? adapters[name] : undefined;
}

/** The properties of a connector that select its adapter. */
export type Describing = Pick<ConnectorRow, 'api_key' | 'category' | 'config'>;

/** Whether a connector is of the kind. */
export function isOf(kind: Kind<unknown>, { api_key: key, category, config }: Describing): boolean {
  return kind.categories.includes(category) && adapterIn(kind, { config, key }) !== undefined;
}
