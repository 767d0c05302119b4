import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';

import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams, withAudit } from '#core/data/audit/audit.queries';
import { lock, queryBuilder, toAuditedWrite, toRead, toWrite } from '#core/data/db/query';
import { trackSideEffects } from '#core/http/idempotency/side-effects';
import { useService } from '#test/support/harness';

const test = useService();
const tenantId = newId();
const rows = queryBuilder<{ tags: { tenant_id: string; id: string } }>();
const deletion = rows.deleteFrom('tags').where('tenant_id', '=', tenantId);
const find = rows.selectFrom('tags').select('id').where('tenant_id', '=', tenantId);
const actor = { tenantId, userId: null, request: { id: 'r', ip: null, userAgent: null, receivedAt: 0 } };
const event = { action: 'tag.deleted', resourceType: 'tag' };
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
    await watched.db.first(toRead(find));
    await watched.db.transaction((tx) => tx.all(lock(() => find.forUpdate())({})));
    expect(flagsOf(watched)).toEqual([false, false]);
  });

  it('counts a write whose text begins with a read', async () => {
    const watched = db();
    const nested = rows
      .with('gone', () => deletion.returning('id'))
      .selectFrom('gone')
      .selectAll();
    await watched.db.interactive.all(toWrite(nested));
    expect(flagsOf(watched)).toEqual([true, false]);
  });

  it('counts an audited write as a change too', async () => {
    const watched = db();
    const change = withAudit(
      deletion.returning('id'),
      event,
      auditParams(actor as unknown as Actor, new Date().toISOString()),
    );
    await watched.db.interactive.all(toAuditedWrite(change));
    expect(flagsOf(watched)).toEqual([true, true]);
  });

  it('forgets what was rolled back', async () => {
    const watched = db();
    const wrong = toWrite(deletion.where(sql<boolean>`1 / 0 = 1`));
    await expect(watched.db.interactive.batch([toWrite(deletion), wrong])).rejects.toThrow('zero');
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
