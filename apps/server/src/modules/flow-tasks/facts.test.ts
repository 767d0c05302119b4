import { beforeEach, describe, expect, it } from 'vitest';

import {
  adminPath,
  complete,
  evidenceOf,
  idsPending,
  newTask,
  ownPath,
  reportOf,
  skip,
} from '#modules/flow-tasks/testing/tasks';
import { race, trailOf } from '#test/support/directory';
import { createMember, createTenant, proveAddress, type Person, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let admin: Call;
let person: Person;

beforeEach(async () => {
  tenant = await createTenant(test);
  admin = { token: tenant.admin.token };
  person = await createMember(test, tenant);
});

const profile = (body: object) => test.call('PATCH', '/api/v1/secure/profile', { token: person.token, body });

/** Simulates a confirmed second-factor code. */
async function proveNumber(): Promise<void> {
  const db = test.service.services.database.credential(tenant.tenantId);
  await db.interactive.batch([
    {
      kind: 'write',
      text: `insert into two_factor_methods (account_id, method, enabled_at, created_at)
             select account_id, 'sms', now(), now() from users where tenant_id = $1 and id = $2`,
      values: [tenant.tenantId, person.userId],
      prepare: false,
    },
    {
      kind: 'write',
      text: 'update sessions set assurance = 2 where tenant_id = $1 and user_id = $2',
      values: [tenant.tenantId, person.userId],
      prepare: false,
    },
  ]);
}

async function saveAvatar(): Promise<void> {
  const headers = { 'content-type': 'image/webp' };
  const call = { token: person.token, body: 'RIFF....WEBPVP8 ', headers };
  expect((await test.call('PUT', `/api/v1/secure/users/${person.userId}/avatar`, call)).status).toBe(200);
}

const cases: [string, object, () => Promise<unknown>][] = [
  ['email_verification', {}, () => proveAddress(test, person.email)],
  ['phone_verification', {}, proveNumber],
  ['avatar', {}, saveAvatar],
  ['profile', { fields: ['phone', 'fullName'] }, () => profile({ phone: '+43660123456', fullName: 'Ada Lovelace' })],
];

describe.each(cases)('%s %j', (type, config, makeTrue) => {
  it('is open until its condition is met, and is then recorded when the user reads the open tasks', async () => {
    const { id } = await newTask(test, admin, { type, config, isMandatory: true, version: '3' });
    expect(await idsPending(test, person)).toEqual([id]);
    expectError(await complete(test, person, id), 422, 'UNPROCESSABLE_ENTITY', 'REQUIREMENT_MISSING');
    expect(await evidenceOf(test, admin, id)).toEqual([]);
    await makeTrue();
    expect(await idsPending(test, person)).toEqual([]);
    expect(await evidenceOf(test, admin, id)).toMatchObject([
      { userId: person.userId, outcome: 'completed', source: 'automatic', version: '3', taskType: type },
    ]);
    expect(await idsPending(test, person)).toEqual([]);
    const [, recorded, ...more] = await trailOf(test, tenant.tenantId, id);
    expect(recorded).toMatchObject({ action: 'flow_task.completed', details: { source: 'automatic' } });
    expect(more).toEqual([]);
    expect(await reportOf(test, admin, id)).toEqual({ open: 1, completed: 1, skipped: 0 });
  });

  it('can be completed by the user once its condition is met', async () => {
    const { id } = await newTask(test, admin, { type, config });
    await makeTrue();
    expect((await complete(test, person, id)).body.data).toMatchObject({ outcome: 'completed', source: 'person' });
    expect(await evidenceOf(test, admin, id)).toHaveLength(1);
  });
});

it('a profile is complete with a name and a locale by default', async () => {
  await test.service.services.database.tenant(tenant.tenantId).interactive.all({
    kind: 'write',
    text: `update users set full_name = ' ' where tenant_id = $1 and id = $2`,
    values: [tenant.tenantId, person.userId],
    prepare: false,
  });
  const { id } = await newTask(test, admin, { type: 'profile' });
  expect(await idsPending(test, person)).toEqual([id]);
  await profile({ fullName: 'Ada Lovelace' });
  expect(await idsPending(test, person)).toEqual([]);
});

it('a phone number in the profile does not count as verified', async () => {
  const { id } = await newTask(test, admin, { type: 'phone_verification' });
  await profile({ phone: '+43660123456' });
  expect(await idsPending(test, person)).toEqual([id]);
  expectError(await complete(test, person, id), 422, 'UNPROCESSABLE_ENTITY', 'REQUIREMENT_MISSING');
  await proveNumber();
  expect(await idsPending(test, person)).toEqual([]);
});

it('tasks for other users, inactive tasks, and skipped tasks', async () => {
  await saveAvatar();
  const until = '2020-01-01T00:00:00Z';
  const [over, inactive] = [
    await newTask(test, admin, { type: 'avatar', config: { until } }),
    await newTask(test, admin, { type: 'avatar', isActive: false }),
  ];
  const { id: skipped } = await newTask(test, admin, { type: 'profile', config: { fields: ['phone'] } });
  await skip(test, person, skipped);
  expect(await idsPending(test, person)).toEqual([]);
  for (const { id } of [over, inactive]) expect(await evidenceOf(test, admin, id)).toEqual([]);
  await profile({ phone: '+43660123456' });
  expect(await idsPending(test, person)).toEqual([]);
  expect((await evidenceOf(test, admin, skipped)).map(({ outcome }) => outcome)).toEqual(['completed', 'skipped']);
});

it('after a reset or in another version the condition is met again, and recorded again', async () => {
  await saveAvatar();
  const { id } = await newTask(test, admin, { type: 'avatar' });
  expect(await idsPending(test, person)).toEqual([]);
  expect((await test.call('POST', `${adminPath}/${id}/reset`, admin)).body.resetCount).toBe(1);
  expect(await idsPending(test, person)).toEqual([]);
  await test.call('PATCH', `${adminPath}/${id}`, { ...admin, body: { version: '2' } });
  expect(await idsPending(test, person)).toEqual([]);
  expect((await evidenceOf(test, admin, id)).map(({ version }) => version)).toEqual(['2', null, null]);
});

it('fifty concurrent reads record it once', async () => {
  await saveAvatar();
  const tasks = await Promise.all(Array.from({ length: 3 }, () => newTask(test, admin, { type: 'avatar' })));
  expect(await race(50, () => test.call('GET', `${ownPath}/pending`, { token: person.token }))).toEqual({ 200: 50 });
  for (const { id } of tasks) {
    expect(await evidenceOf(test, admin, id)).toHaveLength(1);
    expect(await trailOf(test, tenant.tenantId, id)).toHaveLength(2);
  }
});
