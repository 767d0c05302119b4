import { describe, expect, it } from 'vitest';

import { newId } from '#core/crypto/ids';
import type { Query } from '#core/db/query';
import { trackSideEffects } from '#core/http/idempotency/side-effects';
import { useService } from '#test/support/harness';

const test = useService();
const tenantId = newId();
const queryOf = (text: string): Query<unknown> => ({ text, values: [tenantId], prepare: false });
const db = () => {
  const sideEffects = trackSideEffects(test.service.services);
  return { sideEffects, db: sideEffects.services.database.tenant(tenantId) };
};
const flagsOf = ({ sideEffects }: ReturnType<typeof db>) => [
  sideEffects.mayHaveWritten(),
  sideEffects.mayHaveChanged(),
];

describe('trackSideEffects', () => {
  it('does not count reads and locks', async () => {
    const watched = db();
    await watched.db.first(queryOf('select updated_at from contacts where tenant_id = $1'));
    await watched.db.transaction((tx) => tx.all(queryOf('select id from contacts where tenant_id = $1 for update')));
    await watched.db.transaction((tx) =>
      tx.all(queryOf('select id from users where tenant_id = $1 for no key update')),
    );
    expect(flagsOf(watched)).toEqual([false, false]);
  });

  it.each([
    ['delete', 'delete from tags where tenant_id = $1'],
    ['update', 'update tags set name = name where tenant_id = $1'],
    ['insert', 'insert into tags select * from tags where tenant_id = $1'],
    ['nested', 'with gone as (DELETE FROM tags where tenant_id = $1 returning id) select count(*) from gone'],
  ])('counts what writes: %s', async (_what, text) => {
    const watched = db();
    await watched.db.slow.all(queryOf(text));
    expect(flagsOf(watched)).toEqual([true, false]);
  });

  it('takes for a change what the trail tells of', async () => {
    const watched = db();
    await watched.db.slow.all(queryOf('insert into audit_logs select * from audit_logs where tenant_id = $1'));
    expect(flagsOf(watched)).toEqual([true, true]);
    const reading = db();
    await reading.db.slow.all(queryOf('select id from audit_logs where tenant_id = $1'));
    expect(flagsOf(reading)).toEqual([false, false]);
  });

  it('forgets what was rolled back', async () => {
    const watched = db();
    const wrong = queryOf('delete from tags where tenant_id = $1 and 1 / 0 = 1');
    await expect(watched.db.slow.flight([queryOf('delete from tags where tenant_id = $1'), wrong])).rejects.toThrow(
      'zero',
    );
    expect(flagsOf(watched)).toEqual([false, false]);
  });

  it('assumes a side effect of services that have a database of their own', async () => {
    const watched = db();
    const { dispatcher } = watched.sideEffects.services;
    const change = () => Promise.reject(new Error('changed its mind'));
    await expect(dispatcher.runNow({ name: 'none' } as never, change)).rejects.toThrow('changed its mind');
    expect(flagsOf(watched)).toEqual([true, true]);
  });
});
