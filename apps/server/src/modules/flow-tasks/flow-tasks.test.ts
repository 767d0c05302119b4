import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import {
  adminPath as path,
  complete,
  evidenceOf,
  idsPending,
  newTask,
  postTask,
  reportOf,
  skip,
} from '#modules/flow-tasks/testing/tasks';
import { keyOf, trailOf } from '#test/support/directory';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let admin: Call;
let member: Call;
let manager: Call;
let reader: Call;
let key: Call;
let stranger: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  member = { token: (await createMember(test, tenant)).token };
  manager = { token: (await createMember(test, tenant, { permissions: ['flow_tasks.manage'] })).token };
  reader = { token: (await createMember(test, tenant, { permissions: ['flow_tasks.read'] })).token };
  stranger = { token: (await createTenant(test)).admin.token };
  key = await keyOf(test, tenant, { spaces: { read: true, write: true } });
});

const list = (by = admin, query = '') => test.call('GET', `${path}${query}`, by);
const patch = (id: string, body: unknown, by = admin) => test.call('PATCH', `${path}/${id}`, { ...by, body });
const remove = (id: string, by = admin) => test.call('DELETE', `${path}/${id}`, by);
const reset = (id: string, by = admin) => test.call('POST', `${path}/${id}/reset`, by);
const reorder = (taskIds: unknown, by = admin) => test.call('PATCH', `${path}/reorder`, { ...by, body: { taskIds } });

const newAdmin = async (): Promise<Call> => ({ token: (await createTenant(test)).admin.token });
const namesOf = async (by: Call) => (await list(by)).body.data.map((task: { name: string }) => task.name).join(' ');
const byName = async (by: Call, names: string) =>
  Object.fromEntries(
    await Promise.all(names.split(' ').map(async (name) => [name, (await newTask(test, by, { name })).id])),
  ) as Record<string, string>;

/** Valid and invalid values of each property. */
const good: [string, unknown][] = [
  ['name', 'x'],
  ['name', '𝕏'.repeat(100)],
  ['targetRoute', 'x'],
  ['targetRoute', 'x'.repeat(255)],
  ['priority', 0],
  ['priority', Number.MAX_SAFE_INTEGER],
  ['isMandatory', true],
  ['isActive', false],
  ['version', 'x'.repeat(50)],
  ['version', ''],
  ['version', null],
  ['config', { any: [1, { thing: null }] }],
  ['config', { audience: { createdBefore: '2026-01-01T00:00:00Z' }, repeatEveryDays: 1 }],
  ['config', { audience: { roles: ['admin', 'member'] } }],
  ['config', { from: '2026-01-01T00:00:00Z', until: '2026-01-01T00:00:00-02:00' }],
  ['config', { fields: 'are free for other types' }],
  ['i18n', { de: { title: 'x', description: 'y', buttonText: 'z' }, en: {} }],
];
const bad: [string, unknown][] = [
  ['name', ''],
  ['name', ' \t'],
  ['name', 'x'.repeat(101)],
  ['name', null],
  ['targetRoute', ''],
  ['targetRoute', 'x'.repeat(256)],
  ['priority', -1],
  ['priority', 1.5],
  ['priority', '1'],
  ['isMandatory', null],
  ['isActive', 'yes'],
  ['version', 'x'.repeat(51)],
  ['version', 1],
  ['config', null],
  ['config', { x: 'x'.repeat(16_384) }],
  ['i18n', { deu: {} }],
  ['i18n', { de: { title: 1 } }],
  ['i18n', { de: { title: null } }],
  ['i18n', { de: { text: 'x' } }],
  ['id', newId()],
  ['createdAt', '2026-01-01T00:00:00Z'],
];
const invalid: [string, object][] = [
  ['an invalid audience', { audience: [] }],
  ['an unknown rule of the audience', { audience: { people: ['admin'] } }],
  ['no role', { audience: { roles: [] } }],
  ['an unknown role', { audience: { roles: ['owner'] } }],
  ['no group', { audience: { groups: [] } }],
  ['an invalid group id', { audience: { groups: ['porters'] } }],
  ['an invalid date', { audience: { createdBefore: '2026-02-30T00:00:00Z' } }],
  ['a date without a time', { from: '2026-01-01' }],
  ['null', { until: null }],
  ['an end before the beginning', { from: '2026-01-01T00:00:00Z', until: '2026-01-01T00:00:00+02:00' }],
  ['an end at the beginning', { from: '2026-01-01T00:00:00Z', until: '2026-01-01T00:00:00.000Z' }],
  ['no day', { repeatEveryDays: 0 }],
  ['half a day', { repeatEveryDays: 0.5 }],
  ['more than ten years', { repeatEveryDays: 3651 }],
];

describe('createFlowTask', () => {
  it('201: returns the task with all given fields', async () => {
    const fields = {
      type: 'agb',
      name: 'Terms',
      targetRoute: '/terms',
      priority: 7,
      isMandatory: true,
      isActive: false,
      version: '2030-01',
      config: { section: 1 },
      i18n: { de: { title: 'AGB' } },
    };
    const { status, body } = await postTask(test, manager, fields);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      ...fields,
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
    });
    expect((await list(reader)).body.data).toContainEqual(body);
  });

  it('201: uses defaults for missing fields', async () => {
    expect(await newTask(test, admin)).toMatchObject({
      priority: 0,
      isMandatory: false,
      isActive: true,
      version: null,
      config: {},
      i18n: {},
    });
  });

  it.each(['agb', 'profile', 'kyc', 'avatar', 'phone_verification', 'email_verification', 'custom'])(
    '201: the type %s',
    async (type) => {
      // Some of these types complete automatically, without a user.
      expect(await newTask(test, admin, { type, isActive: false })).toMatchObject({ type });
    },
  );

  it.each(good)('201: %s %j', async (field, value) => {
    expect((await newTask(test, admin, { [field]: value }))[field]).toEqual(value);
  });

  it.each([...bad, ['type', 'other'], ['type', null]])('400: %s %j', async (field, value) => {
    expectError(await postTask(test, admin, { [field]: value }), 400, 'VALIDATION_ERROR');
  });

  it.each(['type', 'name', 'targetRoute'])('400: without %s', async (field) => {
    expectError(await postTask(test, admin, { [field]: undefined }), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, no permission, a read-only user, a key', async () => {
    expectError(await postTask(test, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, reader, key]) expectError(await postTask(test, by), 403, 'AUTHORIZATION_ERROR');
  });

  it.each(invalid)('422: %s', async (_what, config) => {
    const answer = await postTask(test, admin, { config });
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect(answer.body.details.problem).toMatch(/^config\./);
  });

  it('422: names the unknown key', async () => {
    const answer = await postTask(test, admin, { config: { audience: { roles: ['admin'], zzz: 1 } } });
    expect(answer.body.details.problem).toBe('config.audience.zzz is not a known property');
  });

  it('422: duplicates in a list, with our own message', async () => {
    const answer = await postTask(test, admin, { config: { audience: { roles: ['admin', 'admin'] } } });
    expect(answer.body.details.problem).toBe('config.audience.roles must not list anything twice');
  });

  it('422: unknown profile fields', async () => {
    for (const fields of [[], ['password'], 'fullName', ['locale', 'locale']])
      expectError(
        await postTask(test, admin, { type: 'profile', config: { fields } }),
        422,
        'UNPROCESSABLE_ENTITY',
        'INVALID_CONFIG',
      );
  });

  it('422: more than 500 tasks, also with concurrent requests', async () => {
    const { tenantId, admin: owner } = await createTenant(test);
    await test.service.services.database.tenant(tenantId).interactive.all({
      kind: 'write',
      text: `insert into flow_tasks (tenant_id, id, type, name, target_route, priority, is_mandatory, is_active, config, i18n,
               created_at, updated_at)
             select $1, gen_random_uuid(), 'custom', 'x', '/', 0, false, true, '{}', '{}', now(), now()
             from generate_series(1, 495)`,
      values: [tenantId],
      prepare: false,
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => postTask(test, { token: owner.token })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'TOO_MANY_FLOW_TASKS');
  });
});

describe('groups of an audience', () => {
  const newGroup = async (name: string, by: Call) =>
    (await test.call('POST', '/api/v1/secure/groups', { ...by, body: { name } })).body.data.id as string;

  it('404: unknown groups and those of another tenant; names them and writes nothing', async () => {
    const own = await newAdmin();
    const known = await newGroup('Porters', own);
    const { id, config } = await newTask(test, own, { config: { audience: { groups: [known.toUpperCase()] } } });
    for (const unknown of [newId(), await newGroup('Theirs', stranger)]) {
      const given = { config: { audience: { groups: [known, unknown] } } };
      for (const answer of [await postTask(test, own, given), await patch(id, given, own)]) {
        expectError(answer, 404, 'NOT_FOUND', 'GROUP_NOT_FOUND');
        expect(answer.body.details).toEqual({ code: 'GROUP_NOT_FOUND', groups: [unknown] });
      }
    }
    expect((await list(own)).body.data).toMatchObject([{ id, config }]);
  });

  it('a deleted group stays in the audience, so that the task is for no user, instead of for all users', async () => {
    const own = await newAdmin();
    const group = await newGroup('Porters', own);
    const config = { audience: { groups: [group] } };
    const { id } = await newTask(test, own, { config });
    await test.call('DELETE', `/api/v1/secure/groups/${group}`, own);
    expect((await list(own)).body.data).toMatchObject([{ id, config }]);
    expect(await reportOf(test, own, id)).toEqual({ open: 0, completed: 0, skipped: 0 });
    expect(await idsPending(test, own)).toEqual([]);
    expect((await patch(id, { name: 'Other rules' }, own)).status).toBe(200);
    expectError(await patch(id, { config }, own), 404, 'NOT_FOUND', 'GROUP_NOT_FOUND');
  });
});

describe('listFlowTasks', () => {
  it('200: by priority, then by age; all or one page', async () => {
    const by = await newAdmin();
    for (const [name, priority] of [
      ['third', 2],
      ['first', 0],
      ['fourth', 2],
      ['second', 1],
    ] as const)
      await newTask(test, by, { name, priority });
    expect(await namesOf(by)).toBe('first second third fourth');
    const { body } = await list(by, '?limit=2&offset=1');
    expect([body.total, body.data.map((task: { name: string }) => task.name)]).toEqual([4, ['second', 'third']]);
  });

  it('400, 401, 403: an invalid limit, no credentials, no permission, a write-only user, a key', async () => {
    expectError(await list(admin, '?limit=0'), 400, 'VALIDATION_ERROR');
    expectError(await list({}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, manager, key]) expectError(await list(by), 403, 'AUTHORIZATION_ERROR');
  });
});

describe('updateFlowTask', () => {
  it.each(good)('200: %s becomes %j; other fields keep their values', async (field, value) => {
    const before = await newTask(test, admin, { priority: 3, version: '1', config: { a: 1 } });
    const { status, body } = await patch(before.id, { [field]: value }, manager);
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, [field]: value, updatedAt: expect.any(String) });
    expect((await list()).body.data).toContainEqual(body);
  });

  it.each([...bad, ['type', 'custom']])('400: %s %j', async (field, value) => {
    const { id } = await newTask(test, admin);
    expectError(await patch(id, { [field]: value }), 400, 'VALIDATION_ERROR');
  });

  it('400: an empty body', async () => {
    const { id } = await newTask(test, admin);
    expectError(await patch(id, {}), 400, 'VALIDATION_ERROR');
  });

  it('401, 403, 404: requests that are not allowed', async () => {
    const { id } = await newTask(test, admin);
    expectError(await patch(id, { name: 'x' }, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, reader, key]) expectError(await patch(id, { name: 'x' }, by), 403, 'AUTHORIZATION_ERROR');
    for (const body of [{ name: 'x' }, { config: {} }]) {
      expectError(await patch(newId(), body), 404, 'NOT_FOUND');
      expectError(await patch(id, body, stranger), 404, 'NOT_FOUND');
    }
    expectError(await patch('42', { name: 'x' }), 400, 'VALIDATION_ERROR');
  });

  it('422: a config that is invalid for the type', async () => {
    const [profile, custom] = [await newTask(test, admin, { type: 'profile' }), await newTask(test, admin)];
    const config = { fields: ['password'] };
    expectError(await patch(profile.id, { config }), 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect((await patch(custom.id, { config })).status).toBe(200);
    for (const [, wrong] of invalid)
      expectError(await patch(custom.id, { config: wrong }), 422, 'UNPROCESSABLE_ENTITY', 'INVALID_CONFIG');
    expect((await patch(custom.id, { name: 'same' })).body.config).toEqual(config);
  });
});

describe('deleteFlowTask', () => {
  it('204: deletes the task and keeps the evidence', async () => {
    const { id } = await newTask(test, admin, { name: 'For the time after' });
    await complete(test, member, id);
    expect((await remove(id, manager)).status).toBe(204);
    expectError(await remove(id), 404, 'NOT_FOUND');
    expectError(await complete(test, member, id), 404, 'NOT_FOUND');
    expect(await evidenceOf(test, admin, id)).toMatchObject([{ taskId: id, taskName: 'For the time after' }]);
  });

  it('401, 403, 404: requests that are not allowed', async () => {
    const { id } = await newTask(test, admin);
    expectError(await remove(id, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, reader, key]) expectError(await remove(id, by), 403, 'AUTHORIZATION_ERROR');
    for (const [of, by] of [
      [id, stranger],
      [newId(), admin],
    ] as const)
      expectError(await remove(of, by), 404, 'NOT_FOUND');
  });
});

describe('resetFlowTask', () => {
  it('200: counts each user once who has to complete it again', async () => {
    const { id } = await newTask(test, admin, { version: '1' });
    expect((await reset(id)).body).toEqual({ success: true, resetCount: 0 });
    for (const by of [member, reader, member]) expect((await complete(test, by, id)).status).toBe(200);
    expect((await skip(test, manager, id)).status).toBe(200);
    expect((await reset(id, manager)).body).toEqual({ success: true, resetCount: 2 });
    expect((await reset(id)).body.resetCount).toBe(0);
    expect(await evidenceOf(test, admin, id)).toHaveLength(3);
  });

  it('200: completions of another version do not count', async () => {
    const { id } = await newTask(test, admin, { version: '1' });
    for (const by of [member, reader]) await complete(test, by, id);
    await patch(id, { version: '2' });
    await complete(test, member, id);
    expect((await reset(id)).body.resetCount).toBe(1);
  });

  it('400, 401, 403, 404: requests that are not allowed', async () => {
    const { id } = await newTask(test, admin);
    expectError(await reset('42'), 400, 'VALIDATION_ERROR');
    expectError(await reset(id, {}), 401, 'AUTHENTICATION_ERROR');
    for (const by of [member, reader, key]) expectError(await reset(id, by), 403, 'AUTHORIZATION_ERROR');
    expectError(await reset(newId()), 404, 'NOT_FOUND');
    expectError(await reset(id, stranger), 404, 'NOT_FOUND');
  });
});

describe('reorderFlowTasks', () => {
  it('200: assigns priorities from 0; tasks that are not listed follow in their order', async () => {
    const by = await newAdmin();
    const ids = await byName(by, 'a b c d');
    for (const [name, priority] of [
      ['a', 4],
      ['b', 9],
      ['c', 1],
      ['d', 4],
    ] as const)
      await patch(ids[name]!, { priority }, by);
    await test.service.services.database.tenant(await tenantOf(by)).interactive.all({
      kind: 'write',
      text: `update flow_tasks set created_at = case id when $1 then timestamptz '2026-01-02' else '2026-01-01' end`,
      values: [ids.d],
      prepare: false,
    });
    expect((await reorder([ids.b], by)).body).toEqual({ success: true });
    const { body } = await list(by);
    expect(body.data.map(({ name, priority }: any) => [name, priority])).toEqual([
      ['b', 0],
      ['c', 1],
      ['a', 2],
      ['d', 3],
    ]);
  });

  it('200: records one audit event with the requested order', async () => {
    const by = await newAdmin();
    const { a, b } = await byName(by, 'a b');
    const answer = await reorder([b, a], by);
    const rows = await test.service.services.database.tenant(await tenantOf(by)).all<{ details: object }>({
      kind: 'read',
      text: `select details from audit_logs where action = 'flow_task.reordered'`,
      values: [],
      prepare: false,
    });
    expect(answer.status).toBe(200);
    expect(rows).toMatchObject([{ details: { fields: ['priority'], taskIds: [b, a] } }]);
    expect(await trailOf(test, await tenantOf(by), a!)).toMatchObject([{ action: 'flow_task.created' }]);
  });

  it('400: no ids, a duplicate, an invalid id', async () => {
    const { id } = await newTask(test, admin);
    for (const ids of [[], [id, id], [id, id.toUpperCase()], ['42'], null, id])
      expectError(await reorder(ids), 400, 'VALIDATION_ERROR');
  });

  it('401, 403, 404: no credentials, no permission, an unknown id, and the id of another tenant; nothing changes', async () => {
    const by = await newAdmin();
    const { a, b } = await byName(by, 'a b');
    const before = (await list(by)).body;
    expectError(await reorder([b, a], {}), 401, 'AUTHENTICATION_ERROR');
    for (const caller of [member, reader, key]) expectError(await reorder([b], caller), 403, 'AUTHORIZATION_ERROR');
    const { id: foreign } = await newTask(test, admin);
    for (const unknown of [newId(), foreign]) expectError(await reorder([b, unknown, a], by), 404, 'NOT_FOUND');
    expect((await list(by)).body).toEqual(before);
  });
});

async function tenantOf(by: Call): Promise<string> {
  const [tenantId] = (await test.call('GET', '/api/v1/auth/tenants', by)).body.data as { id: string }[];
  return tenantId!.id;
}
