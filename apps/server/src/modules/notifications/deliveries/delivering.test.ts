import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { deliverBatch } from '#modules/notifications/deliveries/delivering';
import { fakeCarriers, stepsOf, taken } from '#modules/notifications/notices/testing/steps';
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
      const { slow } = services.database.tenant(tenantId);
      const all: typeof slow.all = (query) => {
        texts.push(query.text);
        return slow.all(query);
      };
      return { tenantId, slow: { ...slow, all } };
    },
  };
  const requestCounts = { ...services.requestCounts, lately: () => requests };
  return { services: { ...services, database, requestCounts } as unknown as typeof services, texts };
}

describe('what was taken together', () => {
  it('is written together, however slowly it goes out', async () => {
    const { way, log } = await mails(8);
    const { carriers } = fakeCarriers();
    const { services, texts } = watched(100_000);
    expect(await deliverBatch(services, way, { carriers })).toBe(8);
    expect(texts.filter((text) => text.includes('settled as'))).toHaveLength(1);
    expect(await log('&channel=email&status=sent')).toHaveLength(8);
  });

  it('is written without one that nobody sees the end of', async () => {
    const { way, log } = await mails(8);
    const end = Promise.withResolvers<void>();
    const { carriers, parcels } = fakeCarriers(async () => {
      if (parcels.length === 1) await end.promise;
      return taken();
    });
    const batch = deliverBatch(test.service.services, way, { carriers });
    const sent = async () => (await log('&channel=email&status=sent')).length;
    await expect.poll(sent, { timeout: 5000 }).toBe(7);
    end.resolve();
    await batch;
    expect(await sent()).toBe(8);
  });

  it('is of the same moment as what is taken soon after, and no other', async () => {
    const { deliver } = await mails(24);
    let at = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => at);
    onTestFinished(() => clock.mockRestore());
    const { carriers, parcels } = fakeCarriers(() => {
      at += parcels.length === 12 ? 2001 : 10;
      return taken();
    });
    await deliver('email', carriers);
    const moments = parcels.map(({ moment }) => parcels.findIndex((parcel) => parcel.moment === moment));
    expect(moments).toEqual([...Array(16).fill(0), ...Array(8).fill(16)]);
  });
});
