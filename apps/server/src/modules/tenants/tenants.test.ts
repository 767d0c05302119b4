import { beforeEach, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditOf, comparable, createClock, day, post } from '#modules/auth/testing/steps';
import { createMember, createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, startService, useService, type Answer, type Call } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const path = '/api/v1/secure/tenants';
let tenant: Tenant;

// A new one each time, because a change of the clock expires the token of its administrator.
beforeEach(async () => {
  tenant = await createTenant(test);
});

const read = (id = tenant.tenantId, call: Call = {}): Promise<Answer> =>
  test.call('GET', `${path}/${id}`, { token: tenant.admin.token, ...call });
const patch = (body: unknown, id = tenant.tenantId, call: Call = {}): Promise<Answer> =>
  test.call('PATCH', `${path}/${id}`, { token: tenant.admin.token, body, ...call });

describe('getTenant', () => {
  it('200: the record, to any member', async () => {
    const member = await createMember(test, tenant);
    for (const token of [tenant.admin.token, member.token]) {
      const answer = await read(tenant.tenantId, { token });
      expect({ status: answer.status, body: answer.body }).toEqual({
        status: 200,
        body: {
          data: {
            id: tenant.tenantId,
            name: tenant.name,
            domain: tenant.domain,
            status: 'active',
            default_language: 'en',
            languages: ['en'],
            settings: { requires2fa: false, twoFactorGraceDays: 0, twoFactorRequiredFrom: null },
            suspended_at: null,
            deletes_at: null,
            created_at: expect.any(String),
            updated_at: answer.body.data.created_at,
          },
        },
      });
    }
    expect((await read(tenant.tenantId.toUpperCase())).status).toBe(200);
  });

  it('400, 401: no uuid, no credentials', async () => {
    expectError(await read('own'), 400, 'VALIDATION_ERROR');
    expectError(await test.call('GET', `${path}/${tenant.tenantId}`), 401, 'AUTHENTICATION_ERROR');
  });

  it('404: every other tenant, like an unknown one', async () => {
    const other = await createTenant(test);
    const answers = [await read(newId()), await read(other.tenantId), await read(systemTenantId)];
    for (const answer of answers) expectError(answer, 404, 'NOT_FOUND');
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it('200: for a system administrator who names it in the path, in the header or in both; 404 if they differ', async () => {
    const { token } = await logInSystemAdmin(test);
    const headers = { 'x-tenant-id': tenant.tenantId };
    expect((await read(tenant.tenantId, { token, headers })).body.data.name).toBe(tenant.name);
    expect((await read(tenant.tenantId, { token })).body.data.name).toBe(tenant.name);
    expect((await read(tenant.tenantId.toUpperCase(), { token })).body.data.id).toBe(tenant.tenantId);
    expectError(await read(newId(), { token }), 404, 'NOT_FOUND');
    expectError(await read((await createTenant(test)).tenantId, { token, headers }), 404, 'NOT_FOUND');
    expectError(await read(systemTenantId, { token, headers }), 404, 'NOT_FOUND');
    expect((await read(systemTenantId, { token })).body.data.name).toBe('System');
  });
});

describe('updateTenant', () => {
  it.each([
    [{ name: 'ab' }],
    [{ name: 'x'.repeat(255) }],
    [{ default_language: 'en' }],
    [{ languages: ['en', 'de'] }],
    [{ default_language: 'de', languages: ['de'] }],
    [
      {
        languages: [
          'en',
          ...Array.from({ length: 49 }, (_, at) => `${'abcdefgh'[at % 8]}${'ijklmop'[Math.floor(at / 8)]}`),
        ],
      },
    ],
  ])('200: changes %j and nothing else', async (body) => {
    const before = (await read()).body.data;
    const changed = await patch(body);
    expect(changed.status).toBe(200);
    expect(changed.body.data).toEqual({ ...before, ...body, updated_at: expect.any(String) });
    expect(changed.body.data.updated_at > before.updated_at).toBe(true);
    expect((await read()).body.data).toEqual(changed.body.data);
  });

  it('200: the next login shows the name, and the changed fields are recorded', async () => {
    await patch({ name: 'Renamed', settings: {} });
    const { email, password } = tenant.admin;
    expect((await post(test, 'login', { email, password })).body.user.tenantName).toBe('Renamed');
    const [entry] = await auditOf(test, tenant.admin, 'tenant.updated');
    expect(entry).toMatchObject({ user_id: tenant.admin.userId, resource_id: tenant.tenantId });
    expect(entry!.details.fields).toEqual(['name', 'settings']);
    expect(JSON.stringify(entry)).not.toContain('Renamed');
  });

  it('200: an empty patch changes nothing, not even the time', async () => {
    const before = (await read()).body.data;
    expect(await patch({})).toMatchObject({ status: 200, body: { data: before } });
    expect(await auditOf(test, tenant.admin, 'tenant.updated')).toEqual([]);
  });

  it('200: by a system administrator who names the tenant', async () => {
    const { token, userId } = await logInSystemAdmin(test);
    const headers = { 'x-tenant-id': tenant.tenantId };
    expect((await patch({ name: 'Helped' }, tenant.tenantId, { token, headers })).status).toBe(200);
    expect((await patch({ name: 'Named by path' }, tenant.tenantId, { token })).body.data.name).toBe('Named by path');
    const entries = await auditOf(test, tenant.admin, 'tenant.updated');
    expect(entries.map(({ details, user_id }) => [user_id, details.actor.actingFromTenantId])).toEqual([
      [userId, systemTenantId],
      [userId, systemTenantId],
    ]);
    const other = await createTenant(test);
    expectError(await patch({ name: 'Mixed up' }, other.tenantId, { token, headers }), 404, 'NOT_FOUND');
    expectError(await patch({ name: 'Nowhere' }, newId(), { token }), 404, 'NOT_FOUND');
  });

  it.each([
    ['a name of 1 character', { name: 'a' }],
    ['a name of 256 characters', { name: 'x'.repeat(256) }],
    ['a blank name', { name: '   ' }],
    ['a language of 3 letters', { default_language: 'deu' }],
    ['a language in capitals', { languages: ['EN'] }],
    ['no languages', { languages: [] }],
    [
      '51 languages',
      { languages: Array.from({ length: 51 }, (_, at) => `${'abcdefgh'[at % 8]}${'ijklmop'[Math.floor(at / 8)]}`) },
    ],
    ['a language twice', { languages: ['en', 'en'] }],
    ['null for the languages', { languages: null }],
    ['a grace of -1 days', { settings: { twoFactorGraceDays: -1 } }],
    ['a grace of 91 days', { settings: { twoFactorGraceDays: 91 } }],
    ['half a day', { settings: { twoFactorGraceDays: 0.5 } }],
    ['text for a boolean', { settings: { requires2fa: 'true' } }],
    ['when it is required from', { settings: { twoFactorRequiredFrom: '2100-01-01T00:00:00Z' } }],
    ['an unknown setting', { settings: { requires3fa: true } }],
    ['the domain', { domain: 'other' }],
    ['the status', { status: 'suspended' }],
    ['an id', { id: newId() }],
    ['no body', undefined],
  ])('400: %s', async (_what, body) => {
    expectError(await patch(body), 400, 'VALIDATION_ERROR');
  });

  it('401, 403: no credentials, and all callers except administrators', async () => {
    const url = `${path}/${tenant.tenantId}`;
    expectError(await test.call('PATCH', url, { body: {} }), 401, 'AUTHENTICATION_ERROR');
    const { token } = await createMember(test, tenant, { permissions: ['users.manage'] });
    expectError(await patch({ name: 'Mine' }, tenant.tenantId, { token }), 403, 'AUTHORIZATION_ERROR');
  });

  it.each([{}, { name: 'Mine' }])('404: every other tenant, like an unknown one, %j', async (body) => {
    const other = await createTenant(test);
    const answers = [await patch(body, newId()), await patch(body, other.tenantId), await patch(body, systemTenantId)];
    for (const answer of answers) expectError(answer, 404, 'NOT_FOUND');
    expect(new Set(answers.map(comparable)).size).toBe(1);
  });

  it.each([
    [{ default_language: 'de' }],
    [{ languages: ['de'] }],
    [{ default_language: 'fr', languages: ['en', 'de'] }],
  ])('422: the default language is not one of the languages: %j', async (body) => {
    const before = (await read()).body.data;
    expectError(await patch(body), 422, 'UNPROCESSABLE_ENTITY', 'DEFAULT_LANGUAGE_MISSING');
    expect((await read()).body.data).toEqual(before);
  });

  it('keeps the default language among the languages in 20 concurrent changes', async () => {
    await patch({ languages: ['en', 'de'] });
    const changes = [{ default_language: 'de' }, { languages: ['en'] }];
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => patch(changes[at % 2])));
    expect(answers.every(({ status }) => status === 200 || status === 422)).toBe(true);
    const { default_language: language, languages } = (await read()).body.data;
    expect(languages).toContain(language);
  });
});

describe('a tenant that requires a second factor', () => {
  const settings = { requires2fa: true, twoFactorGraceDays: 7 };
  const spaces = (token: string) => test.call('GET', '/api/v1/secure/spaces', { token });
  const login = async () => {
    const { email, password } = tenant.admin;
    return (await post(test, 'login', { email, password })).body.accessToken as string;
  };

  it('shows the end of the grace period, counted from the first request', async () => {
    const before = clock.now().getTime();
    const on = (await patch({ settings })).body.data.settings;
    const from = Date.parse(on.twoFactorRequiredFrom);
    expect(on).toMatchObject(settings);
    expect(from - 7 * day).toBeGreaterThanOrEqual(before);
    expect(from - 7 * day).toBeLessThanOrEqual(clock.now().getTime());
    clock.advance(day);
    const token = await login();
    const longer = await patch({ settings: { twoFactorGraceDays: 90 } }, tenant.tenantId, { token });
    expect(Date.parse(longer.body.data.settings.twoFactorRequiredFrom)).toBe(from + 83 * day);
    const off = await patch({ settings: { requires2fa: false } }, tenant.tenantId, { token });
    expect(off.body.data.settings).toEqual({
      requires2fa: false,
      twoFactorGraceDays: 90,
      twoFactorRequiredFrom: null,
    });
  });

  it('admits users without one during the grace period', async () => {
    await patch({ settings });
    expect((await spaces(tenant.admin.token)).status).toBe(200);
    clock.advance(7 * day);
    expectError(await spaces(await login()), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_ENROLMENT_REQUIRED');
  });

  it('applies to the next request, in every process', async () => {
    const member = await createMember(test, tenant);
    const second = await startService({ now: clock.now });
    const statusThere = async () => {
      const request = { url: '/api/v1/secure/spaces', headers: { authorization: `Bearer ${member.token}` } };
      return (await second.http.inject(request)).statusCode;
    };
    try {
      expect((await spaces(member.token)).status).toBe(200);
      expect(await statusThere()).toBe(200);
      expect((await patch({ settings: { requires2fa: true } })).status).toBe(200);
      expectError(await spaces(member.token), 403, 'AUTHORIZATION_ERROR', 'TWO_FACTOR_ENROLMENT_REQUIRED');
      await expect.poll(statusThere, { interval: 5, timeout: 5000 }).toBe(403);
    } finally {
      await second.close();
    }
  });
});
