import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createClock } from '#modules/auth/testing/steps';
import { hashOf } from '#modules/flow-tasks/flow-tasks.rules';
import {
  adminPath,
  complete,
  evidenceOf,
  idsPending,
  newTask,
  ownPath,
  pendingOf,
  reportOf,
  skip,
} from '#modules/flow-tasks/testing/tasks';
import { keyOf, trailOf } from '#test/support/directory';
import { createMember, createTenant, logIn, logInSystemAdmin, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const day = 24 * 60 * 60_000;
let tenant: Tenant;
let admin: Call;
let person: Person;
let member: Call;
let key: Call;
let stranger: Call;

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  person = await createMember(test, tenant);
  member = { token: person.token };
  key = await keyOf(test, tenant, { spaces: { read: true, write: true } });
  stranger = { token: (await createTenant(test)).admin.token };
});

const patch = (id: string, body: object) => test.call('PATCH', `${adminPath}/${id}`, { ...admin, body });
const history = (by = member, query = '') => test.call('GET', `${ownPath}/history${query}`, by);
const plain = (id: string) => ({ taskId: id, outcome: 'completed', source: 'person' });

const shown = (text: Parameters<typeof hashOf>[0]) => ({ ...text, hash: hashOf(text) });

/** A new tenant with a user who has the tasks. */
async function newTenantWithUser() {
  const own = await createTenant(test);
  const user = await createMember(test, own);
  return { tenant: own, admin: { token: own.admin.token }, person: user, member: { token: user.token } };
}

describe('listPendingFlowTasks', () => {
  it('200: active tasks in order, with their fields and the text to display', async () => {
    const place = await newTenantWithUser();
    const i18n = { de: { title: 'Regeln', buttonText: 'Ja' }, en: { title: 'Rules', description: 'Read them' } };
    const second = await newTask(test, place.admin, { priority: 1, i18n, isMandatory: true, version: '1' });
    const first = await newTask(test, place.admin);
    await newTask(test, place.admin, { isActive: false });
    const call = { ...place.member, headers: { 'accept-language': 'de-AT, en;q=0.5' } };
    expect(await pendingOf(test, call)).toEqual([
      { ...first, text: shown({ language: null, title: first.name, description: null, buttonText: null }) },
      { ...second, text: shown({ language: 'de', title: 'Regeln', description: 'Read them', buttonText: 'Ja' }) },
    ]);
  });

  it('200: in the language of the URL, else of the client, else of the tenant, else English, else any language', async () => {
    const place = await newTenantWithUser();
    const path = `/api/v1/secure/tenants/${place.tenant.tenantId}`;
    const languages = { default_language: 'fr', languages: ['fr'] };
    expect((await test.call('PATCH', path, { ...place.admin, body: languages })).status).toBe(200);
    const titles = (...names: string[]) => Object.fromEntries(names.map((name) => [name, { title: name }]));
    await newTask(test, place.admin, { i18n: titles('de', 'en', 'fr', 'it') });
    await newTask(test, place.admin, { i18n: titles('de', 'en') });
    await newTask(test, place.admin, { i18n: titles('it', 'de') });
    const titlesOf = async (query: string, wanted?: string) => {
      const headers = wanted === undefined ? {} : { 'accept-language': wanted };
      const tasks = await pendingOf(test, { ...place.member, headers }, query);
      return tasks.map(({ text }) => text.title).join(' ');
    };
    expect(await titlesOf('?language=it', 'de')).toBe('it en it');
    expect(await titlesOf('', 'de')).toBe('de de de');
    expect(await titlesOf('')).toBe('fr en de');
    expect(await titlesOf('', 'es, *')).toBe('fr en de');
    const bad = await test.call('GET', `${ownPath}/pending?language=german`, place.member);
    expectError(bad, 400, 'VALIDATION_ERROR');
  });

  it('200: selects the audience by groups and join date, and the time', async () => {
    const place = await newTenantWithUser();
    const group = await test.call('POST', '/api/v1/secure/groups', { ...place.admin, body: { name: 'Porters' } });
    const empty = await test.call('POST', '/api/v1/secure/groups', { ...place.admin, body: { name: 'Cooks' } });
    const groups = [empty.body.data.id, group.body.data.id];
    const members = `/api/v1/secure/groups/${group.body.data.id}/members`;
    await test.call('POST', members, { ...place.admin, body: { userId: place.person.userId } });
    const at = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
    const forPorters = await newTask(test, place.admin, { config: { audience: { groups } } });
    const forOld = await newTask(test, place.admin, { config: { audience: { createdBefore: at(-day) } } });
    const soon = await newTask(test, place.admin, { config: { from: at(1000) } });
    const over = await newTask(test, place.admin, { config: { until: at(0) } });
    const open = await newTask(test, place.admin, {
      config: { from: at(0), until: at(1000), audience: { createdBefore: at(day) } },
    });
    expect(await idsPending(test, place.member)).toEqual([forPorters.id, open.id]);
    expect(await idsPending(test, place.admin)).toEqual([open.id]);
    for (const { id } of [forOld, soon, over]) {
      expectError(await complete(test, place.member, id), 404, 'NOT_FOUND');
      expectError(await skip(test, place.member, id), 404, 'NOT_FOUND');
    }
    expectError(await complete(test, place.admin, forPorters.id), 404, 'NOT_FOUND');
    expect(await reportOf(test, place.admin, forPorters.id)).toEqual({ open: 1, completed: 0, skipped: 0 });
    expect(await reportOf(test, place.admin, forOld.id)).toEqual({ open: 0, completed: 0, skipped: 0 });
    clock.advance(1000);
    expect(await idsPending(test, place.member)).toEqual([forPorters.id, soon.id]);
  });

  it('200: selects the audience by role', async () => {
    const place = await newTenantWithUser();
    const config = (...roles: string[]) => ({ config: { audience: { roles } } });
    const { id: forAdmins } = await newTask(test, place.admin, config('admin'));
    const { id: forMembers } = await newTask(test, place.admin, config('member'));
    const { id: forBoth } = await newTask(test, place.admin, config('member', 'admin'));
    expect(await idsPending(test, place.member)).toEqual([forMembers, forBoth]);
    expect(await idsPending(test, place.admin)).toEqual([forAdmins, forBoth]);
    expectError(await complete(test, place.member, forAdmins), 404, 'NOT_FOUND');
    const open = async (id: string) => (await reportOf(test, place.admin, id)).open;
    expect([await open(forAdmins), await open(forMembers), await open(forBoth)]).toEqual([1, 1, 2]);
  });

  it('200: includes a skipped task that has become mandatory', async () => {
    const place = await newTenantWithUser();
    const { id } = await newTask(test, place.admin);
    await skip(test, place.member, id);
    const set = (isMandatory: boolean) =>
      test.call('PATCH', `${adminPath}/${id}`, { ...place.admin, body: { isMandatory } });
    await set(true);
    expect(await idsPending(test, place.member)).toEqual([id]);
    expect(await reportOf(test, place.admin, id)).toEqual({ open: 2, completed: 0, skipped: 0 });
    await set(false);
    expect(await idsPending(test, place.member)).toEqual([]);
    expect(await reportOf(test, place.admin, id)).toEqual({ open: 1, completed: 0, skipped: 1 });
  });

  it('401, 403: no credentials, a key', async () => {
    expectError(await test.call('GET', `${ownPath}/pending`), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('GET', `${ownPath}/pending`, key), 403, 'AUTHORIZATION_ERROR');
  });
});

describe('completeFlowTask', () => {
  it('200: records the user, task, version, language, time and client', async () => {
    const i18n = { de: { title: 'Regeln' }, en: { title: 'Rules', description: 'Read them', buttonText: 'OK' } };
    const task = await newTask(test, admin, { type: 'agb', version: '7', i18n });
    const headers = { 'accept-language': 'de', 'user-agent': 'reader/1.0' };
    const body = { version: '7', answers: { newsletter: false } };
    const path = `${ownPath}/${task.id}/complete`;
    const answer = await test.call('POST', path, { ...member, body, headers, ip: '203.0.113.9' });
    expect(answer.status).toBe(200);
    const text = { language: 'de', title: 'Regeln', description: 'Read them', buttonText: 'OK' };
    expect(answer.body.data).toEqual({
      id: expect.any(String),
      ...plain(task.id),
      taskType: 'agb',
      taskName: task.name,
      version: '7',
      language: 'de',
      textHash: hashOf(text),
      answers: body.answers,
      ipAddress: '203.0.113.9',
      userAgent: 'reader/1.0',
      sessionId: expect.any(String),
      completedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const sessions = await test.call('GET', '/api/v1/auth/sessions', member);
    expect(sessions.body.data.map(({ id }: { id: string }) => id)).toContain(answer.body.data.sessionId);
    expect(await evidenceOf(test, admin, task.id)).toEqual([{ userId: person.userId, ...answer.body.data }]);
    expect(await idsPending(test, member)).not.toContain(task.id);
    expect(await idsPending(test, admin)).toContain(task.id);
    const [, recorded] = await trailOf(test, tenant.tenantId, task.id);
    expect(recorded).toMatchObject({ action: 'flow_task.completed', user_id: person.userId });
    expect(recorded!.details).toMatchObject({ version: '7', source: 'person' });
  });

  it('200: without a body, in the language of the URL', async () => {
    const { id } = await newTask(test, admin, { i18n: { de: { title: 'a' }, en: { title: 'b' } } });
    const answer = await test.call('POST', `${ownPath}/${id}/complete?language=de`, member);
    expect(answer).toMatchObject({ status: 200, body: { data: { language: 'de', version: null, answers: null } } });
  });

  it('200: completing again returns the first record, and adds none', async () => {
    const { id } = await newTask(test, admin, { version: '1' });
    const first = await complete(test, member, id, { version: '1', answers: { a: 1 } });
    const second = await complete(test, member, id, { version: '1', answers: { a: 2 } });
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(await evidenceOf(test, admin, id)).toHaveLength(1);
    expect(await trailOf(test, tenant.tenantId, id)).toHaveLength(2);
  });

  it('200: a new version reopens the task, and so does a change back to no version', async () => {
    const { id } = await newTask(test, admin, { version: '1' });
    await complete(test, member, id);
    for (const version of ['2', null]) {
      await patch(id, { version });
      expect(await idsPending(test, member)).toContain(id);
      expect((await complete(test, member, id, { version })).body.data).toMatchObject({ version });
      expect(await idsPending(test, member)).not.toContain(id);
    }
    await patch(id, { version: '1', name: 'renamed' });
    expect(await idsPending(test, member)).not.toContain(id);
    const all = await evidenceOf(test, admin, id);
    expect(all.map(({ version, taskName }) => [version, taskName])).toEqual([
      [null, 'House rules'],
      ['2', 'House rules'],
      ['1', 'House rules'],
    ]);
  });

  it('200: a reset reopens the task for all users, and keeps the records', async () => {
    const { id } = await newTask(test, admin, { version: '1' });
    const { body: first } = await complete(test, member, id);
    await test.call('POST', `${adminPath}/${id}/reset`, admin);
    expect(await idsPending(test, member)).toContain(id);
    const { body: second } = await complete(test, member, id, { version: '1' });
    expect(second.data.id).not.toBe(first.data.id);
    expect((await evidenceOf(test, admin, id)).map((one) => one.id)).toEqual([second.data.id, first.data.id]);
  });

  it('400: an invalid body or id', async () => {
    const { id } = await newTask(test, admin);
    for (const body of [
      { version: 1 },
      { textHash: 'x' },
      { answers: [] },
      { answers: { x: 'x'.repeat(16_384) } },
      { userId: newId() },
    ])
      expectError(await complete(test, member, id, body), 400, 'VALIDATION_ERROR');
    expectError(await complete(test, member, '42'), 400, 'VALIDATION_ERROR');
  });

  it('401, 403, 404: no credentials, a key, an unknown task, an inactive one, one of another tenant', async () => {
    const [{ id }, { id: inactive }] = [await newTask(test, admin), await newTask(test, admin, { isActive: false })];
    expectError(await complete(test, {}, id), 401, 'AUTHENTICATION_ERROR');
    expectError(await complete(test, key, id), 403, 'AUTHORIZATION_ERROR');
    for (const unknown of [newId(), inactive]) expectError(await complete(test, member, unknown), 404, 'NOT_FOUND');
    expectError(await complete(test, stranger, id), 404, 'NOT_FOUND');
  });

  it('404: a user who acts for another tenant has the tasks of their home tenant', async () => {
    const { id } = await newTask(test, admin);
    const { token } = await logInSystemAdmin(test);
    const naming = { token, headers: { 'x-tenant-id': tenant.tenantId } };
    expectError(await complete(test, naming, id), 404, 'NOT_FOUND');
    expect(await idsPending(test, naming)).toEqual(await idsPending(test, { token }));
    expect(await evidenceOf(test, admin, id)).toEqual([]);
  });

  it('409: a text that differs from the displayed one, and a different language', async () => {
    const i18n = { de: { title: 'Regeln' }, en: { title: 'Rules' } };
    const { id } = await newTask(test, admin, { i18n });
    const german = { ...member, headers: { 'accept-language': 'de' } };
    const hashFor = async (by: Call) => (await pendingOf(test, by)).find((task) => task.id === id)!.text.hash as string;
    const textHash = await hashFor(german);
    expectError(await complete(test, member, id, { textHash }), 409, 'CONFLICT', 'TEXT_CHANGED');
    await patch(id, { i18n: { ...i18n, de: { title: 'Neue Regeln' } } });
    expectError(await complete(test, german, id, { textHash }), 409, 'CONFLICT', 'TEXT_CHANGED');
    expect(await evidenceOf(test, admin, id)).toEqual([]);
    const now = await hashFor(german);
    expect((await complete(test, german, id, { textHash: now })).body.data).toMatchObject({ textHash: now });
    // A completed task stays completed, also with an outdated hash.
    expect((await complete(test, german, id, { textHash })).body.data).toMatchObject({ textHash: now });
  });

  it('409: a version that differs from the displayed one', async () => {
    const { id } = await newTask(test, admin, { version: '2' });
    for (const version of ['1', '', null]) {
      const answer = await complete(test, member, id, { version });
      expectError(answer, 409, 'CONFLICT', 'VERSION_CHANGED');
      expect(answer.body.details.version).toBe('2');
    }
    expect(await evidenceOf(test, admin, id)).toEqual([]);
    await complete(test, member, id);
    expectError(await complete(test, member, id, { version: '1' }), 409, 'CONFLICT', 'VERSION_CHANGED');
  });
});

describe('skipFlowTask', () => {
  it('200: closes the task, which can still be completed', async () => {
    const { id } = await newTask(test, admin);
    const first = await skip(test, member, id);
    expect(first).toMatchObject({ status: 200, body: { data: { ...plain(id), outcome: 'skipped' } } });
    expect((await skip(test, member, id)).body).toEqual(first.body);
    expect(await idsPending(test, member)).not.toContain(id);
    const done = await complete(test, member, id);
    expect(done.body.data).toMatchObject(plain(id));
    expect((await skip(test, member, id)).body).toEqual(done.body);
    expect((await evidenceOf(test, admin, id)).map(({ outcome }) => outcome)).toEqual(['completed', 'skipped']);
    const actions = (await trailOf(test, tenant.tenantId, id)).map(({ action }) => action);
    expect(actions).toEqual(['flow_task.created', 'flow_task.skipped', 'flow_task.completed']);
  });

  it('401, 403, 404: no credentials, a key, an unknown task', async () => {
    const { id } = await newTask(test, admin);
    expectError(await skip(test, {}, id), 401, 'AUTHENTICATION_ERROR');
    expectError(await skip(test, key, id), 403, 'AUTHORIZATION_ERROR');
    expectError(await skip(test, member, newId()), 404, 'NOT_FOUND');
    expectError(await skip(test, stranger, id), 404, 'NOT_FOUND');
  });

  it('422: a mandatory task', async () => {
    const { id } = await newTask(test, admin, { isMandatory: true });
    expectError(await skip(test, member, id), 422, 'UNPROCESSABLE_ENTITY', 'TASK_MANDATORY');
    expect(await idsPending(test, member)).toContain(id);
  });
});

describe('listOwnFlowTaskCompletions and listFlowTaskCompletions', () => {
  it('200: the completions of the caller, the newest first, in pages, including deleted tasks', async () => {
    const place = await newTenantWithUser();
    const done: string[] = [];
    for (let count = 0; count < 3; count++) {
      const { id } = await newTask(test, place.admin);
      done.unshift((await complete(test, place.member, id)).body.data.id);
      await complete(test, place.admin, id);
      await test.call('DELETE', `${adminPath}/${id}`, place.admin);
    }
    const { body } = await history(place.member);
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(done);
    const { body: page } = await history(place.member, '?limit=1&offset=1');
    expect(page.data).toEqual([body.data[1]]);
    expect(page.pagination).toEqual({ total: 3, limit: 1, offset: 1, hasMore: true });
  });

  it('200: the completions of one task by all users, in pages', async () => {
    const { id } = await newTask(test, admin);
    const path = `${adminPath}/${id}/completions`;
    expect((await test.call('GET', path, admin)).body.data).toEqual([]);
    for (const by of [member, admin]) await complete(test, by, id);
    const { body } = await test.call('GET', `${path}?limit=1`, admin);
    expect(body.pagination).toEqual({ total: 2, limit: 1, offset: 0, hasMore: true });
    expect(body.data).toMatchObject([{ userId: tenant.admin.userId }]);
  });

  it('400, 401, 403, 404: requests that are not allowed', async () => {
    const { id } = await newTask(test, admin);
    const path = `${adminPath}/${id}/completions`;
    expectError(await history(member, '?limit=201'), 400, 'VALIDATION_ERROR');
    expectError(await history({}), 401, 'AUTHENTICATION_ERROR');
    expectError(await history(key), 403, 'AUTHORIZATION_ERROR');
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('GET', path, member), 403, 'AUTHORIZATION_ERROR');
    expectError(await test.call('GET', path, stranger), 404, 'NOT_FOUND');
    expectError(await test.call('GET', `${adminPath}/${newId()}/completions`, admin), 404, 'NOT_FOUND');
  });

  it('the database role of the service cannot change or remove evidence', async () => {
    const { id } = await newTask(test, admin);
    await complete(test, member, id);
    const db = test.service.services.database.tenant(tenant.tenantId);
    for (const text of ['delete from flow_task_completions', 'update flow_task_completions set version = null'])
      await expect(db.interactive.all({ kind: 'write', text, values: [], prepare: false })).rejects.toMatchObject({
        code: '42501',
      });
    expect(await evidenceOf(test, admin, id)).toHaveLength(1);
  });
});

describe('reportFlowTask', () => {
  it('200: counts every active user once, by their latest counting record', async () => {
    const place = await newTenantWithUser();
    const others = [await createMember(test, place.tenant), await createMember(test, place.tenant)] as const;
    const { id } = await newTask(test, place.admin);
    await skip(test, place.member, id);
    await complete(test, place.member, id);
    await skip(test, others[0], id);
    expect(await reportOf(test, place.admin, id)).toEqual({ open: 2, completed: 1, skipped: 1 });
    await test.call('DELETE', `/api/v1/secure/users/${others[1].userId}`, place.admin);
    expect(await reportOf(test, place.admin, id)).toEqual({ open: 1, completed: 1, skipped: 1 });
    await test.call('POST', `${adminPath}/${id}/reset`, place.admin);
    expect(await reportOf(test, place.admin, id)).toEqual({ open: 3, completed: 0, skipped: 0 });
  });

  it('200: an audience whose date has any UTC offset', async () => {
    const place = await newTenantWithUser();
    for (const createdBefore of ['9999-01-01T00:00:00+23:59', '9999-01-01t00:00:00.123456789z']) {
      const { id } = await newTask(test, place.admin, { config: { audience: { createdBefore } } });
      expect(await idsPending(test, place.member)).toContain(id);
      expect(await reportOf(test, place.admin, id)).toEqual({ open: 2, completed: 0, skipped: 0 });
    }
  });

  it('401, 403, 404: requests that are not allowed', async () => {
    const { id } = await newTask(test, admin);
    const path = `${adminPath}/${id}/report`;
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
    expectError(await test.call('GET', path, member), 403, 'AUTHORIZATION_ERROR');
    expectError(await test.call('GET', path, stranger), 404, 'NOT_FOUND');
    expectError(await test.call('GET', `${adminPath}/${newId()}/report`, admin), 404, 'NOT_FOUND');
  });
});

it('a repeating task reopens after its number of days, whether it was completed or skipped', async () => {
  const place = await newTenantWithUser();
  const config = { repeatEveryDays: 30 };
  const { id: monthly } = await newTask(test, place.admin, { config, priority: 1 });
  const { id: skipped } = await newTask(test, place.admin, { config, priority: 2 });
  const first = await complete(test, place.member, monthly);
  await skip(test, place.member, skipped);
  clock.advance(29 * day);
  const later = { token: (await logIn(test, place.person)).token };
  expect(await idsPending(test, later)).toEqual([]);
  expect((await complete(test, later, monthly)).body).toEqual(first.body);
  clock.advance(day);
  later.token = (await logIn(test, place.person)).token;
  expect(await idsPending(test, later)).toEqual([monthly, skipped]);
  const second = await complete(test, later, monthly);
  expect(second.body.data.id).not.toBe(first.body.data.id);
  expect((await complete(test, later, monthly)).body).toEqual(second.body);
  expect(await idsPending(test, later)).toEqual([skipped]);
  const owner = { token: (await logIn(test, place.tenant.admin)).token };
  expect(await reportOf(test, owner, monthly)).toEqual({ open: 1, completed: 1, skipped: 0 });
  expect(await reportOf(test, owner, skipped)).toEqual({ open: 2, completed: 0, skipped: 0 });
  expect((await test.call('POST', `${adminPath}/${monthly}/reset`, owner)).body.resetCount).toBe(1);
});
