import type { ConnectorRow } from '#modules/connectors/connectors.queries';
import type { Fields } from '#modules/connectors/provider';

/** Something that connectors are for, each by one of the adapters. */
export type Kind<Adapter> = {
  /** By the name that `config.adapter` or the api_key of the connector gives. */
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

/** The adapter that a connector names; undefined where there is none of that name. */
export function adapterIn<Adapter>(
  { adapters, byDefault }: Omit<Kind<Adapter>, 'categories'>,
  { config, key }: Named,
): Adapter | undefined {
  const { adapter: name = key !== undefined && Object.hasOwn(adapters, key) ? key : byDefault } = config;
  return typeof name === 'string' && Object.hasOwn(adapters, name) ? adapters[name] : undefined;
}

/** A connector as far as it says what it is for. */
export type Describing = Pick<ConnectorRow, 'api_key' | 'category' | 'config'>;

/** Whether a connector is of the kind. */
export function isOf(kind: Kind<unknown>, { api_key: key, category, config }: Describing): boolean {
  return kind.categories.includes(category) && adapterIn(kind, { config, key }) !== undefined;
}
