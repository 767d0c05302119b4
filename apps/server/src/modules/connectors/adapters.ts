import { InvalidConnectorConfig } from '#modules/connectors/connectors.errors';
import * as geocoding from '#modules/connectors/geocoding/adapters/adapters';
import * as messaging from '#modules/connectors/messaging/adapters/adapters';
import * as models from '#modules/connectors/models/adapters/adapters';
import { webProblem, type ProviderSettings } from '#modules/connectors/provider';
import * as translation from '#modules/connectors/translation/adapters/adapters';

/** What all adapters have, whatever they are for. */
export type ConnectorAdapter = {
  /** What is missing or wrong in the settings, as a sentence for whoever made them; never with a value in it. */
  problem(settings: ProviderSettings): string | undefined;
  /** A cheap request that a provider answers with 2xx where it works with these settings. */
  check?(settings: ProviderSettings): { url: string; method?: string; headers?: Record<string, string>; body?: string };
};

type Kind = {
  adapters: Readonly<Record<string, ConnectorAdapter>>;
  /** The categories that a connector for this may have. */
  categories: readonly string[];
};

const kinds: readonly Kind[] = [
  { adapters: messaging.adapters, categories: ['communication'] },
  translation,
  models,
  geocoding,
];

/** A connector as far as it says what it is for. */
export type Described = ProviderSettings & { key: string; category: string };

/** The adapter that speaks with the provider; undefined where the connector names none, or one of another category. */
export function findAdapter(described: Pick<Described, 'config' | 'key' | 'category'>): ConnectorAdapter | undefined {
  const name = adapterName(described);
  const kind = kinds.find(({ adapters, categories }) => {
    return typeof name === 'string' && Object.hasOwn(adapters, name) && categories.includes(described.category);
  });
  return kind?.adapters[name as string];
}

/** @throws InvalidConnectorConfig (422) where an adapter is named that is none, or that could never work with the settings */
export function assertProviderConfig(described: Described): void {
  // What carries messages has an adapter by default.
  if (described.category === 'communication') return messaging.assertMessagingConfig(described);
  const adapter = findAdapter(described);
  const ofKind = () => (adapter === undefined ? nameProblem(described) : adapter.problem(described));
  const problem = webProblem(described.baseUrl) ?? ofKind();
  if (problem !== undefined) throw InvalidConnectorConfig({ details: { problem } });
}

/** A connector may be without an adapter: it is listed, and serves nothing. */
function nameProblem({ config, category }: Described): string | undefined {
  if (!Object.hasOwn(config, 'adapter')) return undefined;
  const fitting = kinds.filter(({ categories }) => categories.includes(category));
  const names = fitting.flatMap(({ adapters }) => Object.keys(adapters));
  return `config.adapter has to be one of ${names.join(', ')}, which are those of the category ${category}.`;
}

function adapterName({ config, key, category }: Pick<Described, 'config' | 'key' | 'category'>): unknown {
  if (Object.hasOwn(config, 'adapter')) return config['adapter'];
  const isName = kinds.some(
    ({ adapters, categories }) => categories.includes(category) && Object.hasOwn(adapters, key),
  );
  if (isName) return key;
  return category === 'communication' ? 'webhook' : undefined;
}
