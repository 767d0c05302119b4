import type { Services } from '#core/services';
import type { OperationKey } from '#modules/connectors/calls/operations';
import { QuotaExceeded } from '#modules/connectors/connectors.errors';
import type { Ceiling } from '#modules/connectors/overrides/overrides.rules';
import { openQuota, reserveQuota, settleQuota } from '#modules/connectors/overrides/quotas.queries';
import { secondsToEnd, windowsOf, type Amounts, type Window } from '#modules/connectors/overrides/quotas.rules';

type Needed = Pick<Services, 'database' | 'now'>;

type Wanted = {
  tenantId: string;
  operation: OperationKey;
  ceilings: readonly Ceiling[];
  characters: number;
};

/** What was taken of the ceilings of an operation before its call. */
export type Reservation = {
  /** After a call that was served: what was known only then. */
  settle(tokens: number): Promise<void>;
  /** After one that was not. */
  giveBack(): Promise<void>;
};

/** @throws QuotaExceeded (429) where one of the periods has not so much left; then nothing was taken of any */
export async function reserve(services: Needed, wanted: Wanted): Promise<Reservation> {
  const { tenantId, operation, ceilings, characters } = wanted;
  if (ceilings.length === 0) return nothingTaken;
  const now = services.now();
  const windows = windowsOf(ceilings, { requests: 1, characters, tokens: 0 }, now);
  const given = { tenantId, operation, windows: JSON.stringify(windows) };
  const db = services.database.tenant(tenantId);
  const [, judged] = await db.slow.flight([openQuota(given), reserveQuota(given)]);
  const over = judged.filter(({ is_over: isOver }) => isOver).map(({ period }) => period);
  if (over.length > 0) throw QuotaExceeded({ retryAfterSeconds: secondsToEnd(over, now) });
  const add = async (amounts: Amounts) => {
    // Of the periods in which it was taken, which may be over by now.
    const changes = windows.map((window): Window => ({ ...window, amount: amounts[window.unit] }));
    if (changes.every(({ amount }) => amount === 0)) return;
    await db.slow.all(settleQuota({ ...given, windows: JSON.stringify(changes) }));
  };
  return {
    settle: (tokens) => add({ requests: 0, characters: 0, tokens }),
    giveBack: () => add({ requests: -1, characters: -characters, tokens: 0 }),
  };
}

const nothingTaken: Reservation = { settle: () => Promise.resolve(), giveBack: () => Promise.resolve() };
