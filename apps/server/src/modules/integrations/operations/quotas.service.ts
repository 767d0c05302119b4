import type { Services } from '#core/platform/services';
import { endOf, startOf, type QuotaLimit, type OperationKey } from '#modules/connectors/index';
import { listUsed } from '#modules/integrations/operations/quotas.queries';
import type { Reach } from '#modules/integrations/reach';

type Of = { db: Reach['db']; tenantId: string; operationKey: OperationKey; quotaLimits: readonly QuotaLimit[] };

/** Usage of a tenant's quotas in the current periods. */
export async function quotasOf({ now }: Pick<Services, 'now'>, { db, quotaLimits, ...of }: Of) {
  if (quotaLimits.length === 0) return [];
  const at = now();
  const used = await db.interactive.all(listUsed({ ...of, since: startOf('month', at).toISOString() }));
  return quotaLimits.map(({ unit, period, limit }) => {
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
