import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { batchesInRow, batchSize, expandNotices } from '#modules/notifications/notices/expansion';
import { path, stepsOf } from '#modules/notifications/notices/testing/steps';
import { sweepNotifications } from '#modules/notifications/notifications.jobs';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// Its queue is never started: what waits is done here, one after the other.
// The sweep is over all tenants, and would wake the work of other suites.
const test = useService({ ownDatabase: true });
const { signal } = new AbortController();
/** How many are told before it is another tenant's turn. */
const inTurn = batchesInRow * batchSize;

async function begin() {
  const tenant = await createTenant(test);
  const steps = stepsOf(test, tenant);
  return {
    tenant,
    ...steps,
    told: () =>
      steps.ask(`select user_id, language, inbox_at from notifications where tenant_id = $1 order by user_id`),
    ways: (userId: string) =>
      steps.ask(
        `select channel, status, reason, layer, preference_id, due_at, sent_at from notification_deliveries
         where tenant_id = $1 and user_id = $2 order by channel`,
        [userId],
      ),
    setStatus: (status: string) => steps.ask(`update tenants set status = $2 where id = $1`, [status]),
    async sweep() {
      const { services } = test.service;
      await sweepNotifications.run({ services, connection: test.connection, signal: new AbortController().signal });
    },
  };
}

describe('an audience', () => {
  it('of all users is expanded in batches, each user once', async () => {
    const { tenant, send, turn, told, createPeople, get, waiting, dequeue } = await begin();
    const people = await createPeople(303);
    const { id } = await send();
    await dequeue();
    await turn();
    expect((await get(id)).body.data).toMatchObject({ status: 'done', recipients: 304 });
    expect((await told()).map((row) => row['user_id'])).toEqual([tenant.admin.userId, ...people].toSorted());
    expect((await get(id)).body.data.deliveries).toMatchObject({ in_app: { sent: 304 }, email: { queued: 304 } });
    const work = (await waiting()).map(({ name, channel }) => `${name} ${channel}`);
    expect(work.toSorted()).toEqual(['notifications-deliveries email', 'notifications-deliveries push']);
  }, 60_000);

  it('of users and groups skips inactive users, and has no duplicates', async () => {
    const { send, tell, told, createPeople, ask } = await begin();
    const [first, second, gone, other] = (await createPeople(5)) as [string, string, string, string];
    const [group, empty] = [newId(), newId()];
    await ask(`insert into groups (tenant_id, id, name) values ($1, $2, 'Porters'), ($1, $3, 'Empty')`, [group, empty]);
    await ask(
      `insert into group_members (tenant_id, group_id, user_id) values ($1, $2, $3), ($1, $2, $4), ($1, $2, $5)`,
      [group, first, second, gone],
    );
    await ask(`update users set status = 'suspended' where tenant_id = $1 and id = $2`, [gone]);
    await send({ audience: { userIds: [other, first.toUpperCase(), first], groupIds: [group, empty] } });
    await tell();
    expect((await told()).map((row) => row['user_id'])).toEqual([first, second, other].toSorted());
  });

  it('without users is done at once', async () => {
    const { send, tell, told, get, ask } = await begin();
    const group = newId();
    await ask(`insert into groups (tenant_id, id, name) values ($1, $2, 'Empty')`, [group]);
    const { id } = await send({ audience: { groupIds: [group] } });
    await tell();
    expect([await told(), (await get(id)).body.data.status]).toEqual([[], 'done']);
  });
});

describe('each recipient', () => {
  it('gets the text in the language of the user, if there is one', async () => {
    const { send, tell, told, createPeople, ask } = await begin();
    const [german, french] = (await createPeople(2)) as [string, string];
    await ask(`update users set locale = 'de-AT' where tenant_id = $1 and id = $2`, [german]);
    await ask(`update users set locale = 'fr' where tenant_id = $1 and id = $2`, [french]);
    await send({ i18n: { de: { title: 'Zu' }, it: { title: 'Chiuso' } }, audience: { userIds: [german, french] } });
    await tell();
    expect((await told()).map(({ language }) => language)).toEqual(['de', null]);
  });

  it('gets deliveries over the channels of the user, tenant and built-in preferences', async () => {
    const { send, tell, ways, createPeople, prefer } = await begin();
    const [person, other] = (await createPeople(2)) as [string, string];
    const off = await prefer({ person, channel: 'email', category: 'news.*', enabled: false });
    const on = await prefer({ channel: 'sms', enabled: true });
    const locked = await prefer({ channel: 'push', enabled: true, rules: { locked: true } });
    await prefer({ person, channel: 'push', enabled: false });
    await send({ category: 'news.office', audience: { userIds: [person, other] } });
    await tell();
    expect(await ways(person)).toMatchObject([
      { channel: 'email', status: 'suppressed', reason: 'turned_off', layer: 'user_override', preference_id: off },
      { channel: 'in_app', status: 'sent', reason: 'delivered', layer: 'built_in', preference_id: null },
      { channel: 'push', status: 'queued', reason: 'due', layer: 'locked', preference_id: locked },
      { channel: 'sms', status: 'queued', reason: 'due', layer: 'tenant_default', preference_id: on },
    ]);
    expect(await ways(other)).toMatchObject([
      { channel: 'email', status: 'queued' },
      { channel: 'in_app', status: 'sent' },
      { channel: 'push', status: 'queued' },
      { channel: 'sms', status: 'queued' },
    ]);
  });

  it('gets it later, never or at once during quiet hours', async () => {
    const { send, tell, ways, told, createPeople, prefer, dequeue, waiting } = await begin();
    const [person] = (await createPeople(1)) as [string];
    const quietHours = { start: '22:00', end: '06:00', timezone: 'UTC' };
    for (const channel of ['in_app', 'email']) await prefer({ person, channel, quiet_hours: quietHours });
    await prefer({ person, channel: 'push', quiet_hours: { ...quietHours, mode: 'drop' } });
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const services = { ...test.service.services, now: () => new Date(`${tomorrow}T03:00:00Z`) };
    await send({ audience: { userIds: [person] } });
    await dequeue();
    await tell(services);
    const end = new Date(`${tomorrow}T06:00:00Z`);
    expect(await ways(person)).toMatchObject([
      { channel: 'email', status: 'queued', reason: 'quiet_hours', due_at: end, sent_at: null },
      { channel: 'in_app', status: 'queued', reason: 'quiet_hours', due_at: end, sent_at: null },
      { channel: 'push', status: 'suppressed', reason: 'quiet_hours' },
    ]);
    expect(await told()).toMatchObject([{ inbox_at: null }]);
    const work = await waiting();
    expect(new Set(work.map(({ channel }) => channel))).toEqual(new Set(['email', 'in_app']));
    for (const task of work) expect(task['due']).toEqual(end);
    await send({ isCritical: true, audience: { userIds: [person] } });
    await tell(services);
    expect((await told()).map(({ inbox_at: at }) => at !== null)).toEqual([false, true]);
  });
});

describe('notices', () => {
  it('are expanded once for each recipient by 50 concurrent runs, with exact counts', async () => {
    const { send, turn, told, createPeople, get, ask } = await begin();
    await createPeople(420);
    const ids = [(await send()).id, (await send()).id] as string[];
    await Promise.all(Array.from({ length: 50 }, () => turn()));
    for (const id of ids) expect((await get(id)).body.data).toMatchObject({ status: 'done', recipients: 421 });
    expect(await told()).toHaveLength(842);
    const [counted] = await ask(`select count(*)::int as count from notification_deliveries where tenant_id = $1`);
    expect(counted).toEqual({ count: 3 * 842 });
  }, 120_000);

  it('take turns: a large notice does not delay a small one', async () => {
    const { send, turn, createPeople, get } = await begin();
    const [person] = (await createPeople(inTurn + 2 * batchSize)) as [string];
    const long = await send({ channels: ['in_app'] });
    const short = await send({ channels: ['in_app'], audience: { userIds: [person] } });
    await turn();
    expect((await get(short.id)).body.data.status).toBe('done');
    expect((await get(long.id)).body.data).toMatchObject({
      status: 'queued',
      recipients: inTurn - batchSize,
    });
  }, 60_000);

  it('that are critical are expanded first', async () => {
    const { send, turn, createPeople, get } = await begin();
    await createPeople(inTurn + 2 * batchSize);
    const usual = await send({ channels: ['in_app'] });
    const critical = await send({ channels: ['in_app'], isCritical: true });
    await turn();
    expect((await get(critical.id)).body.data).toMatchObject({ recipients: inTurn });
    expect((await get(usual.id)).body.data).toMatchObject({ recipients: 0 });
  }, 60_000);

  it('a stream of new notices does not delay a large one', async () => {
    const { send, turn, createPeople, get } = await begin();
    const [person] = (await createPeople(inTurn + 2 * batchSize)) as [string];
    const long = await send({ channels: ['in_app'] });
    const short = () => send({ channels: ['in_app'], audience: { userIds: [person] } });
    await turn();
    const recipients = [(await get(long.id)).body.data.recipients];
    for (let count = 0; count < batchesInRow + 2; count++) await short();
    await turn();
    recipients.push((await get(long.id)).body.data.recipients);
    expect(recipients).toEqual([inTurn, inTurn + batchSize]);
  }, 60_000);

  it('of one tenant are expanded by one run of a process at a time, which checks again at its end', async () => {
    const { tenant, send, get, waiting, dequeue } = await begin();
    const work = expandNotices();
    let inner: Promise<void> | undefined;
    const during = () => {
      inner ??= run();
      return new Date();
    };
    const services = { ...test.service.services, now: during };
    const run = () => work.run({ services, data: { tenantId: tenant.tenantId }, attempt: 1, signal });
    const ids = [(await send()).id, (await send()).id];
    await dequeue();
    await run();
    await inner;
    for (const id of ids) expect((await get(id)).body.data).toMatchObject({ status: 'done', recipients: 1 });
    expect((await waiting()).map(({ name }) => name)).not.toContain('notifications-notices');
  });

  it('reach all users, even with unknown time zones', async () => {
    const { send, turn, createPeople, get, prefer, ways, ask } = await begin();
    const [nowhere, other] = (await createPeople(2)) as [string, string];
    // As if the zones had been known when they were named.
    await ask(`update users set timezone = 'No/Where' where tenant_id = $1 and id = $2`, [nowhere]);
    await prefer({ channel: 'email', quiet_hours: { start: '22:00', end: '06:00' } });
    await prefer({
      person: other,
      channel: 'email',
      quiet_hours: { start: '22:00', end: '06:00', timezone: 'Nir/Gend' },
    });
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    const { id } = await send({ channels: ['email'] });
    await turn({ ...test.service.services, now: () => new Date(`${tomorrow}T03:00:00Z`) });
    expect((await get(id)).body.data).toMatchObject({ status: 'done', recipients: 3 });
    for (const person of [nowhere, other]) {
      expect(await ways(person)).toMatchObject([{ status: 'queued', due_at: new Date(`${tomorrow}T06:00:00Z`) }]);
    }
    const lines = test.logLines.filter((line) => line.includes(id) && line.includes('time zones'));
    expect(lines.map((line) => JSON.parse(line).zones.toSorted())).toEqual([['Nir/Gend', 'No/Where']]);
  });

  it('that fail do not block others, are retried later and finally fail', async () => {
    const { tenant, send, turn, get, ask, sweep, waiting, dequeue } = await begin();
    const [broken, fine] = [await send({ i18n: { de: {} } }), await send({ channels: ['in_app'] })];
    await ask(`update notices set i18n = 'null' where tenant_id = $1 and id = $2`, [broken.id]);
    await turn();
    expect((await get(fine.id)).body.data.status).toBe('done');
    const state = async () => {
      const columns = `status, attempts, completed_at is not null as is_over,
        round(extract(epoch from due_at - now()) / 60)::int as minutes`;
      return (await ask(`select ${columns} from notices where tenant_id = $1 and id = $2`, [broken.id]))[0]!;
    };
    const passes = () => ask(`update notices set due_at = now() where tenant_id = $1`);
    for (const [at, minutes] of [1, 5, 15, 60].entries()) {
      expect(await state()).toEqual({ status: 'queued', attempts: at + 1, is_over: false, minutes });
      await dequeue();
      await turn();
      await sweep();
      expect(await waiting()).toEqual([]);
      await passes();
      await sweep();
      expect(await waiting()).toMatchObject([{ name: 'notifications-notices' }]);
      await turn();
    }
    expect(await state()).toEqual({ status: 'failed', attempts: 5, is_over: true, minutes: 0 });
    await dequeue();
    await turn();
    expect(await state()).toMatchObject({ attempts: 5 });
    const query = `?status=failed`;
    await ask(`update notices set i18n = '{}' where tenant_id = $1`);
    const listed = await test.call('GET', `${path}${query}`, { token: tenant.admin.token });
    expect(listed.body.data.map((each: { id: string }) => each.id)).toEqual([broken.id]);
  });
});

describe('a process that dies', () => {
  it('within a batch leaves no partial batch, and another process continues after the last batch', async () => {
    const { send, turn, told, createPeople, get, dequeue, sweep, waiting } = await begin();
    await createPeople(303);
    const { id } = await send({ channels: ['in_app'] });
    let looks = 0;
    const dying = () => {
      looks += 1;
      if (looks === 2) throw Object.assign(new Error('the process dies'), { code: '57P01' });
      return new Date();
    };
    await expect(turn({ ...test.service.services, now: dying })).rejects.toThrow('the process dies');
    expect([(await told()).length, (await get(id)).body.data.recipients]).toEqual([batchSize, batchSize]);
    await dequeue();
    await sweep();
    expect(await waiting()).toMatchObject([{ name: 'notifications-notices' }]);
    await turn();
    expect((await get(id)).body.data).toMatchObject({ status: 'done', recipients: 304 });
    expect(await told()).toHaveLength(304);
  }, 60_000);

  it('between commit and sent task has stored all that the sweep needs', async () => {
    const { send, tell, told, dequeue, sweep, waiting } = await begin();
    await send();
    await dequeue();
    await sweep();
    expect(await waiting()).toMatchObject([{ name: 'notifications-notices' }]);
    await tell();
    expect(await told()).toHaveLength(1);
  });
});

it('a suspended tenant expands nothing until it is active again', async () => {
  const { send, turn, told, dequeue, sweep, waiting, setStatus } = await begin();
  await send();
  await dequeue();
  await setStatus('suspended');
  await turn();
  await sweep();
  expect([await told(), await waiting()]).toEqual([[], []]);
  await setStatus('active');
  await sweep();
  expect(await waiting()).toHaveLength(1);
  await turn();
  expect(await told()).toHaveLength(1);
});
