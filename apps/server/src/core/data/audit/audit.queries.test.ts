import { beforeAll, describe, expect, it } from 'vitest';

import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditEvent, auditParams, withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { queryBuilder, toAuditedWrite } from '#core/data/db/query';
import { createTenant, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();
const at = '2026-01-02T03:04:05.678Z';
const request = { id: newId(), ip: '192.0.2.1', userAgent: 'unit/1.0', receivedAt: 0 };
const denied = { code: '42501' };

let tenant: Tenant;
let actor: Actor;

beforeAll(async () => {
  tenant = await createTenant(test);
  const { tenantId, admin } = tenant;
  actor = {
    kind: 'user',
    id: admin.userId,
    tenantId,
    homeTenantId: tenantId,
    userId: admin.userId,
    accountId: newId(),
    sessionId: newId(),
    email: admin.email,
    isTenantAdmin: true,
    isSystemAdmin: false,
    permissions: new Set(),
    missingFactor: undefined,
    isAssured: false,
    isAccountWide: true,
    request,
  };
});

const db = () => test.service.services.database.tenant(tenant.tenantId);
const raw = (text: string, values: unknown[] = []) => ({ kind: 'write' as const, text, values, prepare: false });

const builder = queryBuilder<{ contacts: { tenant_id: string; id: string; notes: string | null } }>();

/** Sets the notes of one contact and records it as `contact.noted`. */
function note(id: string, params: AuditParams) {
  const change = builder
    .updateTable('contacts')
    .set({ notes: 'x' })
    .where('tenant_id', '=', params.tenantId)
    .where('id', '=', id)
    .returning(['id', 'notes']);
  const event = { action: 'contact.noted', resourceType: 'contact' };
  return toAuditedWrite(withAudit<{ id: string; notes: string | null }>(change, event, params));
}

async function createContact(): Promise<string> {
  const answer = await test.call('POST', '/api/v1/secure/contacts', { token: tenant.admin.token, body: {} });
  return answer.body.data.id;
}

const trail = (auditId: string): Promise<any[]> =>
  db().interactive.all(raw('select * from audit_logs where id = $1', [auditId]));

describe('withAudit', () => {
  it('answers the changed row and records it', async () => {
    const id = await createContact();
    const params = auditParams(actor, at, { fields: ['notes'] });
    expect(await db().interactive.all(note(id, params))).toEqual([{ id, notes: 'x' }]);
    expect(await trail(params.auditId)).toEqual([
      {
        tenant_id: tenant.tenantId,
        created_at: at,
        id: params.auditId,
        user_id: actor.userId,
        action: 'contact.noted',
        resource_type: 'contact',
        resource_id: id,
        details: { actor: { type: 'user', id: actor.userId }, requestId: request.id, fields: ['notes'] },
        ip_address: request.ip,
        user_agent: request.userAgent,
        chain_slot: params.slot,
        chain_position: expect.any(Number),
        chain_hash: expect.any(Buffer),
      },
    ]);
  });

  it('records nothing where nothing changed', async () => {
    const params = auditParams(actor, at);
    expect(await db().interactive.all(note(newId(), params))).toEqual([]);
    expect(await trail(params.auditId)).toEqual([]);
  });

  it('changes nothing where it cannot be recorded', async () => {
    const id = await createContact();
    const params = { ...auditParams(actor, at), auditAt: 'no time' };
    await expect(db().interactive.all(note(id, params))).rejects.toMatchObject({ code: '22007' });
    expect(await db().interactive.all(raw('select notes from contacts where id = $1', [id]))).toEqual([
      { notes: null },
    ]);
  });
});

describe('auditParams and auditEvent', () => {
  it('say where a system administrator came from', async () => {
    const home = newId();
    const visitor = { ...actor, homeTenantId: home };
    const expected = { type: 'user', id: actor.userId, actingFromTenantId: home };
    expect(auditParams(visitor, at).auditDetails.actor).toEqual(expected);
    const event = auditEvent(visitor, at, { action: 'thing.seen', resourceType: 'thing' });
    await db().interactive.all(event);
    const rows = await db().interactive.all(raw(`select details from audit_logs where action = 'thing.seen'`));
    expect(rows).toEqual([{ details: { actor: expected, requestId: request.id } }]);
  });

  it('let no detail pose as the actor or the request', async () => {
    const forged = { actor: 'another actor', requestId: 'another', note: 'kept' };
    expect(auditParams(actor, at, forged).auditDetails).toEqual({
      actor: { type: 'user', id: actor.userId },
      requestId: request.id,
      note: 'kept',
    });
    const who = { tenantId: tenant.tenantId, userId: null, request };
    await db().interactive.all(auditEvent(who, at, { action: 'thing.forged', resourceType: 'thing', details: forged }));
    const rows = await db().interactive.all(
      raw(`select user_id, details from audit_logs where action = 'thing.forged'`),
    );
    expect(rows).toEqual([
      {
        user_id: null,
        details: { actor: { type: 'anonymous', id: null }, requestId: request.id, note: 'kept' },
      },
    ]);
  });
});

describe('the chain of the trail', () => {
  const head = async (slot: number) => {
    const text = 'select length, head from audit_chains where tenant_id = $1 and slot = $2';
    const [row] = await db().interactive.all<{ length: number; head: Buffer }>(raw(text, [tenant.tenantId, slot]));
    return row ?? { length: 0, head: null };
  };

  it('is moved on by what is recorded, and by nothing else', async () => {
    const id = await createContact();
    const params = auditParams(actor, at);
    const before = await head(params.slot);
    await db().interactive.all(note(newId(), params));
    await expect(db().interactive.all(note(id, { ...params, auditAt: 'no time' }))).rejects.toMatchObject({
      code: '22007',
    });
    expect(await head(params.slot)).toEqual(before);
    await db().interactive.all(note(id, params));
    const [row] = await trail(params.auditId);
    expect(await head(params.slot)).toEqual({ length: before.length + 1, head: row.chain_hash });
    expect(row).toMatchObject({ chain_slot: params.slot, chain_position: before.length + 1 });
  });

  it('is one for all that a request records, in one flight and in several, with any role', async () => {
    const who = { tenantId: tenant.tenantId, userId: null, request: { ...request, id: newId() } };
    const event = () => auditEvent(who, at, { action: 'thing.chained', resourceType: 'thing' });
    await db().interactive.batch([event(), event(), event()]);
    await test.service.services.database.credential(tenant.tenantId).interactive.all(event());
    await db().transaction(async (tx) => {
      await tx.all(event());
      await tx.all(event());
    });
    const rows = await db().interactive.all<{ chain_slot: number; chain_position: number }>(
      raw(`select chain_slot, chain_position from audit_logs where action = 'thing.chained' order by chain_position`),
    );
    const [first] = rows;
    expect(rows).toEqual([0, 1, 2, 3, 4, 5].map((n) => ({ ...first, chain_position: first!.chain_position + n })));
  });

  it('has no gap and no fork, however many write at once', async () => {
    const other = await createTenant(test);
    const mine = test.service.services.database.tenant(other.tenantId);
    const requests = Array.from({ length: 60 }, () => ({ ...request, id: newId() }));
    await Promise.all(
      requests.map((one) =>
        mine.transaction(async (tx) => {
          const who = { tenantId: other.tenantId, userId: null, request: one };
          for (let n = 0; n < 3; n++)
            await tx.all(auditEvent(who, at, { action: 'thing.raced', resourceType: 'thing' }));
        }),
      ),
    );
    const chains = await mine.interactive.all<{ length: number; rows: number; positions: number }>(
      raw(
        `select c.length, count(*) as rows, count(distinct l.chain_position) as positions from audit_chains c
         join audit_logs l on l.tenant_id = c.tenant_id and l.chain_slot = c.slot where c.tenant_id = $1 group by c.slot, c.length`,
        [other.tenantId],
      ),
    );
    expect(chains.length).toBeGreaterThan(1);
    for (const { length, rows, positions } of chains) expect([rows, positions]).toEqual([length, length]);
  });
});

describe('the trail in the database', () => {
  it.each([
    `update audit_logs set action = 'nothing'`,
    'delete from audit_logs',
    'truncate audit_logs',
    'select id from audit_logs for update',
    'drop table audit_logs',
    'alter table audit_logs disable row level security',
  ])('refuses every role: %s', async (text) => {
    const { database } = test.service.services;
    for (const scope of [db(), database.credential(tenant.tenantId), database.platform()]) {
      await expect(scope.interactive.all(raw(text))).rejects.toMatchObject(denied);
    }
  });

  it('can be deleted, but not changed, by the purge role, and not extended by the tenant role', async () => {
    const purge = test.service.services.database.purge(tenant.tenantId);
    for (const text of [
      `update audit_logs set action = 'nothing'`,
      'insert into audit_logs select * from audit_logs',
      'truncate audit_logs',
      `update audit_chains set length = 0`,
      'drop table audit_chains',
    ]) {
      await expect(purge.interactive.all(raw(text))).rejects.toMatchObject(denied);
    }
    for (const text of [
      'delete from audit_chains',
      'truncate audit_chains',
      'alter table audit_chains no force row level security',
    ]) {
      await expect(db().interactive.all(raw(text))).rejects.toMatchObject(denied);
    }
  });

  it('is not reached by the name of a partition, neither to read nor to write', async () => {
    const partitions = await db().interactive.all<{ name: string }>(
      raw(`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit_logs'::regclass`),
    );
    expect(partitions.length).toBeGreaterThan(1);
    for (const { name } of partitions) {
      for (const text of [
        `select id from ${name}`,
        `delete from ${name}`,
        `update ${name} set action = ''`,
        `insert into ${name} select * from audit_logs`,
      ]) {
        await expect(db().interactive.all(raw(text))).rejects.toMatchObject(denied);
      }
    }
  });

  it('takes no row of another tenant and shows none', async () => {
    const other = await createTenant(test);
    const foreign = auditEvent({ tenantId: other.tenantId, userId: null, request }, at, {
      action: 'thing.planted',
      resourceType: 'thing',
    });
    await expect(db().interactive.all(foreign)).rejects.toMatchObject(denied);
    expect(await db().interactive.all(raw('select id from audit_logs where tenant_id = $1', [other.tenantId]))).toEqual(
      [],
    );
    const tenants = await db().interactive.all(raw('select distinct tenant_id from audit_logs'));
    expect(tenants).toEqual([{ tenant_id: tenant.tenantId }]);
  });
});
