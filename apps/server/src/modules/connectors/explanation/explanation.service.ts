import { systemTenantId } from '#core/access/principal';
import type { Services } from '#core/services';
import type { OperationKey } from '#modules/connectors/calls/operations';
import { lastResort, readinessOf, type Readiness } from '#modules/connectors/calls/routing.rules';
import { findRoute, type Candidate } from '#modules/connectors/calls/routing.service';
import { listConnectors, type ConnectorRow } from '#modules/connectors/connectors.queries';
import { kinds } from '#modules/connectors/explanation/kinds';
import type { Terms } from '#modules/connectors/overrides/overrides.rules';

type Needed = Pick<Services, 'database' | 'encryption' | 'now'>;
type Wanted = { tenantId: string; operation: OperationKey };

/**
 * What a connector is to an operation right now. `next`: where those before it fail. `paused`: it failed or asked for
 * patience, and is passed over. `unusable`: its credentials cannot be read, or were given for another address. `unfit`: it
 * is of another kind. `spared`: others are asked instead of it.
 */
export type Part = 'serves' | 'next' | 'paused' | 'unusable' | 'disabled' | 'spared' | 'unfit';

export type ExplainedProvider = { row: ConnectorRow; part: Part; isOwnCredentials: boolean };

export type ExplainedRoute = Terms & { providers: ExplainedProvider[] };

const most = 100;

/** Who would serve the operation for the tenant if it were called now, who after them, and why the others would not. */
export async function explainRoute(services: Needed, wanted: Wanted): Promise<ExplainedRoute> {
  const { tenantId, operation } = wanted;
  const [connectors, route] = await Promise.all([
    connectorsOf(services, tenantId),
    findRoute(services, { ...wanted, serves: kinds[operation] }),
  ]);
  const { candidates: fit, ...terms } = route;
  const isSpared = sparing(operation, tenantId, fit);
  const candidates = fit.filter(({ row }) => !isSpared(row));
  const inOrder = explainCandidates(candidates, services.now());
  const rest = connectors
    .filter(({ id }) => candidates.every(({ row }) => row.id !== id))
    .map((row) => ({ row, part: partOfRest(operation, row, isSpared), isOwnCredentials: false }));
  return { ...terms, providers: [...inOrder, ...rest] };
}

async function connectorsOf({ database }: Needed, tenantId: string): Promise<ConnectorRow[]> {
  const of = (id: string) => listConnectors(id, {}, { limit: most, offset: 0 });
  const [own, system] = await Promise.all([
    tenantId === systemTenantId ? [] : database.tenant(tenantId).slow.all(of(tenantId)),
    database.platform().slow.all(of(systemTenantId)),
  ]);
  return [...own, ...system];
}

/** Models of others are other models: those of the installation count only where the tenant has none of its own. */
function sparing(operation: OperationKey, tenantId: string, fit: readonly Candidate[]): (row: ConnectorRow) => boolean {
  const hasOwn = operation === 'models.list' && fit.some(({ row }) => row.tenant_id === tenantId);
  return (row) => hasOwn && row.tenant_id !== tenantId;
}

function explainCandidates(candidates: readonly Candidate[], now: Date): ExplainedProvider[] {
  const states = candidates.map((candidate) => ({ candidate, state: stateOf(candidate, now) }));
  const ready = states.find(({ state }) => state === 'ready' || state === 'probe');
  // Where one is tried in vain, those that are passed over are not.
  const isTried = states.some(({ state }) => state === 'unusable');
  const first =
    ready?.candidate.row ??
    (isTried
      ? undefined
      : lastResort(
          candidates.map(({ row }) => row),
          now,
        ));
  return states.map(({ candidate: { row, isOwnCredentials }, state }) => ({
    row,
    isOwnCredentials,
    part: row === first ? 'serves' : partOf(state),
  }));
}

type State = Readiness | 'unusable';

function stateOf({ row, isOwnCredentials, credentials }: Candidate, now: Date): State {
  try {
    credentials();
  } catch {
    return 'unusable';
  }
  return readinessOf(row, { now, isOwnCredentials });
}

function partOf(state: State): Part {
  if (state === 'unusable') return 'unusable';
  return state === 'out' ? 'paused' : 'next';
}

function partOfRest(operation: OperationKey, row: ConnectorRow, isSpared: (row: ConnectorRow) => boolean): Part {
  if (!kinds[operation](row)) return 'unfit';
  return row.enabled || isSpared(row) ? 'spared' : 'disabled';
}
