import { systemTenantId } from '#core/base/access/principal';
import type { Services } from '#core/platform/services';
import type { OperationKey } from '#modules/connectors/calls/operations';
import { circuitOf, retryAfterOf } from '#modules/connectors/calls/pauses';
import { readinessOf } from '#modules/connectors/calls/routing.rules';
import { findRoute, type Candidate } from '#modules/connectors/calls/routing.service';
import { listConnectors, type ConnectorRow } from '#modules/connectors/connectors.queries';
import { kinds } from '#modules/connectors/explanation/kinds';
import type { Terms } from '#modules/connectors/overrides/overrides.rules';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'now' | 'outbound'>;
type Wanted = { tenantId: string; operation: OperationKey };

/**
 * Role of a connector for an operation at this time. `next`: called if the ones before it fail. `paused`: skipped after failures or
 * Retry-After; with own credentials only in this process and for this tenant. `unusable`: its credentials cannot be decrypted, or
 * belong to another address. `incomplete`: settings are missing. `unfit`: another kind. `spared`: others are called instead.
 */
export type Part = 'serves' | 'next' | 'paused' | 'unusable' | 'incomplete' | 'disabled' | 'spared' | 'unfit';

export type ExplainedProvider = {
  row: ConnectorRow;
  part: Part;
  isOwnCredentials: boolean;
  /** End of the current or latest pause. */
  retryAt: string | null;
};

export type ExplainedRoute = Terms & { providers: ExplainedProvider[] };

const max = 100;

/** Explains which connectors would serve the operation for the tenant now, in which order, and why the others would not. */
export async function explainRoute(services: Dependencies, wanted: Wanted): Promise<ExplainedRoute> {
  const { tenantId, operation } = wanted;
  const [connectors, route] = await Promise.all([
    connectorsOf(services, tenantId),
    findRoute(services, { ...wanted, serves: kinds[operation] }),
  ]);
  const { candidates: fit, incomplete, ...terms } = route;
  const lacking = new Set(incomplete.map(({ row }) => row.id));
  const isSpared = sparing(operation, tenantId, fit);
  const candidates = fit.filter(({ row }) => !isSpared(row));
  const inOrder = explainCandidates(services, tenantId, candidates);
  const rest = connectors
    .filter(({ id }) => candidates.every(({ row }) => row.id !== id))
    .map((row) => ({
      row,
      part: lacking.has(row.id) ? ('incomplete' as const) : partOfRest(operation, row, isSpared),
      isOwnCredentials: false,
      retryAt: row.retry_at,
    }));
  return { ...terms, providers: [...inOrder, ...rest] };
}

async function connectorsOf({ database }: Dependencies, tenantId: string): Promise<ConnectorRow[]> {
  const of = (id: string) => listConnectors(id, {}, { limit: max, offset: 0 });
  const [own, system] = await Promise.all([
    tenantId === systemTenantId ? [] : database.tenant(tenantId).interactive.all(of(tenantId)),
    database.platform().interactive.all(of(systemTenantId)),
  ]);
  return [...own, ...system];
}

/** Models differ by provider: the installation's connectors serve only tenants without their own. */
function sparing(operation: OperationKey, tenantId: string, fit: readonly Candidate[]): (row: ConnectorRow) => boolean {
  const hasOwn = operation === 'models.list' && fit.some(({ row }) => row.tenant_id === tenantId);
  return (row) => hasOwn && row.tenant_id !== tenantId;
}

function explainCandidates(
  services: Dependencies,
  tenantId: string,
  candidates: readonly Candidate[],
): ExplainedProvider[] {
  const states = candidates.map((candidate) => stateOf(services, tenantId, candidate));
  const isReady = states.includes('ready');
  // After an attempt with an unusable connector, paused ones are not tried.
  const first = isReady ? 'ready' : states.includes('unusable') ? undefined : 'last resort';
  const served = first === undefined ? -1 : states.indexOf(first);
  return candidates.map((candidate, index) => {
    const { row, isOwnCredentials } = candidate;
    const retryAt = pausedUntil(services, tenantId, candidate);
    return { row, isOwnCredentials, part: index === served ? 'serves' : partOf(states[index]!), retryAt };
  });
}

/** `last resort`: called only if no other connector is left; `out`: not called at all. */
type State = 'ready' | 'last resort' | 'out' | 'unusable';

function stateOf(services: Dependencies, tenantId: string, candidate: Candidate): State {
  const { row, isOwnCredentials, credentials } = candidate;
  if (retryAfterOf(services, tenantId, candidate) !== undefined) return 'out';
  const isOpen = services.outbound.circuitOpenUntil(circuitOf(tenantId, candidate)) !== undefined;
  if (isOpen && isOwnCredentials) return 'out';
  try {
    credentials();
  } catch {
    return 'unusable';
  }
  const readiness = readinessOf(row, { now: services.now(), isOwnCredentials });
  // A probe ignores the circuit.
  return readiness === 'out' || (isOpen && readiness !== 'probe') ? 'last resort' : 'ready';
}

function pausedUntil(services: Dependencies, tenantId: string, candidate: Candidate): string | null {
  const { row, isOwnCredentials } = candidate;
  const ofProcess =
    retryAfterOf(services, tenantId, candidate) ??
    services.outbound.circuitOpenUntil(circuitOf(tenantId, candidate))?.toISOString();
  // The shared pause applies to own credentials only while the connector is auto-disabled.
  const isShared = !isOwnCredentials || readinessOf(row, { now: services.now(), isOwnCredentials }) === 'out';
  return ofProcess ?? (isShared ? row.retry_at : null);
}

function partOf(state: State): Part {
  if (state === 'unusable') return 'unusable';
  return state === 'ready' ? 'next' : 'paused';
}

function partOfRest(operation: OperationKey, row: ConnectorRow, isSpared: (row: ConnectorRow) => boolean): Part {
  if (!kinds[operation](row)) return 'unfit';
  return row.enabled || isSpared(row) ? 'spared' : 'disabled';
}
