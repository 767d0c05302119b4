import { InvalidConnectorConfig } from '#modules/connectors/connectors.errors';
import * as geocoding from '#modules/connectors/geocoding/adapters/adapters';
import { adapterIn, type Kind } from '#modules/connectors/kind';
import * as messaging from '#modules/connectors/messaging/adapters/adapters';
import * as models from '#modules/connectors/models/adapters/adapters';
import { webProblem, type ProviderSettings } from '#modules/connectors/provider';
import { missingSettings, settingsProblem, type SettingsRules } from '#modules/connectors/settings';
import * as translation from '#modules/connectors/translation/adapters/adapters';

/** Properties that all adapters share. */
export type ConnectorAdapter = SettingsRules & {
  /** A cheap request that the provider answers with 2xx if the settings work. */
  check?(settings: ProviderSettings): { url: string; method?: string; headers?: Record<string, string>; body?: string };
};

const kinds: readonly Kind<ConnectorAdapter>[] = [messaging, translation, models, geocoding];

/** The properties of a connector that select its adapter. */
export type Described = ProviderSettings & { key: string; category: string };

/** The adapter of a connector; undefined if it names none, or one of another category. */
export function findAdapter(described: Pick<Described, 'config' | 'key' | 'category'>): ConnectorAdapter | undefined {
  const found = kindsOf(described.category).map((kind) => adapterIn(kind, described));
  return found.find((adapter) => adapter !== undefined);
}

/** @throws InvalidConnectorConfig (422) for an unknown adapter, or settings that the adapter refuses */
export function assertProviderConfig(described: Described): void {
  const problem = problemOf(described);
  if (problem !== undefined) throw InvalidConnectorConfig({ details: { problem } });
}

/** Required settings that are missing; the connector is not called until it has them. */
export function missingIn(described: Described): string[] {
  const adapter = findAdapter(described);
  return adapter === undefined ? [] : missingSettings(adapter, described);
}

/** @throws InvalidConnectorConfig (422) where any is missing */
export function assertComplete([missing]: readonly string[]): void {
  if (missing !== undefined) throw InvalidConnectorConfig({ details: { problem: `${missing} is missing.` } });
}

function problemOf(described: Described): string | undefined {
  // Connectors for messages have a default adapter.
  if (messaging.categories.includes(described.category)) return messaging.messagingProblem(described);
  const adapter = findAdapter(described);
  const ofKind = () => (adapter === undefined ? nameProblem(described) : settingsProblem(adapter, described));
  return webProblem(described.baseUrl) ?? ofKind();
}

/** A connector without an adapter is listed but serves no operation. */
function nameProblem({ config, category }: Described): string | undefined {
  if (!Object.hasOwn(config, 'adapter')) return undefined;
  const names = kindsOf(category).flatMap(({ adapters }) => Object.keys(adapters));
  return `config.adapter has to be one of ${names.join(', ')}, which are those of the category ${category}.`;
}

function kindsOf(category: string): Kind<ConnectorAdapter>[] {
  return kinds.filter(({ categories }) => categories.includes(category));
}
