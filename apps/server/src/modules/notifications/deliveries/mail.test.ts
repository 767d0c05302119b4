import { expect, it, vi } from 'vitest';

import { smtpFake } from '#modules/connectors/messaging/adapters/smtp/testing/fake';
import { connectorAt, startProvider, type Fault } from '#modules/connectors/messaging/adapters/testing/provider';
import { createConnector } from '#modules/connectors/testing/connectors';
import { adapters } from '#modules/notifications/channels/adapters';
import { stepsOf } from '#modules/notifications/notices/testing/steps';
import { createTenant, proveAddress } from '#test/support/factories';
import { useService } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const test = useService({ environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });

async function begin() {
  const tenant = await createTenant(test);
  await proveAddress(test, tenant.admin.email);
  const provider = await startProvider(smtpFake);
  await createConnector(test, tenant.admin.token, connectorAt(smtpFake, provider));
  const steps = stepsOf(test, tenant);
  await steps.send({ channels: ['email'] });
  await steps.tell();
  return { provider, ...steps, only: async () => (await steps.log('&channel=email'))[0]! };
}

it('a mail is handed to the mail server of the tenant', async () => {
  const { provider, deliver, only } = await begin();
  await deliver('email', adapters);
  expect(provider.taken).toMatchObject([{ subject: 'Closed' }]);
  expect(await only()).toMatchObject({ status: 'sent', reason: 'delivered', attempts: 1 });
});

it.each<Fault>(['error', 'cut', 'silence'])(
  'a mail server in trouble (%s) is tried again later, and the log says so',
  async (fault) => {
    const { provider, deliver, only } = await begin();
    provider.fail(fault);
    await deliver('email', adapters);
    expect(await only()).toMatchObject({
      status: 'queued',
      reason: 'retry',
      because: expect.stringMatching(/^The channel failed; another attempt follows\./),
      attempts: 1,
    });
    expect(Date.parse((await only())['dueAt'])).toBeGreaterThan(Date.now());
  },
  60_000,
);
