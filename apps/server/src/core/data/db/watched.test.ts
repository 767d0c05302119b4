import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Query, ReadStatement } from '#core/data/db/query';
import { watchDatabase } from '#core/data/db/watched';
import { endBlocked, withClient } from '#test/support/database';
import { useService } from '#test/support/harness';

const test = useService();
const asking = (text: string): ReadStatement<unknown> => ({ kind: 'read', text, values: [], prepare: false });
const fine = asking('select 1 as one');
const wrong = asking('select 1 / 0 as one');
const lock = 'select pg_advisory_xact_lock(4711)';

function watch() {
  const standing: string[] = [];
  const note = ({ text }: Query<unknown>) => {
    standing.push(text);
    return () => void standing.splice(standing.indexOf(text), 1);
  };
  return { db: watchDatabase(test.service.services.database, note).tenant(newId()), standing };
}

describe('watchDatabase', () => {
  it('answers as the database does, and tells of what was sent', async () => {
    const { db, standing } = watch();
    expect(await db.first(fine)).toEqual({ one: 1 });
    expect(await db.interactive.all(fine)).toEqual([{ one: 1 }]);
    expect(await db.batch([fine, fine])).toEqual([[{ one: 1 }], [{ one: 1 }]]);
    expect(await db.transaction((tx) => tx.all(fine))).toEqual([{ one: 1 }]);
    expect(standing).toHaveLength(5);
  });

  it('tells while the answer is still out', async () => {
    const { db, standing } = watch();
    const flown = db.interactive.all(wrong).catch(() => undefined);
    expect(standing).toHaveLength(1);
    await flown;
    expect(standing).toHaveLength(0);
  });

  it('takes back what PostgreSQL rolled back', async () => {
    const { db, standing } = watch();
    await expect(db.batch([fine, wrong])).rejects.toThrow('division by zero');
    await expect(
      db.transaction(async (tx) => {
        await tx.all(fine);
        await tx.all(wrong);
      }),
    ).rejects.toThrow('division by zero');
    await expect(
      db.transaction((tx) => tx.all(fine).then(() => Promise.reject(new Error('changed its mind')))),
    ).rejects.toThrow('changed its mind');
    expect(standing).toEqual([]);
  });

  it('does not take back what a lost connection leaves open', async () => {
    const { db, standing } = watch();
    await whileOthersWait(() => db.interactive.batch([fine, asking(lock)]));
    expect(standing).toHaveLength(2);
  });

  it('takes back what was lost before the commit was sent', async () => {
    const { db, standing } = watch();
    await whileOthersWait(() =>
      db.transaction(async (tx) => {
        await tx.all(fine);
        await tx.all(asking(lock));
      }),
    );
    expect(standing).toEqual([]);
  });
});

/** Ends the connection of what waits for the lock. */
async function whileOthersWait(work: () => Promise<unknown>): Promise<void> {
  await withClient(test.connection, async (client) => {
    await client.query('begin');
    await client.query(lock);
    const all = async ({ text, values }: Query<unknown>) => (await client.query(text, [...values])).rows as unknown[];
    const failed = work().catch((error: unknown) => error);
    await endBlocked({ all });
    expect(await failed).toBeInstanceOf(Error);
  });
}
