import { describe, expect, it } from 'vitest';

import { createFairTurns } from '#core/base/concurrency/fair-semaphore';
import { deliverBatch, deliverBy } from '#modules/notifications/deliveries/delivering';
import { fakeAdapters, stepsOf, taken } from '#modules/notifications/notices/testing/steps';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// Its queue is never started: what waits is done here.
const test = useService({ ownDatabase: true });

/** So many of them wait in a tenant. */
async function mails(count: number) {
  const tenant = await createTenant(test);
  const steps = stepsOf(test, tenant);
  await steps.createPeople(count - 1);
  await steps.send({ channels: ['email'] });
  await steps.tell();
  return { ...steps, way: { tenantId: tenant.tenantId, channel: 'email' } as const };
}

/** As if so many requests were answered, and with the texts of what is written to the deliveries of the tenant. */
function watched(requests: number) {
  const { services } = test.service;
  const texts: string[] = [];
  const database = {
    ...services.database,
    tenant(tenantId: string) {
      const { interactive } = services.database.tenant(tenantId);
      const all: typeof interactive.all = (query) => {
        texts.push(query.text);
        return interactive.all(query);
      };
      return { tenantId, interactive: { ...interactive, all } };
    },
  };
  const requestCounts = { ...services.requestCounts, lately: () => requests };
  return { services: { ...services, database, requestCounts } as unknown as typeof services, texts };
}

describe('a claimed batch', () => {
  it('stores its outcomes together, also for slow channels', async () => {
    const { way, log } = await mails(8);
    const { adapters } = fakeAdapters();
    const { services, texts } = watched(100_000);
    expect(await deliverBatch(services, way, { adapters })).toBe(8);
    expect(texts.filter((text) => text.includes('settled as'))).toHaveLength(1);
    expect(await log('&channel=email&status=sent')).toHaveLength(8);
  });

  it('is stored without unknown outcomes', async () => {
    const { way, log } = await mails(8);
    const end = Promise.withResolvers<void>();
    const { adapters, messages } = fakeAdapters(async () => {
      if (messages.length === 1) await end.promise;
      return taken();
    });
    const batch = deliverBatch(test.service.services, way, { adapters });
    const sent = async () => (await log('&channel=email&status=sent')).length;
    await expect.poll(sent, { timeout: 30_000 }).toBe(7);
    end.resolve();
    await batch;
    expect(await sent()).toBe(8);
  });
});

describe('tenants with many deliveries', () => {
  it('do not delay the single delivery of another tenant', async () => {
    const flooding = await Promise.all(Array.from({ length: 5 }, () => mails(60)));
    const quiet = await mails(1);
    const { adapters, messages } = fakeAdapters();
    const work = deliverBy(adapters);
    const { services } = test.service;
    const { signal } = new AbortController();
    const turn = (way: object) => async () => {
      await work.run({ services, data: way as never, attempt: 1, signal });
    };
    // As the queue does: so many at once, in the order in which they came.
    const runs = createFairTurns(work.concurrency);
    await Promise.all([...flooding, quiet].map(({ way }) => runs({ tenant: 'all', principal: '' }, turn(way))));
    expect(messages).toHaveLength(301);
    // Each of the others has had a batch of eight, or two.
    expect(messages.findIndex(({ tenantId }) => tenantId === quiet.way.tenantId)).toBeLessThan(100);
  }, 60_000);
});
