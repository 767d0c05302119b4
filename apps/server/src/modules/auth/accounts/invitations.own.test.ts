import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { auditOf, createClock, day, hour, inParallel, countStatuses, invite, post } from '#modules/auth/testing/steps';
import { createMember, createTenant, logIn, proveAddress, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });
const path = '/api/v1/auth/invitations';
let home: Tenant;
let host: Tenant;
let person: Person;

beforeAll(async () => {
  [home, host] = [await createTenant(test), await createTenant(test)];
  // Tenants without a verified administrator may send ten invitations a day.
  for (const { admin } of [home, host]) await proveAddress(test, admin.email);
  person = await createMember(test, home);
  await proveAddress(test, person.email);
});

const list = async (who: Person) => (await test.call('GET', path, { token: who.token })).body.data;
const answer = (id: string, what: string, who = person) =>
  test.call('POST', `${path}/${id}/${what}`, { token: who.token });

async function newcomer(): Promise<Person> {
  const member = await createMember(test, home);
  await proveAddress(test, member.email);
  return member;
}

describe('listOwnInvitations', () => {
  it('200: open invitations of the caller, newest first', async () => {
    const guest = await newcomer();
    expect(await list(guest)).toEqual([]);
    const second = await createTenant(test);
    const first = await invite(test, host, { email: guest.email });
    const { userId } = await invite(test, second, { email: guest.email });
    const found = await list(guest);
    expect(found).toEqual([
      {
        id: userId,
        tenantId: second.tenantId,
        tenantName: second.name,
        invited_at: expect.any(String),
        expires_at: expect.any(String),
      },
      expect.objectContaining({ id: first.userId, tenantName: host.name }),
    ]);
    expect(Date.parse(found[0].expires_at) - Date.parse(found[0].invited_at)).toBe(2 * day);
    await test.call('DELETE', `/api/v1/secure/users/${userId}`, { token: second.admin.token });
    expect((await list(guest)).map(({ id }: { id: string }) => id)).toEqual([first.userId]);
    await post(test, 'accept-invitation', { token: first.token });
    expect(await list(guest)).toEqual([]);
    expect(await list(person)).toEqual([]);
  });

  it('200: one entry for any number of sent links', async () => {
    const guest = await newcomer();
    const { userId } = await invite(test, host, { email: guest.email });
    const url = `/api/v1/secure/users/${userId}/invite`;
    expect((await test.call('POST', url, { token: host.admin.token })).status).toBe(200);
    expect(await list(guest)).toHaveLength(1);
  });

  it('200: nothing for an unverified address', async () => {
    const squatter = await createMember(test, home);
    const { userId } = await invite(test, host, { email: squatter.email });
    expect(await list(squatter)).toEqual([]);
    expectError(await answer(userId, 'accept', squatter), 404, 'NOT_FOUND');
    expectError(await answer(userId, 'decline', squatter), 404, 'NOT_FOUND');
  });

  it('401: without credentials', async () => {
    expectError(await test.call('GET', path), 401, 'AUTHENTICATION_ERROR');
  });
});

describe('acceptOwnInvitation', () => {
  it('200: joins once, and is recorded in the tenant', async () => {
    const guest = await newcomer();
    const { userId, token } = await invite(test, host, { email: guest.email });
    const joined = await answer(userId.toUpperCase(), 'accept', guest);
    expect({ status: joined.status, body: joined.body }).toEqual({
      status: 200,
      body: { message: expect.any(String), data: { tenantId: host.tenantId, tenantName: host.name } },
    });
    expect((await logIn(test, { ...guest, tenantId: host.tenantId })).userId).toBe(userId);
    expectError(await answer(userId, 'accept', guest), 404, 'NOT_FOUND');
    expectError(await post(test, 'accept-invitation', { token }), 401, 'AUTHENTICATION_ERROR');
    const [entry] = await auditOf(test, host.admin, 'user.joined');
    expect(entry).toMatchObject({ user_id: userId, resource_id: userId });
  });

  it('400, 401, 404: no uuid, no credentials, an unknown id, one of another person, the user of the caller', async () => {
    const guest = await newcomer();
    const { userId } = await invite(test, host, { email: guest.email });
    expectError(await answer('mine', 'accept'), 400, 'VALIDATION_ERROR');
    expectError(await test.call('POST', `${path}/${userId}/accept`), 401, 'AUTHENTICATION_ERROR');
    for (const id of [newId(), userId, person.userId]) expectError(await answer(id, 'accept'), 404, 'NOT_FOUND');
    expect((await answer(userId, 'accept', guest)).status).toBe(200);
  });

  it('404: after 48 hours', async () => {
    const guest = await newcomer();
    const { userId } = await invite(test, host, { email: guest.email });
    clock.advance(48 * hour);
    const { accessToken: token } = (await post(test, 'login', { email: guest.email, password: guest.password })).body;
    expect(await list({ ...guest, token })).toEqual([]);
    expectError(await answer(userId, 'accept', { ...guest, token }), 404, 'NOT_FOUND');
  });
});

describe('declineOwnInvitation', () => {
  beforeAll(async () => {
    [home, host] = [await createTenant(test), await createTenant(test)];
    // Tenants without a verified administrator may send ten invitations a day.
    for (const { admin } of [home, host]) await proveAddress(test, admin.email);
  });

  it('204: removes the user and the memberships in groups from the tenant, and is recorded there', async () => {
    const guest = await newcomer();
    const { token } = host.admin;
    const created = await test.call('POST', '/api/v1/secure/groups', { token, body: { name: 'Guests' } });
    const groupId = created.body.data.id;
    const { userId, token: link } = await invite(test, host, { email: guest.email, groupIds: [groupId] });
    expect((await answer(userId, 'decline', guest)).status).toBe(204);
    expectError(await test.call('GET', `/api/v1/secure/users/${userId}`, { token }), 404, 'NOT_FOUND');
    expect((await test.call('GET', `/api/v1/secure/groups/${groupId}/members`, { token })).body.data).toEqual([]);
    expectError(await post(test, 'accept-invitation', { token: link }), 401, 'AUTHENTICATION_ERROR');
    expectError(await answer(userId, 'accept', guest), 404, 'NOT_FOUND');
    const [entry] = await auditOf(test, host.admin, 'user.declined');
    expect(entry).toMatchObject({ user_id: userId, resource_id: userId });
    expect((await invite(test, host, { email: guest.email })).userId).not.toBe(userId);
  });

  it('404: one of concurrent acceptance and refusal', async () => {
    for (let round = 0; round < 5; round++) {
      const guest = await newcomer();
      const { userId } = await invite(test, host, { email: guest.email });
      const answers = await inParallel(20, (at) => answer(userId, at % 2 === 0 ? 'accept' : 'decline', guest));
      const { 200: accepted = 0, 204: declined = 0, 404: late } = countStatuses(answers);
      expect({ done: accepted + declined, late }).toEqual({ done: 1, late: 19 });
      const status = accepted === 1 ? 200 : 401;
      const { email, password } = guest;
      expect((await post(test, 'login', { email, password, tenantId: host.tenantId })).status).toBe(status);
    }
  });
});
