import { describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import type { Outcome } from '#modules/notifications/channels/channel';
import { deliverBatch, deliverBy } from '#modules/notifications/deliveries/delivering';
import { fakeAdapters, stepsOf, taken } from '#modules/notifications/notices/testing/steps';
import { sweepNotifications } from '#modules/notifications/notifications.jobs';
import { createMember, createTenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

// Its queue is never started: what waits is done here, one after the other.
// The sweep is over all tenants, and would wake the work of other suites.
const test = useService({ ownDatabase: true });
const minuteMs = 60_000;

async function begin() {
  const tenant = await createTenant(test);
  const steps = stepsOf(test, tenant);
  const { services } = test.service;
  const context = { services, connection: test.connection, signal: new AbortController().signal };
  return {
    tenant,
    ...steps,
    way: { tenantId: tenant.tenantId, channel: 'email' } as const,
    sweep: () => sweepNotifications.run(context),
    /** One mail for each of so many people, or for the administrator alone. */
    async mail(body: object = {}): Promise<{ id: string; [name: string]: any }> {
      const { id } = await steps.send({ channels: ['email'], ...body });
      await steps.tell();
      return { id };
    },
    only: async () => {
      const rows = await steps.log('&channel=email');
      expect(rows).toHaveLength(1);
      return rows[0]!;
    },
  };
}

function door() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe('a due delivery', () => {
  it('passes the complete message to the channel adapter', async () => {
    const { tenant, mail, deliver, only, ask } = await begin();
    await ask(`update users set locale = 'de-AT', phone = '+43 660' where tenant_id = $1`);
    const fields = { link: '/news', data: { id: 1 }, isCritical: true, i18n: { de: { title: 'Zu' } } };
    const { id: noticeId } = await mail(fields);
    const { adapters, messages } = fakeAdapters();
    await deliver('email', adapters);
    const delivery = await only();
    expect(messages).toEqual([
      {
        channel: 'email',
        tenantId: tenant.tenantId,
        deliveryId: delivery['id'],
        notificationId: delivery['notificationId'],
        person: expect.objectContaining({ id: tenant.admin.userId, email: tenant.admin.email, phone: '+43 660' }),
        category: 'news',
        texts: { title: 'Zu', body: 'On Monday.' },
        link: '/news',
        data: { id: 1 },
        isCritical: true,
      },
    ]);
    expect(delivery).toMatchObject({
      noticeId,
      userId: tenant.admin.userId,
      status: 'sent',
      reason: 'delivered',
      because: expect.stringMatching(/^The channel has accepted it\. Neither/),
      attempts: 1,
      interruptions: 0,
      sentAt: expect.any(String),
    });
  });

  it.each<[string, Outcome, object]>([
    ['refused', { kind: 'refused' }, { status: 'failed', reason: 'refused' }],
    ['without an address', { kind: 'no_address' }, { status: 'suppressed', reason: 'no_address' }],
    ['without a provider', { kind: 'no_provider' }, { status: 'suppressed', reason: 'no_provider' }],
  ])('with the outcome %s is final', async (_what, outcome, expected) => {
    const { mail, deliver, only, skipPause } = await begin();
    await mail();
    const { adapters, messages } = fakeAdapters(() => outcome);
    await deliver('email', adapters);
    expect(await only()).toMatchObject({ ...expected, attempts: 1, sentAt: null });
    await skipPause();
    await deliver('email', adapters);
    expect(messages).toHaveLength(1);
  });

  it('is attempted seven times with growing pauses', async () => {
    const { mail, deliver, only, skipPause, dequeue, waiting } = await begin();
    await mail();
    const { adapters, messages } = fakeAdapters(() => ({ kind: 'failed', error: new Error('no luck') }));
    for (const minutes of [1, 5, 15, 60, 240, 720]) {
      await dequeue();
      const now = new Date();
      await deliver('email', adapters, { ...test.service.services, now: () => now });
      const { status, reason, dueAt, attempts } = await only();
      expect({ status, reason, attempts }).toEqual({ status: 'queued', reason: 'retry', attempts: messages.length });
      expect(Date.parse(dueAt) - now.getTime()).toBe(minutes * minuteMs);
      const [piece] = await waiting();
      expect(piece).toMatchObject({ name: 'notifications-deliveries', channel: 'email', due: new Date(dueAt) });
      await skipPause();
    }
    await deliver('email', adapters);
    expect(await only()).toMatchObject({ status: 'failed', reason: 'attempts_used_up', attempts: 7 });
    await deliver('email', adapters);
    expect(messages).toHaveLength(7);
    expect(new Set(messages.map(({ deliveryId }) => deliveryId)).size).toBe(1);
  });

  it('is not retried before the Retry-After of the channel', async () => {
    const { mail, deliver, only } = await begin();
    await mail();
    const now = new Date();
    const { adapters } = fakeAdapters(() => ({ kind: 'failed', error: undefined, retryAfterMs: 90 * minuteMs }));
    await deliver('email', adapters, { ...test.service.services, now: () => now });
    expect(Date.parse((await only())['dueAt']) - now.getTime()).toBe(90 * minuteMs);
  });

  it('counts as failed if an adapter throws, which is logged', async () => {
    const { mail, deliver, only } = await begin();
    await mail();
    const { adapters } = fakeAdapters(() => Promise.reject(new Error('broken adapter')));
    await deliver('email', adapters);
    expect(await only()).toMatchObject({ status: 'queued', reason: 'retry', interruptions: 0 });
    expect(test.logLines.filter((line) => line.includes('broken adapter'))).toHaveLength(1);
  });

  it.each<[string, Outcome, object]>([
    [
      'failed',
      { kind: 'failed', error: Object.assign(new Error('to ada@example.com'), { code: 'EENVELOPE' }) },
      { cause: 'Error EENVELOPE' },
    ],
    ['refused', { kind: 'refused' }, {}],
  ])('that %s is logged without addresses or texts', async (kind, outcome, more) => {
    const { mail, deliver, only } = await begin();
    await mail();
    await deliver('email', fakeAdapters(() => outcome).adapters);
    const { id, userId } = await only();
    const lines = test.logLines.filter((line) => line.includes(id));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', deliveryId: id, channel: 'email', attempt: 1, outcome: kind, ...more },
    ]);
    for (const secret of ['example.com', 'Closed', userId]) expect(lines.join('')).not.toContain(secret);
  });

  it('times out without an answer and has an unknown outcome', async () => {
    const { mail, way, only } = await begin();
    await mail();
    const signals: AbortSignal[] = [];
    const { adapters } = fakeAdapters((_, signal) => (signals.push(signal), new Promise(() => undefined)));
    await deliverBatch(test.service.services, way, { adapters, timeoutMs: 20 });
    expect(await only()).toMatchObject({
      status: 'queued',
      reason: 'retry',
      interruptions: 1,
      because: expect.stringMatching(/The outcome of an attempt is unknown: it may have arrived more than once\.$/),
    });
    expect(signals[0]!.aborted).toBe(true);
  });

  it('that is critical is sent first', async () => {
    const { mail, deliver, createPeople } = await begin();
    await createPeople(20);
    await mail();
    await mail({ isCritical: true });
    const { adapters, messages } = fakeAdapters();
    await deliver('email', adapters);
    expect(messages.slice(0, 16).every(({ isCritical }) => isCritical)).toBe(true);
    expect(messages).toHaveLength(42);
  });
});

describe('changes after the fan-out', () => {
  it.each<[string, string, object]>([
    ['the person is suspended', `update users set status = 'suspended' where tenant_id = $1`, { reason: 'not_active' }],
    [
      'the notice is cancelled',
      `update notices set status = 'cancelled' where tenant_id = $1`,
      { reason: 'cancelled' },
    ],
  ])('%s', async (_what, statement, expected) => {
    const { mail, deliver, only, ask } = await begin();
    await mail();
    await ask(statement);
    const { adapters, messages } = fakeAdapters();
    await deliver('email', adapters);
    expect(messages).toEqual([]);
    expect(await only()).toMatchObject({ ...expected, status: 'suppressed', attempts: 0 });
  });

  it('the user has turned the category off', async () => {
    const { tenant, mail, deliver, only, prefer } = await begin();
    await mail();
    const preferenceId = await prefer({ person: tenant.admin.userId, channel: 'email', enabled: false });
    const { adapters, messages } = fakeAdapters();
    await deliver('email', adapters);
    expect(messages).toEqual([]);
    const decided = { layer: 'user_override', preferenceId };
    expect(await only()).toMatchObject({ status: 'suppressed', reason: 'turned_off', ...decided });
  });

  it('another preference decides, and the log names it', async () => {
    const { tenant, mail, deliver, only, prefer } = await begin();
    await mail();
    expect(await only()).toMatchObject({ layer: 'built_in', preferenceId: null });
    const preferenceId = await prefer({ person: tenant.admin.userId, channel: 'email', enabled: true });
    await deliver('email', fakeAdapters().adapters);
    expect(await only()).toMatchObject({ status: 'sent', layer: 'user_override', preferenceId });
  });

  it('quiet hours have begun', async () => {
    const { tenant, mail, deliver, only, prefer } = await begin();
    await mail();
    await prefer({ person: tenant.admin.userId, channel: 'email', quiet_hours: nights });
    const { adapters, messages } = fakeAdapters();
    await deliver('email', adapters, atHour(3));
    expect(messages).toEqual([]);
    const waits = { status: 'queued', reason: 'quiet_hours', attempts: 0, dueAt: atHour(6).now().toISOString() };
    expect(await only()).toMatchObject(waits);
    await deliver('email', adapters, atHour(6));
    expect(await only()).toMatchObject({ status: 'sent', attempts: 1 });
  });
});

const nights = { start: '22:00', end: '06:00', timezone: 'UTC' };

/** The service at this hour of tomorrow. */
function atHour(hour: number) {
  const midnight = Math.ceil(Date.now() / 86_400_000) * 86_400_000;
  return { ...test.service.services, now: () => new Date(midnight + hour * 3_600_000) };
}

describe('a process that dies', () => {
  it('between claim and outcome leaves the delivery to another process, and its own outcome no longer counts', async () => {
    const { mail, way, only, endLeases, dequeue, sweep, waiting, deliver } = await begin();
    await mail();
    const [begun, end] = [door(), door()];
    const hanging = fakeAdapters(async () => {
      begun.open();
      await end.opened;
      return { kind: 'refused' };
    });
    const dying = deliverBatch(test.service.services, way, { adapters: hanging.adapters });
    await begun.opened;
    expect(await only()).toMatchObject({ status: 'sending', reason: 'due', attempts: 1, interruptions: 0 });
    const { adapters, messages } = fakeAdapters();
    await deliver('email', adapters);
    expect(messages).toEqual([]);
    await endLeases();
    await dequeue();
    await sweep();
    expect(await waiting()).toMatchObject([{ name: 'notifications-deliveries', channel: 'email' }]);
    await deliver('email', adapters);
    expect(messages).toHaveLength(1);
    end.open();
    await dying;
    expect(await only()).toMatchObject({ status: 'sent', attempts: 2, interruptions: 1 });
  });

  it('at every attempt ends the delivery after the last attempt', async () => {
    const { mail, deliver, only, ask } = await begin();
    await mail();
    await ask(
      `update notification_deliveries set status = 'sending', attempts = 7, interruptions = 6, claim = uuidv7(),
         lease_until = now() - interval '1 s' where tenant_id = $1`,
    );
    const { adapters, messages } = fakeAdapters();
    await deliver('email', adapters);
    expect(messages).toEqual([]);
    expect(await only()).toMatchObject({ status: 'failed', reason: 'attempts_used_up', attempts: 7, interruptions: 7 });
  });

  it('leaves a task that runs when its lease expires', async () => {
    const { mail, deliver, dequeue, waiting, ask } = await begin();
    await mail();
    const [lease] = await ask(
      `update notification_deliveries set status = 'sending', claim = uuidv7(),
         lease_until = date_trunc('milliseconds', now()) + interval '50 s'
       where tenant_id = $1 returning lease_until as until`,
    );
    await dequeue();
    await deliver('email', fakeAdapters().adapters);
    expect(await waiting()).toMatchObject([{ due: lease!['until'] }]);
  });
});

describe('50 concurrent runs', () => {
  it('send each delivery once', async () => {
    const { mail, way, createPeople, log } = await begin();
    await createPeople(199);
    await mail();
    const { adapters, messages } = fakeAdapters(async () => {
      await new Promise(setImmediate);
      return taken();
    });
    const work = async () => {
      while ((await deliverBatch(test.service.services, way, { adapters })) > 0);
    };
    await Promise.all(Array.from({ length: 50 }, work));
    expect(messages).toHaveLength(200);
    expect(new Set(messages.map(({ person }) => person.id)).size).toBe(200);
    const rows = await log('&channel=email&status=sent');
    expect(rows.map(({ attempts }) => attempts)).toEqual(Array.from({ length: 200 }, () => 1));
  }, 60_000);
});

describe('runs', () => {
  it('end after their time, and a new task continues', async () => {
    const { mail, deliver, createPeople, dequeue, waiting } = await begin();
    await createPeople(500);
    await mail();
    await dequeue();
    const { adapters, messages } = fakeAdapters();
    await deliver('email', adapters);
    expect(messages).toHaveLength(400);
    expect(await waiting()).toMatchObject([{ name: 'notifications-deliveries', channel: 'email' }]);
    await deliver('email', adapters);
    expect(messages).toHaveLength(501);
  }, 60_000);

  it('of a channel are sequential in a process, and check again after a send', async () => {
    const { mail, way, log } = await begin();
    await mail();
    const [begun, end] = [door(), door()];
    const { adapters, messages } = fakeAdapters(async () => {
      begun.open();
      await end.opened;
      return taken();
    });
    const { run } = deliverBy(adapters);
    const { signal } = new AbortController();
    const turn = () => run({ services: test.service.services, data: way, attempt: 1, signal });
    const first = turn();
    await begun.opened;
    await mail();
    await turn();
    expect(messages).toHaveLength(1);
    end.open();
    await first;
    expect(messages).toHaveLength(2);
    expect(await log('&channel=email&status=sent')).toHaveLength(2);
  });

  it('that were aborted do not block later runs', async () => {
    const { mail, way } = await begin();
    await mail();
    const [begun, end] = [door(), door()];
    const { adapters, messages } = fakeAdapters(async () => {
      begun.open();
      await end.opened;
      return taken();
    });
    const { run } = deliverBy(adapters);
    const turn = (signal: AbortSignal) => run({ services: test.service.services, data: way, attempt: 1, signal });
    const [over, living] = [new AbortController(), new AbortController()];
    const first = turn(over.signal).catch((error: unknown) => error);
    await begun.opened;
    over.abort(new Error('it took too long'));
    await mail();
    const second = turn(living.signal);
    await expect.poll(() => messages.length).toBe(2);
    end.open();
    await second;
    expect(await first).toMatchObject({ message: 'it took too long' });
  });

  it('that are stopped during a claim release it', async () => {
    const { mail, way, only } = await begin();
    await mail();
    const { adapters, messages } = fakeAdapters();
    const stopping = new AbortController();
    const now = () => {
      stopping.abort(new Error('the process stops'));
      return new Date();
    };
    const services = { ...test.service.services, now };
    const batch = deliverBatch(services, way, { adapters, signal: stopping.signal });
    await expect(batch).rejects.toThrow('the process stops');
    expect(messages).toEqual([]);
    expect(await only()).toMatchObject({ status: 'queued', reason: 'due', attempts: 0 });
  });

  it('that are stopped complete started deliveries and start no others', async () => {
    const { mail, way, createPeople, log } = await begin();
    await createPeople(19);
    await mail();
    const [begun, end] = [door(), door()];
    const signals: AbortSignal[] = [];
    const { adapters, messages } = fakeAdapters(async (_message, signal) => {
      signals.push(signal);
      if (signals.length === 3) begun.open();
      await end.opened;
      return taken();
    });
    const stopping = new AbortController();
    const context = { services: test.service.services, data: way, attempt: 1, signal: stopping.signal };
    const turn = deliverBy(adapters)
      .run(context)
      .catch((error: unknown) => error);
    await begun.opened;
    stopping.abort(new Error('the process stops'));
    expect(signals.map(({ aborted }) => aborted)).toContain(false);
    end.open();
    expect(await turn).toMatchObject({ message: 'the process stops' });
    expect(messages).toHaveLength(3);
    const counts = await Promise.all(
      ['sent', 'queued', 'sending'].map(async (status) => (await log(`&channel=email&status=${status}`)).length),
    );
    expect(counts).toEqual([3, 17, 0]);
    const waiting = await log('&channel=email&status=queued');
    expect(waiting.every((row) => row['attempts'] === 0 && row['interruptions'] === 0)).toBe(true);
  });
});

it('a delayed notification reaches the inbox', async () => {
  const { tenant, send, tell, deliver, prefer, ask, log } = await begin();
  await prefer({ person: tenant.admin.userId, channel: 'in_app', quiet_hours: nights });
  await send({ channels: ['in_app'] });
  await tell(atHour(3));
  const inbox = () => ask(`select inbox_at from notifications where tenant_id = $1`);
  await deliver('in_app', fakeAdapters().adapters, atHour(5));
  expect(await inbox()).toEqual([{ inbox_at: null }]);
  await deliver('in_app', fakeAdapters().adapters, atHour(7));
  const now = atHour(7).now();
  expect(await inbox()).toEqual([{ inbox_at: now }]);
  expect(await log()).toMatchObject([{ status: 'sent', reason: 'delivered', sentAt: now.toISOString() }]);
});

it.each([
  ['sends nothing', `status = 'queued'`],
  ['leaves no task for an expired lease', `status = 'sending', lease_until = now() - interval '1 s'`],
])('a suspended tenant %s until it is active again', async (_what, state) => {
  const { mail, deliver, sweep, ask, dequeue, waiting } = await begin();
  await mail();
  await dequeue();
  await ask(`update notification_deliveries set ${state}, claim = gen_random_uuid() where tenant_id = $1`);
  await ask(`update tenants set status = 'suspended' where id = $1`);
  const { adapters, messages } = fakeAdapters();
  await deliver('email', adapters);
  await sweep();
  expect([messages, await waiting()]).toEqual([[], []]);
  await ask(`update tenants set status = 'active' where id = $1`);
  await sweep();
  expect(await waiting()).toHaveLength(1);
  await deliver('email', adapters);
  expect(messages).toHaveLength(1);
});

describe('the log', () => {
  it('can be filtered', async () => {
    const { tenant, send, tell, log, createPeople } = await begin();
    const [person] = (await createPeople(3)) as [string];
    const first = await send();
    const second = await send({ channels: ['in_app'] });
    await tell();
    expect(await log()).toHaveLength(16);
    expect(await log(`&noticeId=${first['id']}`)).toHaveLength(12);
    expect(await log(`&userId=${person}`)).toHaveLength(4);
    expect(await log(`&userId=${person}&noticeId=${second['id']}`)).toHaveLength(1);
    expect(await log('&channel=push')).toHaveLength(4);
    expect(await log('&status=sent')).toHaveLength(8);
    expect(await log(`&userId=${newId()}`)).toEqual([]);
    expect(tenant.tenantId).toBeDefined();
  });

  it("returns every user's own notifications only", async () => {
    const { tenant, send, tell, ask } = await begin();
    const member = await createMember(test, tenant);
    await send();
    await tell();
    const [row] = await ask(`select id from notifications where tenant_id = $1 and user_id = $2`, [member.userId]);
    const path = `/api/v1/secure/notifications/${row!['id']}/deliveries`;
    const { status, body } = await test.call('GET', path, { token: member.token });
    expect([status, body.data.map(({ channel }: { channel: string }) => channel)]).toEqual([
      200,
      ['email', 'in_app', 'push'],
    ]);
    expectError(await test.call('GET', path, { token: tenant.admin.token }), 404, 'NOT_FOUND');
    expectError(await test.call('GET', path.replace(row!['id'], newId()), { token: member.token }), 404, 'NOT_FOUND');
  });
});
