import { InvalidConnectorConfig } from '#modules/connectors/connectors.errors';
import * as geocoding from '#modules/connectors/geocoding/adapters/adapters';
import { adapterIn, type Kind } from '#modules/connectors/kind';
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

const kinds: readonly Kind<ConnectorAdapter>[] = [messaging, translation, models, geocoding];

/** A connector as far as it says what it is for. */
export type Described = ProviderSettings & { key: string; category: string };

/** The adapter that speaks with the provider; undefined where the connector names none, or one of another category. */
export function findAdapter(described: Pick<Described, 'config' | 'key' | 'category'>): ConnectorAdapter | undefined {
  const found = kindsOf(described.category).map((kind) => adapterIn(kind, described));
  return found.find((adapter) => adapter !== undefined);
}

/** @throws InvalidConnectorConfig (422) where an adapter is named that is none, or that could never work with the settings */
export function assertProviderConfig(described: Described): void {
  // What carries messages has an adapter by default.
  if (messaging.categories.includes(described.category)) return messaging.assertMessagingConfig(described);
  const adapter = findAdapter(described);
  const ofKind = () => (adapter === undefined ? nameProblem(described) : adapter.problem(described));
  const problem = webProblem(described.baseUrl) ?? ofKind();
  if (problem !== undefined) throw InvalidConnectorConfig({ details: { problem } });
}

/** A connector may be without an adapter: it is listed, and serves nothing. */
function nameProblem({ config, category }: Described): string | undefined {
  if (!Object.hasOwn(config, 'adapter')) return undefined;
  const names = kindsOf(category).flatMap(({ adapters }) => Object.keys(adapters));
  return `config.adapter has to be one of ${names.join(', ')}, which are those of the category ${category}.`;
}

function kindsOf(category: string): Kind<ConnectorAdapter>[] {
  return kinds.filter(({ categories }) => categories.includes(category));
}
