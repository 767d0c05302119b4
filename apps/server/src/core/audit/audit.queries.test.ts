import { beforeAll, describe, expect, it } from 'vitest';

import { auditEvent, auditParams, withAudit, type AuditParams } from '#core/audit/audit.queries';
import type { Actor } from '#core/access/principal';
import { newId } from '#core/crypto/ids';
import { queryBuilder, toQuery } from '#core/db/query';
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
    owes: undefined,
    isAssured: false,
    isAccountWide: true,
    request,
  };
});

const db = () => test.service.services.database.tenant(tenant.tenantId);
const raw = (text: string, values: unknown[] = []) => ({ text, values, prepare: false });

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
  return toQuery(withAudit<{ id: string; notes: string | null }>(change, event, params));
}

async function createContact(): Promise<string> {
  const answer = await test.call('POST', '/api/v1/secure/contacts', { token: tenant.admin.token, body: {} });
  return answer.body.data.id;
}

const trail = (auditId: string): Promise<any[]> => db().all(raw('select * from audit_logs where id = $1', [auditId]));

describe('withAudit', () => {
  it('answers the changed row and records it', async () => {
    const id = await createContact();
    const params = auditParams(actor, at, { fields: ['notes'] });
    expect(await db().all(note(id, params))).toEqual([{ id, notes: 'x' }]);
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
      },
    ]);
  });

  it('records nothing where nothing changed', async () => {
    const params = auditParams(actor, at);
    expect(await db().all(note(newId(), params))).toEqual([]);
    expect(await trail(params.auditId)).toEqual([]);
  });

  it('changes nothing where it cannot be recorded', async () => {
    const id = await createContact();
    const params = { ...auditParams(actor, at), auditAt: 'no time' };
    await expect(db().all(note(id, params))).rejects.toMatchObject({ code: '22007' });
    expect(await db().all(raw('select notes from contacts where id = $1', [id]))).toEqual([{ notes: null }]);
  });
});

describe('auditParams and auditEvent', () => {
  it('say where a system administrator came from', async () => {
    const home = newId();
    const visitor = { ...actor, homeTenantId: home };
    const expected = { type: 'user', id: actor.userId, actingFromTenantId: home };
    expect(auditParams(visitor, at).auditDetails.actor).toEqual(expected);
    const event = auditEvent(visitor, at, { action: 'thing.seen', resourceType: 'thing' });
    await db().all(event);
    const rows = await db().all(raw(`select details from audit_logs where action = 'thing.seen'`));
    expect(rows).toEqual([{ details: { actor: expected, requestId: request.id } }]);
  });

  it('let no detail pose as the actor or the request', async () => {
    const forged = { actor: 'somebody else', requestId: 'another', note: 'kept' };
    expect(auditParams(actor, at, forged).auditDetails).toEqual({
      actor: { type: 'user', id: actor.userId },
      requestId: request.id,
      note: 'kept',
    });
    const who = { tenantId: tenant.tenantId, userId: null, request };
    await db().all(auditEvent(who, at, { action: 'thing.forged', resourceType: 'thing', details: forged }));
    const rows = await db().all(raw(`select user_id, details from audit_logs where action = 'thing.forged'`));
    expect(rows).toEqual([
      {
        user_id: null,
        details: { actor: { type: 'anonymous', id: null }, requestId: request.id, note: 'kept' },
      },
    ]);
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
      await expect(scope.all(raw(text))).rejects.toMatchObject(denied);
    }
  });

  it('is not reached by the name of a partition, neither to read nor to write', async () => {
    const partitions = await db().all<{ name: string }>(
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
        await expect(db().all(raw(text))).rejects.toMatchObject(denied);
      }
    }
  });

  it('takes no row of another tenant and shows none', async () => {
    const other = await createTenant(test);
    const foreign = auditEvent({ tenantId: other.tenantId, userId: null, request }, at, {
      action: 'thing.planted',
      resourceType: 'thing',
    });
    await expect(db().all(foreign)).rejects.toMatchObject(denied);
    expect(await db().all(raw('select id from audit_logs where tenant_id = $1', [other.tenantId]))).toEqual([]);
    const tenants = await db().all(raw('select distinct tenant_id from audit_logs'));
    expect(tenants).toEqual([{ tenant_id: tenant.tenantId }]);
  });
});
