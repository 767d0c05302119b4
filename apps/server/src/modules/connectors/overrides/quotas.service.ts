import type { Services } from '#core/platform/services';
import type { OperationKey } from '#modules/connectors/calls/operations';
import { QuotaExceeded } from '#modules/connectors/connectors.errors';
import type { QuotaLimit } from '#modules/connectors/overrides/overrides.rules';
import { openQuota, reserveQuota, settleQuota } from '#modules/connectors/overrides/quotas.queries';
import { secondsToEnd, windowsOf, type Amounts, type Window } from '#modules/connectors/overrides/quotas.rules';

type Wanted = {
  tenantId: string;
  operation: OperationKey;
  quotaLimits: readonly QuotaLimit[];
  characters: number;
};

/** Quota reservation of an operation before its call. */
export type Reservation = {
  /** After a successful call: adds amounts that are known only then. */
  settle(tokens: number): Promise<void>;
  /** After a failed call: releases the reservation. */
  giveBack(): Promise<void>;
};

/** @throws QuotaExceeded (429) if a quota is exceeded; then nothing is reserved */
export async function reserve(services: Pick<Services, 'database' | 'now'>, wanted: Wanted): Promise<Reservation> {
  const { tenantId, operation, quotaLimits, characters } = wanted;
  if (quotaLimits.length === 0) return nothingTaken;
  const now = services.now();
  const windows = windowsOf(quotaLimits, { requests: 1, characters, tokens: 0 }, now);
  const given = { tenantId, operation, windows: JSON.stringify(windows) };
  const db = services.database.tenant(tenantId);
  const [, judged] = await db.interactive.batch([openQuota(given), reserveQuota(given)]);
  const over = judged.filter(({ is_over: isOver }) => isOver).map(({ period }) => period);
  if (over.length > 0) throw QuotaExceeded({ retryAfterSeconds: secondsToEnd(over, now) });
  const add = async (amounts: Amounts) => {
    // The periods of the reservation, which may have ended.
    const changes = windows.map((window): Window => ({ ...window, amount: amounts[window.unit] }));
    if (changes.every(({ amount }) => amount === 0)) return;
    await db.interactive.all(settleQuota({ ...given, windows: JSON.stringify(changes) }));
  };
  return {
    settle: (tokens) => add({ requests: 0, characters: 0, tokens }),
    giveBack: () => add({ requests: -1, characters: -characters, tokens: 0 }),
  };
}

const nothingTaken: Reservation = { settle: () => Promise.resolve(), giveBack: () => Promise.resolve() };
