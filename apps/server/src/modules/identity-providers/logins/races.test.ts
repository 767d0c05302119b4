import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { countStatuses, inParallel } from '#modules/auth/testing/steps';
import { createBrowser, createPkce } from '#modules/identity-providers/testing/browser';
import { startOpenIdServer, type OpenIdServer } from '#modules/identity-providers/testing/openid-server';
import {
  attemptLogin,
  callbackOf,
  configure,
  exchange,
  logInThrough,
  openLoopback,
  startUrl,
} from '#modules/identity-providers/testing/steps';
import { createMember, createTenant, proveAddress, unique, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ environment: openLoopback });
const wide = 50;
const rounds = 20;
let server: OpenIdServer;
let tenant: Tenant;
let tenantId: string;
let sub: string;

beforeAll(async () => {
  server = await startOpenIdServer();
  tenant = await createTenant(test);
  ({ tenantId } = tenant);
  const client = await server.register(await callbackOf(test, tenant.admin.token, 'google'));
  await configure(test, tenant.admin.token, 'google', { ...client, issuer: server.issuer });
  ({ sub } = await createSomeone());
  await logInThrough(test, sub, { tenantId });
});
afterAll(() => server.close());

async function createSomeone() {
  const member = await createMember(test, tenant);
  await proveAddress(test, member.email);
  return { member, sub: server.add({ sub: unique('sub'), email: member.email, email_verified: true }).sub };
}

async function count(text: string, values: unknown[]): Promise<number> {
  const rows = await test.service.services.database
    .credential(tenantId)
    .all<{ count: number }>({ kind: 'read', text, values, prepare: false });
  return rows[0]!.count;
}

const sessions = () => count('select count(*) from sessions where tenant_id = $1', [tenantId]);

describe(`${wide} concurrent requests, ${rounds} times`, () => {
  it('exactly one exchange of a code starts a session', async () => {
    for (let round = 0; round < rounds; round++) {
      const { arrival, verifier } = await attemptLogin(test, sub, { tenantId });
      const code = arrival.url.searchParams.get('code')!;
      const before = await sessions();
      const answers = await inParallel(wide, () => exchange(test, code, verifier));
      expect(countStatuses(answers)).toEqual({ 200: 1, 401: wide - 1 });
      expect(await sessions()).toBe(before + 1);
    }
  });

  it('exactly one answer of a provider with one state is accepted', async () => {
    for (let round = 0; round < rounds; round++) {
      const { verifier, challenge } = createPkce();
      const { url } = await createBrowser(test, sub).visit(startUrl(test, { tenantId, challenge }), ({ pathname }) =>
        pathname.endsWith('/callback'),
      );
      const before = server.requests['/token']!;
      const answers = await inParallel(wide, () => test.call('GET', `${url.pathname}${url.search}`));
      expect(countStatuses(answers)).toEqual({ 302: 1, 401: wide - 1 });
      expect(server.requests['/token']).toBe(before + 1);
      const location = new URL(answers.find(({ status }) => status === 302)!.headers.location!);
      expect((await exchange(test, location.searchParams.get('code')!, verifier)).status).toBe(200);
    }
  });

  it('the correct verifier together with wrong ones: at most one session', async () => {
    for (let round = 0; round < rounds; round++) {
      const { arrival, verifier } = await attemptLogin(test, sub, { tenantId });
      const code = arrival.url.searchParams.get('code')!;
      const answers = await inParallel(wide, (at) => exchange(test, code, at % 2 === 0 ? verifier : 'x'.repeat(43)));
      expect(countStatuses(answers)[200] ?? 0).toBeLessThanOrEqual(1);
      expect(answers.every(({ status }) => status === 200 || status === 401)).toBe(true);
    }
  });
});

it('20 concurrent first logins of one user link one identity', async () => {
  const someone = await createSomeone();
  const answers = await inParallel(20, () => logInThrough(test, someone.sub, { tenantId }));
  expect(countStatuses(answers)).toEqual({ 200: 20 });
  const text =
    'select count(*) from account_identities i join users u on u.account_id = i.account_id where u.tenant_id = $1 and u.id = $2';
  expect(await count(text, [tenantId, someone.member.userId])).toBe(1);
});
