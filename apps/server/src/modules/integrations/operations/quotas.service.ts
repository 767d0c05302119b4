import type { Services } from '#core/services';
import { endOf, startOf, type Ceiling, type OperationKey } from '#modules/connectors/index';
import { listUsed } from '#modules/integrations/operations/quotas.queries';
import type { Reach } from '#modules/integrations/reach';

type Of = { db: Reach['db']; tenantId: string; operationKey: OperationKey; ceilings: readonly Ceiling[] };

/** How much of its ceilings a tenant has used in the periods that are now. */
export async function quotasOf({ now }: Pick<Services, 'now'>, { db, ceilings, ...of }: Of) {
  if (ceilings.length === 0) return [];
  const at = now();
  const used = await db.slow.all(listUsed({ ...of, since: startOf('month', at).toISOString() }));
  return ceilings.map(({ unit, period, ceiling: limit }) => {
    const begin = startOf(period, at).getTime();
    const row = used.find((one) => one.unit === unit && one.period === period && Date.parse(one.starts_at) === begin);
    const amount = row?.used ?? 0;
    return {
      ceiling: `${unit}_per_${period}`,
      limit,
      used: amount,
      remaining: Math.max(0, limit - amount),
      resets_at: endOf(period, at).toISOString(),
    };
  });
}
