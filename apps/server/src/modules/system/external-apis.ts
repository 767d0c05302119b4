import { perDatabase } from '#core/data/db/per-database';
import type { Services } from '#core/platform/services';
import { countConnectors, type ConnectorCount } from '#modules/system/system.queries';

export type ExternalApis = { total: number; active: number; statusBreakdown: Record<string, number> };

const keptMs = 10_000;
/** The count stops here: health is requested often, and a larger exact number says no more. */
const maxCounted = 50_000;
const none: ExternalApis = { total: 0, active: 0, statusBreakdown: {} };

const counted = perDatabase<{ last?: { at: number; counting: Promise<ExternalApis> } }>(() => ({}));

/** Connectors of all tenants, counted at most every 10 seconds; empty if the count fails. */
export function countExternalApis({ database }: Pick<Services, 'database'>): Promise<ExternalApis> {
  const known = counted(database);
  if (known.last !== undefined && performance.now() - known.last.at < keptMs) return known.last.counting;
  const counting = database
    .platform()
    .interactive.all(countConnectors({ max: maxCounted }))
    .then(toExternalApis)
    .catch(() => {
      delete known.last;
      return none;
    });
  known.last = { at: performance.now(), counting };
  return counting;
}

function toExternalApis(rows: readonly ConnectorCount[]): ExternalApis {
  return {
    total: rows.reduce((sum, { total }) => sum + total, 0),
    active: rows.reduce((sum, { active }) => sum + active, 0),
    statusBreakdown: Object.fromEntries(rows.map(({ status, total }) => [status, total])),
  };
}
