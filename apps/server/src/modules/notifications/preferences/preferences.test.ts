import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { auditOf } from '#modules/auth/testing/steps';
import {
  adminPath,
  effectiveOf,
  newDefault,
  newOverride,
  ownPath,
  preference,
  put,
  putOwn,
} from '#modules/notifications/testing/preferences';
import { appOf, keyOf } from '#test/support/directory';
import { createMember, createTenant, logInSystemAdmin, type Person, type Tenant } from '#test/support/factories';
import { expectError, strictlyLater, useService, type Call } from '#test/support/harness';

type Data = Record<string, any>;

const test = useService({ now: strictlyLater() });
let tenant: Tenant;
let admin: Call;
let member: Person;
let manager: Person;
let stranger: Tenant;
let machines: Call[];

beforeAll(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  member = await createMember(test, tenant);
  manager = await createMember(test, tenant, { permissions: ['notifications.manage'] });
  stranger = await createTenant(test);
  const all = { users: { read: true }, spaces: { read: true, write: true } };
  machines = [await keyOf(test, tenant, all), await appOf(test, tenant, all)];
});

const list = (by: Call, query = '') => test.call('GET', `${adminPath}${query}`, by);
const listOwn = (by: Call, query = '') => test.call('GET', `${ownPath}${query}`, by);
const explain = (by: Call, query = '') => test.call('GET', `${adminPath}/effective${query}`, by);
const remove = (by: Call, id: string) => test.call('DELETE', `${adminPath}/${id}`, by);
const removeOwn = (by: Call, id: string) => test.call('DELETE', `${ownPath}/${id}`, by);
const someone = (options?: Parameters<typeof createMember>[2]) => createMember(test, tenant, options);
const newTenant = async () => {
  const own = await createTenant(test);
  return { own, by: { token: own.admin.token } };
};
const idsOf = (data: Data[]) => data.map(({ id }) => id as string);
const night = { start: '22:00', end: '07:00' };

describe('updateNotificationPreferences', () => {
  it('200: defaults of the tenant, in the sent order', async () => {
    const { own, by } = await newTenant();
    const items = [
      preference({ category: '*', channel: 'sms', quietHours: { ...night, note: 'kept' }, rules: { digest: 'daily' } }),
      preference({ category: 'news', channel: 'in_app', enabled: true }),
      preference({ category: 'Ä'.repeat(120), channel: 'webhook' }),
    ];
    const { status, body } = await put(test, by, items, { scope: 'tenant_default' });
    expect(status).toBe(200);
    expect(body.data).toMatchObject(
      items.map((item) => ({
        quietHours: {},
        rules: {},
        ...item,
        tenantId: own.tenantId,
        userId: null,
        scope: 'tenant_default',
      })),
    );
    expect(body.data[0].createdAt).toBe(body.data[0].updatedAt);
    expect((await list(by)).body.data.toSorted(byId)).toEqual(body.data.toSorted(byId));
  });

  it.each([
    ['no user', () => ({})],
    ['oneself', () => ({ userId: member.userId })],
    ['oneself in capitals', () => ({ userId: member.userId.toUpperCase(), scope: 'user_override' })],
  ])('200: own preferences of a plain member who names %s', async (_, to) => {
    const { status, body } = await put(test, member, [{ category: 'own' }], to());
    expect(status).toBe(200);
    expect(body.data).toMatchObject([{ userId: member.userId, scope: 'user_override', category: 'own' }]);
  });

  it("200: of another user, and an administrator's own without userId", async () => {
    const other = await someone();
    const { body } = await put(test, manager, [{}], { userId: other.userId });
    expect(body.data).toMatchObject([{ userId: other.userId, scope: 'user_override' }]);
    expect((await listOwn(other)).body.data).toEqual(body.data);
    const own = await put(test, admin, [{}]);
    expect(own.body.data).toMatchObject([{ userId: tenant.admin.userId, scope: 'user_override' }]);
  });

  it('200: changes existing preferences and keeps omitted fields', async () => {
    const { by } = await newTenant();
    const given = { quietHours: night, rules: { locked: true, digest: 'daily' } };
    const created = await newDefault(test, by, given);
    const changed = await newDefault(test, by, { enabled: true });
    expect(changed).toEqual({ ...created, enabled: true, updatedAt: changed.updatedAt });
    expect(changed.updatedAt > created.updatedAt).toBe(true);
    expect(await newDefault(test, by, { quietHours: {}, rules: {} })).toMatchObject({ quietHours: {}, rules: {} });
    expect((await list(by)).body.data).toHaveLength(1);
  });

  it('200: is recorded with the user and the decision', async () => {
    const other = await someone();
    await put(test, manager, [{ quietHours: { note: 'Canary' } }], { userId: other.userId });
    const trail = await auditOf(test, tenant.admin, 'notification_preference.updated');
    const row = trail.find(({ details }) => details.userId === other.userId)!;
    expect(row).toMatchObject({
      user_id: manager.userId,
      resource_id: null,
      details: { scope: 'user_override', preferences: [{ category: 'news', channel: 'email', enabled: false }] },
    });
    expect(JSON.stringify(row)).not.toContain('Canary');
  });

  it.each<[string, object]>([
    ['no preferences', { preferences: undefined }],
    ['an empty list', { preferences: [] }],
    ['101', { preferences: Array.from({ length: 101 }, (_, at) => preference({ category: `c${at}` })) }],
    ['no category', { preferences: [{ channel: 'email', enabled: true }] }],
    ['an empty category', { preferences: [preference({ category: '' })] }],
    ['a category of 121 characters', { preferences: [preference({ category: 'x'.repeat(121) })] }],
    ['no channel', { preferences: [{ category: 'news', enabled: true }] }],
    ['another channel', { preferences: [preference({ channel: 'fax' })] }],
    ['no enabled', { preferences: [{ category: 'news', channel: 'email' }] }],
    ['text for enabled', { preferences: [{ ...preference(), enabled: 'yes' }] }],
    ['a list of quiet hours', { preferences: [preference({ quietHours: [] })] }],
    ['null for rules', { preferences: [preference({ rules: null })] }],
    ['2049 bytes of rules', { preferences: [preference({ rules: { x: 'x'.repeat(2041) } })] }],
    ['another property', { preferences: [{ ...preference(), id: newId() }] }],
    ['another scope', { scope: 'all' }],
    ['no uuid', { userId: 'me' }],
    ['null for the user', { userId: null }],
    ['another field', { tenantId: newId() }],
  ])('400: %s', async (_, body) => {
    const { by } = await newTenant();
    const whole = { preferences: [preference()], ...body };
    expectError(await test.call('PATCH', adminPath, { ...by, body: whole }), 400, 'VALIDATION_ERROR');
    expect((await listOwn(by)).body.data).toEqual([]);
  });

  it('200: exactly 100, of exactly 2048 bytes', async () => {
    const { by } = await newTenant();
    const items = Array.from({ length: 100 }, (_, at) => ({ category: `c${at}`, rules: { x: 'x'.repeat(2040) } }));
    expect((await put(test, by, items)).body.data).toHaveLength(100);
  });

  it('401, 403: without credentials, machines, and members for other users', async () => {
    expectError(await put(test, {}, [{}]), 401, 'AUTHENTICATION_ERROR');
    for (const machine of machines) expectError(await put(test, machine, [{}]), 403, 'AUTHORIZATION_ERROR');
    for (const to of [{ scope: 'tenant_default' }, { userId: manager.userId }, { userId: newId() }]) {
      expectError(await put(test, member, [{}], to), 403, 'AUTHORIZATION_ERROR');
    }
    const both = { scope: 'tenant_default', userId: member.userId };
    expectError(await put(test, member, [{}], both), 403, 'AUTHORIZATION_ERROR');
  });

  it('404: an unknown or deleted user, or one of another tenant', async () => {
    const gone = await someone();
    await test.call('DELETE', `/api/v1/secure/users/${gone.userId}`, admin);
    for (const userId of [newId(), stranger.admin.userId, gone.userId]) {
      expectError(await put(test, admin, [{}], { userId }), 404, 'NOT_FOUND');
    }
  });

  it('400: a user of a default', async () => {
    const to = { scope: 'tenant_default', userId: member.userId };
    expectError(await put(test, admin, [{}], to), 400, 'VALIDATION_ERROR', 'USER_NOT_ALLOWED');
  });

  it('400: scope user_override without a user, for every caller, with nothing written', async () => {
    const { by } = await newTenant();
    for (const who of [by, manager, member])
      expectError(await put(test, who, [{}], { scope: 'user_override' }), 400, 'VALIDATION_ERROR', 'USER_REQUIRED');
    expect((await listOwn(by)).body.data).toEqual([]);
  });

  it('200: the last of duplicates in one request wins, for users and defaults', async () => {
    const { own, by } = await newTenant();
    const items = [
      { category: 'a', rules: { digest: 'daily' } },
      { category: 'b' },
      { category: 'a', channel: 'sms' },
      { category: 'a', enabled: true, quietHours: night },
    ];
    for (const to of [{ userId: own.admin.userId }, { scope: 'tenant_default' }]) {
      const { status, body } = await put(test, by, items, to);
      expect(status).toBe(200);
      expect(body.data).toMatchObject([
        { category: 'a', channel: 'email', enabled: true, quietHours: night, rules: {} },
        { category: 'b', channel: 'email', enabled: false },
        { category: 'a', channel: 'sms', enabled: false },
      ]);
    }
    expect((await listOwn(by)).body.data).toHaveLength(3);
  });

  it('422: a duplicate that is invalid, though a later one would win', async () => {
    const answer = await putOwn(test, member, [{ quietHours: { start: '24:00' } }, {}]);
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_PREFERENCE');
  });

  it.each<[unknown, string]>([
    [{ timezone: 'Mars/Olympus' }, 'quietHours.timezone must match format "time-zone"'],
    [{ timezone: '+02:00' }, 'quietHours.timezone must match format "time-zone"'],
    [{ timezone: null }, 'quietHours.timezone must be string'],
    [{ ...night, start: '24:00' }, 'quietHours.start must match pattern'],
    [{ ...night, end: '7:00' }, 'quietHours.end must match pattern'],
    [{ ...night, days: 'mon' }, 'quietHours.days must be array'],
    [{ ...night, days: ['mon', 'someday'] }, 'quietHours.days.1 must be one of mon, tue'],
    [{ ...night, days: ['mon', 'mon'] }, 'quietHours.days must not list anything twice'],
    [{ ...night, mode: 'wait' }, 'quietHours.mode must be one of '],
    [{ ...night, exceptCritical: 'no' }, 'quietHours.exceptCritical must be boolean'],
    [{ start: '22:00' }, 'quietHours needs both start and end'],
    [{ end: '22:00', days: ['sat'] }, 'quietHours needs both start and end'],
    [{ start: '09:00', end: '09:00' }, 'quietHours would never end'],
  ])('422: quiet hours %j, with the problem', async (quietHours, problem) => {
    const answer = await putOwn(test, member, [{ category: 'fine' }, { quietHours }]);
    expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_PREFERENCE');
    expect(answer.body.details.problem).toContain(`preferences.1.${problem}`);
    expect((await listOwn(member, '?category=fine')).body.data).toEqual([]);
  });

  it.each([
    [{}],
    [{ timezone: 'europe/vienna' }],
    [{ ...night, days: [], mode: 'drop', exceptCritical: false }],
    [{ start: '00:00', end: '00:00', days: ['sat', 'sun'], timezone: 'UTC', any: { thing: [1, null] } }],
  ])('200: quiet hours %j, as they were sent', async (quietHours) => {
    expect(await newOverride(test, member, { category: 'fits', quietHours })).toMatchObject({ quietHours });
  });

  it('422: a lock that is not a boolean, or in an override', async () => {
    const noBoolean = await put(test, admin, [{ rules: { locked: 1 } }], { scope: 'tenant_default' });
    expectError(noBoolean, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_PREFERENCE');
    expect(noBoolean.body.details.problem).toBe('preferences.0.rules.locked must be boolean');
    for (const locked of [true, false]) {
      const own = await putOwn(test, member, [{ rules: { locked } }]);
      expectError(own, 422, 'UNPROCESSABLE_ENTITY', 'INVALID_PREFERENCE');
    }
  });

  it('422: a locked category, for every caller; other categories stay open', async () => {
    const { by } = await newTenant();
    await newDefault(test, by, { category: 'security.*', enabled: true, rules: { locked: true } });
    await newDefault(test, by, { category: 'security.news', enabled: true });
    for (const category of ['security.login', 'security.*', 'security.a.b']) {
      const answer = await putOwn(test, by, [{ category: 'open' }, { category }]);
      expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'CATEGORY_LOCKED');
      expect(answer.body.details).toMatchObject({ category, channel: 'email', lockedBy: 'security.*' });
    }
    expect((await listOwn(by)).body.data).toEqual([]);
    for (const category of ['*', 'security', 'security.news']) await newOverride(test, by, { category });
    await newOverride(test, by, { category: 'security.login', channel: 'push' });
  });

  it('422: a system administrator who acts on the tenant has no preferences there; 200 for other users', async () => {
    const root = await logInSystemAdmin(test);
    const there = { token: root.token, headers: { 'x-tenant-id': tenant.tenantId } };
    expectError(await put(test, there, [{}]), 422, 'UNPROCESSABLE_ENTITY', 'MEMBERSHIP_REQUIRED');
    expectError(await put(test, there, [{}], { userId: root.userId }), 404, 'NOT_FOUND');
    expect((await put(test, there, [{}], { userId: member.userId })).status).toBe(200);
    expect((await put(test, there, [{}], { scope: 'tenant_default' })).status).toBe(200);
  });
});

const byId = (left: Data, right: Data) => (left.id < right.id ? -1 : 1);

describe('listNotificationPreferences', () => {
  let own: Tenant;
  let by: Call;
  let person: Person;
  let ids: Record<'default' | 'sms' | 'own' | 'persons', string>;

  beforeAll(async () => {
    own = await createTenant(test);
    by = { token: own.admin.token };
    person = await createMember(test, own);
    ids = {
      default: (await newDefault(test, by)).id,
      sms: (await newDefault(test, by, { category: 'a', channel: 'sms' })).id,
      own: (await newOverride(test, by)).id,
      persons: (await newOverride(test, person)).id,
    };
  });

  it.each([
    ['', ['sms', 'default']],
    ['?scope=tenant_default', ['sms', 'default']],
    ['?scope=tenant_default&userId=PERSON', ['sms', 'default']],
    ['?userId=PERSON', ['sms', 'default', 'persons']],
    ['?scope=user_override', ['own']],
    ['?scope=user_override&userId=PERSON', ['persons']],
    ['?category=news', ['default']],
    ['?category=new', []],
    ['?channel=sms&userId=PERSON', ['sms']],
    ['?user_id=PERSON&channel=email', ['default', 'persons']],
    ['?unknown=1', ['sms', 'default']],
  ] as const)('200: %s', async (query, names) => {
    const answer = await list(by, query.replace('PERSON', person.userId));
    expect(answer.status).toBe(200);
    expect(idsOf(answer.body.data)).toEqual(names.map((name) => ids[name]));
  });

  it('200: own preferences of plain members', async () => {
    for (const query of ['?scope=user_override', `?scope=user_override&userId=${person.userId}`]) {
      expect(idsOf((await list(person, query)).body.data)).toEqual([ids.persons]);
    }
    expect(idsOf((await listOwn(person)).body.data)).toEqual([ids.persons]);
    expect(idsOf((await listOwn(person, '?channel=sms')).body.data)).toEqual([]);
  });

  it("200: the caller's own, for any userId", async () => {
    for (const userId of [own.admin.userId, 'x']) {
      expect(idsOf((await listOwn(person, `?userId=${userId}&scope=tenant_default`)).body.data)).toEqual([ids.persons]);
      const { data } = (await test.call('GET', `${ownPath}/effective?userId=${userId}&category=news`, person)).body;
      expect(data[2].preferenceId).toBe(ids.persons);
    }
  });

  it('400: an unknown scope or channel, an invalid uuid, an empty category', async () => {
    for (const query of ['?scope=x', '?channel=fax', '?userId=x', '?category=']) {
      expectError(await list(by, query), 400, 'VALIDATION_ERROR');
    }
  });

  it('401, 403: without credentials, machines, and members for other users', async () => {
    expectError(await list({}), 401, 'AUTHENTICATION_ERROR');
    expectError(await listOwn({}), 401, 'AUTHENTICATION_ERROR');
    for (const machine of machines) {
      expectError(await list(machine, '?scope=user_override'), 403, 'AUTHORIZATION_ERROR');
      expectError(await listOwn(machine), 403, 'AUTHORIZATION_ERROR');
    }
    const others = ['', '?scope=tenant_default', `?userId=${person.userId}`, `?scope=user_override&userId=${newId()}`];
    for (const query of others) expectError(await list(person, query), 403, 'AUTHORIZATION_ERROR');
  });

  it('404, 422: an unknown user; a system administrator who acts on the tenant without userId', async () => {
    for (const userId of [newId(), stranger.admin.userId]) {
      expectError(await list(by, `?userId=${userId}`), 404, 'NOT_FOUND');
    }
    const { token } = await logInSystemAdmin(test);
    const there = { token, headers: { 'x-tenant-id': own.tenantId } };
    expect(idsOf((await list(there)).body.data)).toEqual([ids.sms, ids.default]);
    expectError(await list(there, '?scope=user_override'), 422, 'UNPROCESSABLE_ENTITY', 'MEMBERSHIP_REQUIRED');
    expect(idsOf((await listOwn(there)).body.data)).not.toContain(ids.own);
  });
});

describe('explainNotificationPreferences', () => {
  it('200: the deciding layer of each channel, and the reason', async () => {
    const { own, by } = await newTenant();
    const person = await createMember(test, own);
    const ids = {
      in_app: (await newDefault(test, by, { category: '*', channel: 'in_app' })).id,
      email: (await newDefault(test, by, { category: 'news.*', enabled: true, rules: { locked: true } })).id,
      push: (await newOverride(test, person, { category: 'news.*', channel: 'push' })).id,
    };
    const said = await effectiveOf(test, person, 'news.office');
    const nothing = { preferenceId: null, category: null, quietHours: null, quietHoursLayer: null, timezone: null };
    expect(said).toMatchObject({
      in_app: {
        enabled: false,
        layer: 'tenant_default',
        preferenceId: ids.in_app,
        category: '*',
        outcome: 'turned_off',
      },
      push: {
        enabled: false,
        layer: 'user_override',
        preferenceId: ids.push,
        category: 'news.*',
        outcome: 'turned_off',
      },
      email: { enabled: true, layer: 'locked', preferenceId: ids.email, category: 'news.*', outcome: 'sent' },
      sms: { ...nothing, enabled: false, layer: 'built_in', outcome: 'turned_off', until: null },
    });
    expect(Object.values(said).map(({ because }) => because)).toEqual([
      'The tenant has turned in_app off for everything, and the user has no preference for it.',
      'The user has turned push off for news.*.',
      'The tenant has turned email on for news.* and locked it; users cannot override it.',
      'Neither the user nor the tenant has a preference, and sms is off by default.',
      'Neither the user nor the tenant has a preference, and chatapp is off by default.',
      'Neither the user nor the tenant has a preference, and webhook is off by default.',
    ]);
    expect(await explain(by, `?userId=${person.userId}&category=news.office`)).toMatchObject({
      status: 200,
      body: { data: Object.values(said) },
    });
    // The one that the person has taken back, and a category of which it does not speak.
    expect((await removeOwn(person, ids.push)).status).toBe(204);
    expect((await effectiveOf(test, person, 'news.office')).push).toMatchObject({ enabled: true, layer: 'built_in' });
    expect((await effectiveOf(test, person, 'news')).email).toMatchObject({ layer: 'built_in' });
  });

  it('200: delayed channels, the end of the delay, and the time zone', async () => {
    const { own, by } = await newTenant();
    const person = await createMember(test, own);
    const zone = 'Pacific/Auckland';
    const today = Temporal.Now.zonedDateTimeISO(zone);
    const weekday = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
    const days = [-1, 0, 1].map((offset) => weekday[(today.dayOfWeek + 6 + offset) % 7]);
    await newDefault(test, by, { category: '*', enabled: true, quietHours: { start: '00:00', end: '00:00', days } });
    await test.call('PATCH', '/api/v1/secure/profile', { ...person, body: { timezone: zone } });
    const { email } = await effectiveOf(test, person, 'news');
    expect(email).toMatchObject({ outcome: 'delayed', quietHoursLayer: 'tenant_default', timezone: zone });
    const midnight = today.add({ days: 2 }).startOfDay();
    expect(Date.parse(email.until)).toBe(midnight.epochMilliseconds);
    expect(email.because).toBe(
      `The tenant has turned email on for everything, and the user has no preference for it. Quiet hours of the tenant delay it until ${email.until}.`,
    );
    const dropping = { start: '00:00', end: '00:00', days, mode: 'drop', timezone: zone };
    await newOverride(test, person, { enabled: true, quietHours: dropping });
    expect((await effectiveOf(test, person, 'news')).email).toMatchObject({ outcome: 'dropped', until: null });
    await newDefault(test, by, { category: '*', enabled: true, rules: { locked: true } });
    expect((await effectiveOf(test, person, 'news')).email).toMatchObject({
      outcome: 'delayed',
      layer: 'locked',
      quietHoursLayer: 'user_override',
      quietHours: { ...dropping, mode: 'delay' },
    });
  });

  it('400, 401, 403, 404: as the list', async () => {
    expectError(await explain(admin, '?category='), 400, 'VALIDATION_ERROR');
    expectError(await explain(admin, '?userId=x'), 400, 'VALIDATION_ERROR');
    expectError(await explain({}), 401, 'AUTHENTICATION_ERROR');
    for (const machine of machines) expectError(await explain(machine), 403, 'AUTHORIZATION_ERROR');
    expectError(await explain(member, `?userId=${manager.userId}`), 403, 'AUTHORIZATION_ERROR');
    expect((await explain(member, `?userId=${member.userId}`)).status).toBe(200);
    expectError(await explain(admin, `?userId=${newId()}`), 404, 'NOT_FOUND');
    expectError(await explain(admin, `?userId=${stranger.admin.userId}`), 404, 'NOT_FOUND');
  });
});

describe('deleteNotificationPreference', () => {
  it('204: an own preference, or any with the permission, once', async () => {
    const other = await someone();
    const [first, second] = (await putOwn(test, other, [{}, { channel: 'sms' }])).body.data;
    expect((await remove(other, first.id)).status).toBe(204);
    expect((await remove(manager, second.id)).status).toBe(204);
    const standard = await newDefault(test, admin, { category: 'short-lived' });
    expect((await remove(manager, standard.id)).status).toBe(204);
    for (const { id } of [first, second, standard]) expectError(await remove(admin, id), 404, 'NOT_FOUND');
    const trail = await auditOf(test, tenant.admin, 'notification_preference.deleted');
    expect(trail.map(({ resource_id: id }) => id)).toEqual(expect.arrayContaining([first.id, second.id, standard.id]));
  });

  it("404: another user's looks like a missing one", async () => {
    const standard = await newDefault(test, admin, { category: 'stays' });
    const managers = await newOverride(test, manager);
    for (const id of [standard.id, managers.id, newId()]) {
      for (const one of [remove, removeOwn]) expectError(await one(member, id), 404, 'NOT_FOUND');
    }
    // The user's own path never reaches other users, even with permissions.
    const members = await newOverride(test, member, { category: 'stays' });
    expectError(await removeOwn(admin, members.id), 404, 'NOT_FOUND');
    const outside = { token: stranger.admin.token };
    for (const id of [standard.id, members.id]) expectError(await remove(outside, id), 404, 'NOT_FOUND');
    expect(idsOf((await list(admin, `?userId=${member.userId}&category=stays`)).body.data)).toHaveLength(2);
  });

  it('400, 401, 403: not a UUID, without credentials, machines', async () => {
    for (const one of [remove, removeOwn]) {
      expectError(await one(admin, 'x'), 400, 'VALIDATION_ERROR');
      expectError(await one({}, newId()), 401, 'AUTHENTICATION_ERROR');
      for (const machine of machines) expectError(await one(machine, newId()), 403, 'AUTHORIZATION_ERROR');
    }
  });
});

describe('updateOwnNotificationPreferences', () => {
  it('200: those of the home tenant, also while a system administrator acts on another one', async () => {
    const root = await logInSystemAdmin(test);
    const there = { token: root.token, headers: { 'x-tenant-id': tenant.tenantId } };
    const category = `at-home-${newId()}`;
    const { id, tenantId } = await newOverride(test, there, { category });
    expect(tenantId).not.toBe(tenant.tenantId);
    expect(idsOf((await listOwn({ token: root.token }, `?category=${category}`)).body.data)).toEqual([id]);
    expectError(await remove(there, id), 404, 'NOT_FOUND');
    expect((await removeOwn(there, id)).status).toBe(204);
  });

  it('400: a scope or a user', async () => {
    for (const to of [{ scope: 'user_override' }, { userId: member.userId }]) {
      const body = { preferences: [preference()], ...to };
      expectError(await test.call('PATCH', ownPath, { ...member, body }), 400, 'VALIDATION_ERROR');
    }
  });

  it('401, 403: without credentials, machines', async () => {
    expectError(await putOwn(test, {}, [{}]), 401, 'AUTHENTICATION_ERROR');
    for (const machine of machines) expectError(await putOwn(test, machine, [{}]), 403, 'AUTHORIZATION_ERROR');
  });
});
