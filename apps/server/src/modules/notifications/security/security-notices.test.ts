import { beforeAll, describe, expect, it } from 'vitest';

import { queryBuilder, toRead } from '#core/data/db/query';
import { createClock, inParallel, post } from '#modules/auth/testing/steps';
import type { NoticeRow, NotificationTables } from '#modules/notifications/notifications.tables';
import { enrolTotp, environment, freshCode, twoFactor } from '#modules/two-factor/testing/steps';
import {
  createMember,
  createTenant,
  joinTenant,
  logInSystemAdmin,
  type Person,
  type Tenant,
} from '#test/support/factories';
import { useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now, environment });
let tenant: Tenant;

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:149.0) Gecko/20100101 Firefox/149.0';

beforeAll(async () => {
  tenant = await createTenant(test);
});

/** What the person was told, the oldest first. */
async function toldTo({ userId }: { userId: string }, { tenantId } = tenant): Promise<NoticeRow[]> {
  const query = queryBuilder<NotificationTables>()
    .selectFrom('notices')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('id');
  const rows = await test.service.services.database.tenant(tenantId).all<NoticeRow>(toRead(query));
  return rows.filter(({ audience }) => 'userIds' in audience && (audience.userIds ?? []).includes(userId));
}

function logInFrom({ email, password }: Person, ip: string, userAgent: string) {
  const body = { email, password, tenantId: tenant.tenantId };
  return post(test, 'login', body, { ip, headers: { 'user-agent': userAgent } });
}

describe('a login', () => {
  it('sends one notice if it is from a new place', async () => {
    const person = await createMember(test, tenant);
    expect(await toldTo(person)).toEqual([]);
    expect((await logInFrom(person, '203.0.113.7', firefox)).status).toBe(200);
    expect(await toldTo(person)).toMatchObject([
      {
        category: 'security.login',
        title: 'New login to your account',
        body: expect.stringMatching(
          /^Time: [-\d]+ [\d:]+ UTC\nAddress: 203\.0\.113\.7\nProgram: Firefox, Linux\n\nIf this was/,
        ),
        i18n: { de: { title: 'Neue Anmeldung bei Ihrem Konto' }, fr: {}, es: {}, it: {} },
        is_critical: true,
        status: 'queued',
        created_by: null,
      },
    ]);
    const updated = firefox.replaceAll('149', '150');
    for (const [ip, agent] of [
      ['203.0.200.1', firefox],
      ['203.0.113.7', updated],
    ] as const) {
      expect((await logInFrom(person, ip, agent)).status).toBe(200);
    }
    expect(await toldTo(person)).toHaveLength(1);
    expect((await logInFrom(person, '198.51.100.1', firefox)).status).toBe(200);
    expect((await logInFrom(person, '203.0.113.7', 'curl/8')).status).toBe(200);
    expect(await toldTo(person)).toHaveLength(3);
  });

  it('sends one notice for concurrent logins', async () => {
    const person = await createMember(test, tenant);
    // More attempts at one account would be too many until the first have ended.
    const answers = await inParallel(10, () => logInFrom(person, '192.0.2.1', firefox));
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(10).fill(200));
    expect(await toldTo(person)).toHaveLength(1);
  });

  it('sends one notice in each tenant of the account, and none for a switch of the tenant', async () => {
    const person = await createMember(test, tenant);
    const other = await createTenant(test);
    const userId = await joinTenant(test, other, person);
    const { email, password } = person;
    const from = { ip: '203.0.113.7', headers: { 'user-agent': firefox } };
    const elsewhere = await post(test, 'login', { email, password, tenantId: other.tenantId }, from);
    expect(elsewhere.status).toBe(200);
    expect(await toldTo({ userId }, other)).toMatchObject([{ category: 'security.login', channels: null }]);
    expect(await toldTo(person)).toMatchObject([{ category: 'security.login', channels: ['in_app'] }]);
    const body = { tenantId: tenant.tenantId };
    const switching = { ...from, token: elsewhere.body.accessToken as string, body };
    expect((await test.call('POST', '/api/v1/auth/switch-tenant', switching)).status).toBe(200);
    expect(await toldTo(person)).toHaveLength(1);
  });

  it('sends no notice if it is refused', async () => {
    const person = await createMember(test, tenant);
    expect((await logInFrom({ ...person, password: 'not the password' }, '192.0.2.1', firefox)).status).toBe(401);
    expect(await toldTo(person)).toEqual([]);
  });

  it('sends a notice without text of the client', async () => {
    const person = await createMember(test, tenant);
    await logInFrom(person, '192.0.2.1', 'Firefox/1 call https://evil.example');
    expect(JSON.stringify(await toldTo(person))).not.toContain('evil');
  });
});

describe('second factors', () => {
  const titlesOf = async (person: Person) => (await toldTo(person)).map(({ title }) => title);

  it('send a notice when they are set up, renewed and removed', async () => {
    const person = await createMember(test, tenant);
    const { secret } = await enrolTotp(test, clock, person);
    expect((await twoFactor(test, 'backup-codes', person)).status).toBe(200);
    const gone = await twoFactor(test, 'disable', person, { method: 'totp', code: freshCode(secret, clock) });
    expect(gone.status).toBeLessThan(300);
    expect(await titlesOf(person)).toEqual([
      'Second factor set up: totp',
      'New backup codes were made',
      'Second factor removed: totp',
    ]);
  });

  it('send an inbox notice when an administrator resets them; the mail ignores preferences', async () => {
    const person = await createMember(test, tenant);
    await enrolTotp(test, clock, person);
    const url = `/api/v1/secure/users/${person.userId}/two-factor`;
    expect((await test.call('DELETE', url, { token: tenant.admin.token })).status).toBe(204);
    expect((await toldTo(person)).at(-1)).toMatchObject({ category: 'security.factors', channels: ['in_app', 'push'] });
  });
});

describe('API keys', () => {
  const create = (token: string, headers = {}) =>
    test.call('POST', '/api/v1/secure/api-keys', { token, headers, body: { name: "$& '{}'", permissions: {} } });

  it('are sent to the user who creates or rotates one', async () => {
    const before = (await toldTo(tenant.admin)).length;
    const { body } = await create(tenant.admin.token);
    const url = `/api/v1/secure/api-keys/${body.data.id}/rotate`;
    expect((await test.call('POST', url, { token: tenant.admin.token })).status).toBe(200);
    expect((await toldTo(tenant.admin)).slice(before)).toMatchObject([
      { category: 'security.api_keys', title: "API key created: $& '{}'" },
      { category: 'security.api_keys', title: "API key rotated: $& '{}'" },
    ]);
  });

  it('are sent to the creator of a key that another user rotates, too', async () => {
    const other = await createMember(test, tenant, { isTenantAdmin: true });
    const before = (await toldTo(tenant.admin)).length;
    const { body } = await create(tenant.admin.token);
    const url = `/api/v1/secure/api-keys/${body.data.id}/rotate`;
    expect((await test.call('POST', url, { token: other.token })).status).toBe(200);
    for (const person of [tenant.admin, other]) {
      expect((await toldTo(person)).at(-1)!.title).toBe("API key rotated: $& '{}'");
    }
    expect(await toldTo(tenant.admin)).toHaveLength(before + 2);
  });

  it('are not sent if a user of another tenant creates one', async () => {
    const root = await logInSystemAdmin(test);
    const answer = await create(root.token, { 'x-tenant-id': tenant.tenantId });
    expect(answer.status).toBe(201);
    expect(await toldTo(root)).toEqual([]);
  });
});
