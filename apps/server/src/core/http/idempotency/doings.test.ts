import { describe, expect, it } from 'vitest';

import { newId } from '#core/crypto/ids';
import type { Query } from '#core/db/query';
import { watchDoings } from '#core/http/idempotency/doings';
import { useService } from '#test/support/harness';

const test = useService();
const tenantId = newId();
const asking = (text: string): Query<unknown> => ({ text, values: [tenantId], prepare: false });
const db = () => {
  const doings = watchDoings(test.service.services);
  return { doings, db: doings.services.database.tenant(tenantId) };
};
const told = ({ doings }: ReturnType<typeof db>) => [doings.mayHaveWritten(), doings.mayHaveChanged()];

describe('watchDoings', () => {
  it('does not count reads and locks', async () => {
    const watched = db();
    await watched.db.first(asking('select updated_at from contacts where tenant_id = $1'));
    await watched.db.transaction((tx) => tx.all(asking('select id from contacts where tenant_id = $1 for update')));
    await watched.db.transaction((tx) => tx.all(asking('select id from users where tenant_id = $1 for no key update')));
    expect(told(watched)).toEqual([false, false]);
  });

  it.each([
    ['delete', 'delete from tags where tenant_id = $1'],
    ['update', 'update tags set name = name where tenant_id = $1'],
    ['insert', 'insert into tags select * from tags where tenant_id = $1'],
    ['nested', 'with gone as (DELETE FROM tags where tenant_id = $1 returning id) select count(*) from gone'],
  ])('counts what writes: %s', async (_what, text) => {
    const watched = db();
    await watched.db.slow.all(asking(text));
    expect(told(watched)).toEqual([true, false]);
  });

  it('takes for a change what the trail tells of', async () => {
    const watched = db();
    await watched.db.slow.all(asking('insert into audit_logs select * from audit_logs where tenant_id = $1'));
    expect(told(watched)).toEqual([true, true]);
    const reading = db();
    await reading.db.slow.all(asking('select id from audit_logs where tenant_id = $1'));
    expect(told(reading)).toEqual([false, false]);
  });

  it('forgets what was rolled back', async () => {
    const watched = db();
    const wrong = asking('delete from tags where tenant_id = $1 and 1 / 0 = 1');
    await expect(watched.db.slow.flight([asking('delete from tags where tenant_id = $1'), wrong])).rejects.toThrow(
      'zero',
    );
    expect(told(watched)).toEqual([false, false]);
  });

  it('never counts on what has a database of its own', async () => {
    const watched = db();
    const { dispatcher } = watched.doings.services;
    const change = () => Promise.reject(new Error('changed its mind'));
    await expect(dispatcher.runNow({ name: 'none' } as never, change)).rejects.toThrow('changed its mind');
    expect(told(watched)).toEqual([true, true]);
  });
});
