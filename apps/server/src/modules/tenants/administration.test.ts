import { beforeAll, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditOf, comparable, createClock, day } from '#modules/auth/testing/steps';
import { actionOf, move, moves, tenants, type Transition } from '#modules/tenants/testing/steps';
import { trailOf } from '#test/support/directory';
import { createMember, createTenant, logIn, logInSystemAdmin, unique, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

const clock = createClock();
// A database of its own, because the lists have all tenants.
const test = useService({ now: clock.now, ownDatabase: true });
let root: string;

beforeAll(async () => {
  root = (await logInSystemAdmin(test)).token;
});

const list = (query = '', token = root): Promise<Answer> => test.call('GET', `${tenants}${query}`, { token });
const read = (id: string): Promise<Answer> => test.call('GET', `${tenants}/${id}`, { token: root });
const namesIn = ({ body }: Answer): string[] => body.data.map(({ name }: { name: string }) => name);

async function createNamed(name: string): Promise<Tenant> {
  const tenant = await createTenant(test);
  const body = { name };
  expect((await test.call('PATCH', `${tenants}/${tenant.tenantId}`, { token: root, body })).status).toBe(200);
  return { ...tenant, name };
}

/** Each status, and the operations that lead to it. */
const ways: Record<string, readonly Transition[]> = {
  active: [],
  suspended: ['suspend'],
  pending_deletion: ['delete'],
  'pending_deletion after suspended': ['suspend', 'delete'],
};

async function createWith(way: readonly Transition[]): Promise<Tenant> {
  const tenant = await createTenant(test);
  for (const each of way) expect([200, 204]).toContain((await move(test, root, tenant.tenantId, each)).status);
  return tenant;
}

describe('listTenants', () => {
  it('200: all tenants by name, in any case, a page at a time', async () => {
    const mark = unique('order');
    for (const name of [`${mark} b`, `${mark} C`, `${mark} a`]) await createNamed(name);
    const first = await list(`?search=${mark}&limit=2`);
    expect(first.status).toBe(200);
    expect(namesIn(first)).toEqual([`${mark} a`, `${mark} b`]);
    expect(first.body.pagination).toEqual({ total: 3, limit: 2, offset: 0, hasMore: true });
    expect(namesIn(await list(`?search=${mark}&limit=2&offset=2`))).toEqual([`${mark} C`]);
    expect(namesIn(await list(`?search=${mark}&sort=-name`))).toEqual([`${mark} C`, `${mark} b`, `${mark} a`]);
    expect(namesIn(await list(`?search=${mark}&sort=created_at`))).toEqual([`${mark} b`, `${mark} C`, `${mark} a`]);
    expect(namesIn(await list(`?search=${mark}&sort=-createdAt`))).toEqual([`${mark} a`, `${mark} C`, `${mark} b`]);
    expect(namesIn(await list('?limit=200'))).toContain('System');
  });

  it('200: the same record as for the tenant itself', async () => {
    const tenant = await createTenant(test);
    const own = await test.call('GET', `${tenants}/${tenant.tenantId}`, { token: tenant.admin.token });
    expect((await list(`?search=${tenant.domain}`)).body.data).toEqual([own.body.data]);
  });

  it('200: by name or domain, and by status', async () => {
    const mark = unique('found');
    const named = await createNamed(`${mark} 100%_sure`);
    const suspended = await createNamed(`${mark} out`);
    await move(test, root, suspended.tenantId, 'suspend');
    expect(namesIn(await list(`?search=${mark.toUpperCase()}`))).toEqual([named.name, suspended.name]);
    expect(namesIn(await list(`?search=${encodeURIComponent('100%_SURE')}`))).toEqual([named.name]);
    expect(namesIn(await list(`?search=${encodeURIComponent('100__sure')}`))).toEqual([]);
    expect(namesIn(await list(`?search=${suspended.domain}`))).toEqual([suspended.name]);
    expect(namesIn(await list(`?search=${mark}&status=suspended`))).toEqual([suspended.name]);
    expect(namesIn(await list(`?search=${mark}&status=active`))).toEqual([named.name]);
    expect(namesIn(await list(`?search=${mark}&status=pending_deletion`))).toEqual([]);
  });

  it.each(['?limit=0', '?limit=201', '?offset=-1', '?status=deleted', '?status=none', '?sort=domain', '?search=%00'])(
    '400: %s',
    async (query) => {
      expectError(await list(query), 400, 'VALIDATION_ERROR');
    },
  );

  it('401, 403: only system administrators', async () => {
    const tenant = await createTenant(test);
    expectError(await test.call('GET', tenants), 401, 'AUTHENTICATION_ERROR');
    expectError(await list('', tenant.admin.token), 403, 'AUTHORIZATION_ERROR');
  });
});

describe('suspendTenant, activateTenant, deleteTenant, restoreTenant', () => {
  /** The result of each operation; all others are refused. */
  const outcomes: [from: keyof typeof ways, move: Transition, to: string][] = [
    ['active', 'suspend', 'suspended'],
    ['active', 'delete', 'pending_deletion'],
    ['suspended', 'activate', 'active'],
    ['suspended', 'delete', 'pending_deletion'],
    ['pending_deletion', 'restore', 'active'],
    ['pending_deletion after suspended', 'restore', 'suspended'],
  ];
  const allowed = new Map(outcomes.map(([from, wanted, to]) => [`${from} ${wanted}`, to]));
  const pairs = Object.keys(ways).flatMap((from) => moves.map((wanted): [string, Transition] => [from, wanted]));

  it.each(pairs)('%s: %s', async (from, wanted) => {
    const tenant = await createWith(ways[from]!);
    const before = (await read(tenant.tenantId)).body.data;
    const trail = await trailOf(test, tenant.tenantId, tenant.tenantId);
    const answer = await move(test, root, tenant.tenantId, wanted);
    const after = (await read(tenant.tenantId)).body.data;
    const added = (await trailOf(test, tenant.tenantId, tenant.tenantId)).slice(trail.length);
    const to = allowed.get(`${from} ${wanted}`);
    if (to === undefined) {
      expectError(answer, 409, 'CONFLICT', 'TENANT_STATUS_CONFLICT');
      expect(answer.body.details.status).toBe(before.status);
      expect(after).toEqual(before);
      expect(added).toEqual([]);
      return;
    }
    expect(answer.status).toBe(wanted === 'delete' ? 204 : 200);
    if (wanted !== 'delete') expect(answer.body.data).toEqual(after);
    expect(after).toMatchObject({
      ...before,
      status: to,
      suspended_at: after.suspended_at,
      deletes_at: after.deletes_at,
      updated_at: after.updated_at,
    });
    expect(after.suspended_at === null).toBe(to === 'active' || (from === 'active' && wanted === 'delete'));
    expect(after.deletes_at === null).toBe(to !== 'pending_deletion');
    expect(after.updated_at > before.updated_at).toBe(true);
    expect(added).toMatchObject([
      { action: actionOf[wanted], details: { actor: { type: 'user', actingFromTenantId: systemTenantId } } },
    ]);
  });

  it('deletes after the grace period', async () => {
    const tenant = await createWith(['delete']);
    const { deletes_at: deletesAt, updated_at: updatedAt } = (await read(tenant.tenantId)).body.data;
    expect(Date.parse(deletesAt) - Date.parse(updatedAt)).toBe(30 * day);
  });

  it('writes a security event', async () => {
    const { tenantId } = await createTenant(test);
    const { headers } = await move(test, root, tenantId, 'suspend');
    const url = '/api/v1/system/logs/security-audit?eventType=admin_action&limit=200';
    const operations = async () => {
      const answer = await test.call('GET', url, { token: root });
      const events: { details: { operation: string; requestId: string } }[] = answer.body.data;
      const own = events.filter(({ details }) => details.requestId === headers['x-request-id']);
      return own.map(({ details }) => details.operation);
    };
    await expect.poll(operations, { timeout: 30_000 }).toEqual(['suspendTenant']);
  });

  it.each(moves)('401, 403: %s without credentials, by users and by administrators of the tenant', async (wanted) => {
    const tenant = await createTenant(test);
    const member = await createMember(test, tenant, { permissions: ['users.manage'] });
    expectError(await move(test, '', tenant.tenantId, wanted), 401, 'INVALID_TOKEN');
    for (const { token } of [member, tenant.admin])
      expectError(await move(test, token, tenant.tenantId, wanted), 403, 'AUTHORIZATION_ERROR');
    expect((await read(tenant.tenantId)).body.data.status).toBe('active');
  });

  it.each(moves)('400, 404, 422: %s of an invalid id, an unknown tenant, or the system tenant', async (wanted) => {
    expectError(await move(test, root, 'own', wanted), 400, 'VALIDATION_ERROR');
    expectError(await move(test, root, newId(), wanted), 404, 'NOT_FOUND');
    expectError(await move(test, root, systemTenantId, wanted), 422, 'UNPROCESSABLE_ENTITY', 'SYSTEM_TENANT_PROTECTED');
    expect((await read(systemTenantId)).body.data).toMatchObject({ status: 'active', deletes_at: null });
  });

  it.each(moves)('404: %s of a tenant that differs from the one in the header', async (wanted) => {
    const [named, other] = [await createTenant(test), await createTenant(test)];
    const call = { token: root, headers: { 'x-tenant-id': named.tenantId } };
    const url = `${tenants}/${other.tenantId}`;
    const answer =
      wanted === 'delete' ? await test.call('DELETE', url, call) : await test.call('POST', `${url}/${wanted}`, call);
    expectError(answer, 404, 'NOT_FOUND');
  });
});

describe('50 concurrent status changes', () => {
  const raced: [string, readonly Transition[], readonly Transition[]][] = [
    ['suspend', [], ['suspend']],
    ['activate', ['suspend'], ['activate']],
    ['delete', [], ['delete']],
    ['restore', ['delete'], ['restore']],
  ];

  it.each(raced)('%s: one succeeds and is recorded, the others are refused', async (_what, way, wanted) => {
    const tenant = await createWith(way);
    const answers = await Promise.all(Array.from({ length: 50 }, () => move(test, root, tenant.tenantId, wanted[0]!)));
    const done = answers.filter(({ status }) => status !== 409);
    expect(done.map(({ status }) => status)).toEqual([wanted[0] === 'delete' ? 204 : 200]);
    const trail = await trailOf(test, tenant.tenantId, tenant.tenantId);
    expect(trail.filter(({ action }) => action === actionOf[wanted[0]!])).toHaveLength(1);
  });

  it('of all kinds: every success has one audit event, and together they explain the status', async () => {
    const tenant = await createTenant(test);
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, at) => {
        const wanted = moves[at % moves.length]!;
        return { wanted, status: (await move(test, root, tenant.tenantId, wanted)).status };
      }),
    );
    for (const { status } of answers) expect([200, 204, 409]).toContain(status);
    const trail = (await trailOf(test, tenant.tenantId, tenant.tenantId))
      .map(({ action }) => action as string)
      .filter((action) => Object.values(actionOf).includes(action));
    const succeeded = answers.filter(({ status }) => status !== 409).map(({ wanted }) => actionOf[wanted]);
    expect(trail.toSorted()).toEqual(succeeded.toSorted());
    const count = (wanted: Transition) => trail.filter((action) => action === actionOf[wanted]).length;
    const isPending = count('delete') - count('restore');
    const isSuspended = count('suspend') - count('activate');
    expect([isPending, isSuspended].every((value) => value === 0 || value === 1)).toBe(true);
    const expected = isPending === 1 ? 'pending_deletion' : isSuspended === 1 ? 'suspended' : 'active';
    const { status, suspended_at: suspendedAt } = (await read(tenant.tenantId)).body.data;
    expect({ status, isSuspended: suspendedAt !== null }).toEqual({ status: expected, isSuspended: isSuspended === 1 });
  });
});

describe('a tenant after its grace period', () => {
  it('answers like an unknown one to every caller and operation', async () => {
    const tenant = await createWith(['delete']);
    const other = await createTenant(test);
    clock.advance(30 * day);
    const { token } = await logInSystemAdmin(test);
    root = token;
    const as = (id: string) => ({ token, headers: { 'x-tenant-id': id } });
    for (const [real, unknown] of [
      [await read(tenant.tenantId), await read(newId())],
      [
        await test.call('PATCH', `${tenants}/${tenant.tenantId}`, { token, body: { name: 'Late' } }),
        await test.call('PATCH', `${tenants}/${newId()}`, { token, body: { name: 'Late' } }),
      ],
      [await move(test, token, tenant.tenantId, 'restore'), await move(test, token, newId(), 'restore')],
      [
        await test.call('GET', '/api/v1/secure/users', as(tenant.tenantId)),
        await test.call('GET', '/api/v1/secure/users', as(newId())),
      ],
    ] as const) {
      expect(real.status).toBe(unknown.status);
      expect(comparable(real)).toBe(comparable(unknown));
    }
    expect(namesIn(await list(`?search=${tenant.domain}`))).toEqual([]);
    expect(namesIn(await list(`?search=${other.domain}`))).toEqual([other.name]);
    const { email, password } = other.admin;
    const admin = await logIn(test, { email, password });
    expect(await auditOf(test, admin, 'tenant.restored')).toEqual([]);
  });
});
