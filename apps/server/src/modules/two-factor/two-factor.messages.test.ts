import { beforeEach, describe, expect, it } from 'vitest';

import { createClock, expectNoSecrets } from '#modules/auth/testing/steps';
import { startHttpProvider, type HttpProvider } from '#modules/connectors/messaging/adapters/testing/http-provider';
import { connectorAt } from '#modules/connectors/messaging/adapters/testing/provider';
import { webhookFake } from '#modules/connectors/messaging/adapters/webhook/testing/fake';
import { override } from '#modules/connectors/overrides/testing/overrides';
import { createConnector } from '#modules/connectors/testing/connectors';
import { environment, logInAgain, ordinary, statusOfFactors, twoFactor } from '#modules/two-factor/testing/steps';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const clock = createClock();
// A database of its own, because connectors of the installation would serve all tenants.
const test = useService({
  now: clock.now,
  ownDatabase: true,
  environment: { ...environment, OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' },
});
let numbers = 1000;
/** Unique to this test, because each number has its own limit. */
let number: string;
let tenant: Tenant;

beforeEach(async () => {
  tenant = await createTenant(test);
  number = `+43 660 ${(numbers += 1)}-45-67`;
});

/** A provider that accepts messages of the tenant on the channel. */
async function connect(channel: string): Promise<HttpProvider> {
  const provider = await startHttpProvider(webhookFake);
  const config = { ...webhookFake.config, adapter: webhookFake.adapter, channels: [channel] };
  await createConnector(test, tenant.admin.token, connectorAt(webhookFake, provider, { config }));
  return provider;
}

const enable = (person: { token: string }, method: string, target: string | undefined = number) =>
  twoFactor(test, `enable/${method}`, person, { delivery_target: target });
const codeIn = (text: string) => /^Your code is (\d{6})\./.exec(text)![1]!;

describe.each(['sms', 'chatapp'])('%s', (method) => {
  it('200: a code reaches the number, completes the enrolment, and later performs a step-up', async () => {
    const provider = await connect(method);
    const person = await createMember(test, tenant);
    const enabled = await enable(person, method);
    expect(enabled.body.data).toEqual({
      method,
      delivery_target: '+43*****67',
      verification_sent: true,
      expires_in_seconds: 300,
    });
    expect(provider.taken).toMatchObject([
      { to: number.replaceAll(/[ -]/g, ''), text: expect.stringContaining('Your code is') },
    ]);
    const first = codeIn(provider.taken[0]!.text);
    expect((await twoFactor(test, 'verify', person, { method, code: first })).status).toBe(200);
    expect((await statusOfFactors(test, person)).enabled_methods).toEqual([
      { method, enabled_at: expect.any(String), last_used_at: null, delivery_target_masked: '+43*****67' },
    ]);
    const session = await logInAgain(test, person);
    expect((await ordinary(test, session)).status).toBe(403);
    const sent = await twoFactor(test, 'send-code', session, { method });
    expect(sent.body.data).toEqual({ sent: true, expires_in_seconds: 300 });
    const second = codeIn(provider.taken[1]!.text);
    expect((await twoFactor(test, 'verify', session, { method, code: second })).status).toBe(200);
    expect((await ordinary(test, session)).status).toBe(200);
    expectNoSecrets(test, [first, second, provider.taken[0]!.to.slice(3)]);
  });

  it('400: a missing or invalid number', async () => {
    await connect(method);
    const person = await createMember(test, tenant);
    for (const target of [person.email, '+12345', '+1234567890123456', '0043660123456', '436601234567'])
      expectError(await enable(person, method, target), 400, 'VALIDATION_ERROR');
    for (const body of [undefined, {}])
      expectError(await twoFactor(test, `enable/${method}`, person, body), 400, 'VALIDATION_ERROR');
    for (const target of ['+123456', '+123456789012345'])
      expect((await enable(person, method, target)).status).toBe(200);
  });

  it('200: uses the number of the profile by default, and keeps it when the profile changes', async () => {
    const provider = await connect(method);
    const person = await createMember(test, tenant);
    const setPhone = async (phone: string | null) => {
      const call = { token: person.token, body: { phone } };
      expect((await test.call('PATCH', '/api/v1/secure/profile', call)).status).toBe(200);
    };
    await setPhone('+43 660 765 43 21');
    expect((await enable(person, method, '+43660999999')).body.data.delivery_target).toBe('+43*****99');
    const enabled = await twoFactor(test, `enable/${method}`, person, {});
    expect(enabled).toMatchObject({ status: 200, body: { data: { delivery_target: '+43*****21' } } });
    expect(provider.taken.map(({ to }) => to)).toEqual(['+43660999999', '+436607654321']);
    await setPhone('+43660111111');
    const code = codeIn(provider.taken[1]!.text);
    expect((await twoFactor(test, 'verify', person, { method, code })).status).toBe(200);
    await setPhone(null);
    const [factor] = (await statusOfFactors(test, person)).enabled_methods;
    expect(factor).toMatchObject({ method, delivery_target_masked: '+43*****21' });
    const session = await logInAgain(test, person);
    expect((await twoFactor(test, 'send-code', session, { method })).status).toBe(200);
    expect(provider.taken[2]!.to).toBe('+436607654321');
  });

  it('422: no connector for the channel; no enrolment is started', async () => {
    await connect(method === 'sms' ? 'chatapp' : 'sms');
    const person = await createMember(test, tenant);
    expectError(await enable(person, method), 422, 'UNPROCESSABLE_ENTITY', 'NO_DELIVERY_CHANNEL');
    const unsent = await twoFactor(test, 'send-code', person, { method });
    expectError(unsent, 422, 'UNPROCESSABLE_ENTITY', 'TWO_FACTOR_NOT_ENABLED');
  });

  it('403: disabled for the tenant', async () => {
    await connect(method);
    const person = await createMember(test, tenant);
    expect((await enable(person, method)).status).toBe(200);
    await override(test, tenant.tenantId, { enabled: false, operation: `messaging.${method}` });
    const other = await createMember(test, tenant);
    for (const call of [() => enable(other, method), () => twoFactor(test, 'send-code', person, { method })])
      expectError(await call(), 403, 'AUTHORIZATION_ERROR', 'OPERATION_DISABLED');
  });

  it('422: no provider accepts the number; another number works', async () => {
    const provider = await connect(method);
    const person = await createMember(test, tenant);
    const refused = `${number.replaceAll(/[ -]/g, '')}00`;
    provider.misbehave((response) => {
      const { to } = JSON.parse(provider.requests.at(-1)!.body) as { to: string };
      response.writeHead(to === refused ? 400 : 204).end();
    });
    for (const call of [() => enable(person, method, refused), () => twoFactor(test, 'send-code', person, { method })])
      expectError(await call(), 422, 'UNPROCESSABLE_ENTITY', 'REFUSED_BY_PROVIDERS');
    expect((await enable(person, method)).status).toBe(200);
  });

  it('502: the provider fails; the next delivered code completes the enrolment', async () => {
    const provider = await connect(method);
    const person = await createMember(test, tenant);
    let fails = true;
    provider.misbehave((response, request) => {
      if (fails) response.writeHead(500).end('canary');
      else response.writeHead(204).end();
      request.resume();
    });
    expectError(await enable(person, method), 502, 'UPSTREAM_ERROR');
    fails = false;
    expect((await twoFactor(test, 'send-code', person, { method })).status).toBe(200);
    const { text } = JSON.parse(provider.requests.at(-1)!.body) as { text: string };
    expect((await twoFactor(test, 'verify', person, { method, code: codeIn(text) })).status).toBe(200);
  });
});
