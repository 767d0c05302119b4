import { beforeAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { countStatuses, createClock, hour, inParallel, invite, newEmail, post } from '#modules/auth/testing/steps';
import { withClient } from '#test/support/database';
import { createMember, createTenant, proveAddress, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

// Hashes many passwords, on threads that other work of the machine precedes.
vi.setConfig({ testTimeout: 120_000 });

const clock = createClock();
const test = useService({ now: clock.now });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
  // Tenants without a verified administrator may send ten invitations a day.
  await proveAddress(test, tenant.admin.email);
});

/** The records of the invited user in the tenant: no duplicates. */
async function footprint(userId: string): Promise<unknown> {
  const { database } = test.service.services;
  const count = (text: string) => ({ kind: 'read' as const, text, values: [tenant.tenantId, userId], prepare: false });
  const [users, joined] = await database
    .tenant(tenant.tenantId)
    .batch([
      count(`select status from users where tenant_id = $1 and id = $2`),
      count(`select from audit_logs where tenant_id = $1 and resource_id = $2 and action = 'user.joined'`),
    ]);
  const memberships = await database
    .credential()
    .all(count('select from memberships where tenant_id = $1 and user_id = $2'));
  return { users, joined: joined.length, memberships: memberships.length };
}

const once = { users: [{ status: 'active' }], joined: 1, memberships: 1 };

describe('an invitation is valid once', () => {
  it('200: exactly one of 50 concurrent requests with only the token, 20 times', async () => {
    const home = await createTenant(test);
    for (let round = 0; round < 20; round++) {
      const { email } = await createMember(test, home);
      await proveAddress(test, email);
      const { userId, token } = await invite(test, tenant, { email });
      const answers = await inParallel(50, () => post(test, 'accept-invitation', { token }));
      expect(countStatuses(answers)).toEqual({ 200: 1, 401: 49 });
      expect(await footprint(userId)).toEqual(once);
    }
  });

  it('200: exactly one of 50 concurrent requests with a password, 20 times, and its password is valid', async () => {
    for (let round = 0; round < 20; round++) {
      const email = newEmail();
      const { userId, token } = await invite(test, tenant, { email });
      const answers = await inParallel(50, (at) =>
        post(test, at % 2 === 0 ? 'accept-invitation' : 'reset-password', { token, password: `horse number ${at}` }),
      );
      // On a busy machine the password queue may refuse some requests before they compete.
      const { 401: late = 0, 503: busy = 0, ...others } = countStatuses(answers);
      expect({ ...others, lost: late + busy }).toEqual({ 200: 1, lost: 49 });
      expect(await footprint(userId)).toEqual(once);
      const winner = answers.findIndex(({ status }) => status === 200);
      expect((await post(test, 'login', { email, password: `horse number ${winner}` })).status).toBe(200);
    }
    // This test hashes a thousand passwords.
  }, 240_000);

  it('200: one of concurrent requests by link and by list', async () => {
    const home = await createTenant(test);
    for (let round = 0; round < 5; round++) {
      const member = await createMember(test, home);
      await proveAddress(test, member.email);
      const { userId, token } = await invite(test, tenant, { email: member.email });
      const url = `/api/v1/auth/invitations/${userId}/accept`;
      const answers = await inParallel(50, (at) =>
        at % 2 === 0 ? post(test, 'accept-invitation', { token }) : test.call('POST', url, { token: member.token }),
      );
      const { 401: used = 0, 404: gone = 0, ...others } = countStatuses(answers);
      expect({ ...others, lost: used + gone }).toEqual({ 200: 1, lost: 49 });
      expect(await footprint(userId)).toEqual(once);
    }
  });

  it('200: two tenants concurrently, both joined', async () => {
    const email = newEmail();
    const other = await createTenant(test);
    const links = [await invite(test, tenant, { email }), await invite(test, other, { email })];
    const answers = await inParallel(2, (at) =>
      post(test, 'accept-invitation', { token: links[at]!.token, password: 'correct horse' }),
    );
    const statuses = countStatuses(answers);
    // The second request finds a verified address, and needs no password.
    expect([{ 200: 2 }, { 200: 1, 422: 1 }]).toContainEqual(statuses);
    for (const [at, answer] of answers.entries()) {
      if (answer.status === 422)
        expect((await post(test, 'accept-invitation', { token: links[at]!.token })).status).toBe(200);
    }
    const login = await post(test, 'login', { email, password: 'correct horse' });
    expect(login.body.tenants).toHaveLength(2);
  });
});

it('422: keeps the password of an account that is verified while the invitation waits for its lock', async () => {
  const { email, password } = await createMember(test, await createTenant(test));
  const { token } = await invite(test, tenant, { email });
  const answer = await withClient(test.connection, async (client) => {
    await client.query('begin');
    await client.query('select from accounts where email = $1 for update', [email]);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const accepting = post(test, 'accept-invitation', { token, password: 'too late a horse' });
    const waiting = () =>
      client.query('select distinct pid from pg_locks where not granted and $1 = any(pg_blocking_pids(pid))', [
        rows[0]!.pid,
      ]);
    await expect.poll(async () => (await waiting()).rowCount, { interval: 5, timeout: 10_000 }).toBe(1);
    await client.query('update accounts set email_verified_at = now() where email = $1', [email]);
    await client.query('commit');
    return accepting;
  });
  expectError(answer, 422, 'UNPROCESSABLE_ENTITY', 'PASSWORD_ALREADY_SET');
  expect((await post(test, 'login', { email, password })).status).toBe(200);
  expect((await post(test, 'accept-invitation', { token })).status).toBe(200);
});

it('a link of a withdrawn invitation costs no password hash', async () => {
  const { token } = await invite(test, tenant, { email: newEmail() });
  clock.advance(48 * hour);
  const answers = await inParallel(200, () => post(test, 'accept-invitation', { token, password: newId() }));
  expect(countStatuses(answers)).toEqual({ 401: 200 });
});
