import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { Service } from '#app/service';
import { findAccountByEmail } from '#modules/auth/accounts/accounts.queries';
import { accountPlace, openPasswordHash } from '#modules/auth/passwords/stored-password';
import { post, statusOf } from '#modules/auth/testing/steps';
import { createMember, createTenant, type Tenant } from '#test/support/factories';
import { startService, useService } from '#test/support/harness';

// Hashes many passwords, on threads that other work of the machine precedes.
vi.setConfig({ testTimeout: 120_000 });

// The default configuration.
const environment = { PASSWORD_MEMORY_KIB: '19456' };
const test = useService({ environment });
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

async function readStored(email: string) {
  const { database, encryption } = test.service.services;
  const account = await database.credential().first(findAccountByEmail({ email }));
  const { id, password_hash: sealed } = account!;
  return { sealed: sealed!, hash: openPasswordHash({ encryption }, accountPlace(id), sealed)! };
}

describe('a stored password', () => {
  it('is an encrypted argon2id hash, bound to its account', async () => {
    const { sealed, hash } = await readStored((await createMember(test, tenant)).email);
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]+\.[\w-]+$/);
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(() => openPasswordHash(test.service.services, accountPlace(tenant.admin.userId), sealed)).toThrow(Error);
  });

  it('that was copied to another account does not work there', async () => {
    const [known, victim] = [await createMember(test, tenant), await createMember(test, tenant)];
    await test.service.services.database.credential().interactive.all({
      kind: 'write',
      text: 'update accounts set password_hash = (select password_hash from accounts where email = $1) where email = $2',
      values: [known.email, victim.email],
      prepare: false,
    });
    const { status, body } = await post(test, 'login', { email: victim.email, password: known.password });
    expect({ status, error: body.error }).toEqual({ status: 500, error: 'INTERNAL_ERROR' });
  });
});

describe('after PASSWORD_PASSES was raised', () => {
  let stricter: Service;

  beforeAll(async () => {
    stricter = await startService({ environment: { ...environment, PASSWORD_PASSES: '3' } });
  });
  afterAll(() => stricter.close());

  it('a login renews the stored hash, and changes nothing else', async () => {
    const { email, password, token } = await createMember(test, tenant);
    const before = await readStored(email);
    const login = { method: 'POST', url: '/api/v1/public/auth/login', payload: { email, password } } as const;
    expect((await stricter.http.inject(login)).statusCode).toBe(200);
    const after = await readStored(email);
    expect([before.hash, after.hash].map((hash) => hash.split('$')[3])).toEqual(['m=19456,t=2,p=1', 'm=19456,t=3,p=1']);
    expect((await stricter.http.inject(login)).statusCode).toBe(200);
    expect((await readStored(email)).sealed).toBe(after.sealed);
    expect((await post(test, 'login', { email, password })).status).toBe(200);
    expect(await statusOf(test, token)).toBe(200);
  });

  it('concurrent logins all succeed, and one of them stores it', async () => {
    const { email, password } = await createMember(test, tenant);
    const login = { method: 'POST', url: '/api/v1/public/auth/login', payload: { email, password } } as const;
    const answers = await Promise.all(Array.from({ length: 4 }, () => stricter.http.inject(login)));
    expect(answers.map((answer) => answer.statusCode)).toEqual([200, 200, 200, 200]);
  });

  it('a refused login stores nothing', async () => {
    const { email } = await createMember(test, tenant);
    const before = await readStored(email);
    const payload = { email, password: 'wrong horse' };
    const answer = await stricter.http.inject({ method: 'POST', url: '/api/v1/public/auth/login', payload });
    expect(answer.statusCode).toBe(401);
    expect((await readStored(email)).sealed).toBe(before.sealed);
  });
});
