import { describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { TooManyFailures } from '#modules/auth/auth.errors';
import { loginAttempt } from '#modules/auth/login/rate-limits';
import { createClock, minute, newEmail } from '#modules/auth/testing/steps';
import { useService } from '#test/support/harness';

const clock = createClock();
const test = useService({ now: clock.now });

const attempt = (email: string, ip = '127.0.0.1') =>
  loginAttempt(test.service.services, { email }, ip, TooManyFailures);

async function isAdmitted(email: string, ip?: string): Promise<boolean> {
  return attempt(email, ip)
    .admit()
    .then(
      () => true,
      () => false,
    );
}

async function refund(taken: ReturnType<typeof attempt>): Promise<void> {
  await test.service.services.database.credential().interactive.batch(taken.refund());
}

describe('an attempt', () => {
  it('is counted exactly once, for any number of concurrent requests', async () => {
    const email = newEmail();
    const admitted = await Promise.all(Array.from({ length: 100 }, () => isAdmitted(email)));
    expect(admitted.filter(Boolean)).toHaveLength(10);
  });

  it('can be given back', async () => {
    const email = newEmail();
    for (let count = 0; count < 30; count++) {
      const taken = attempt(email);
      await taken.admit();
      await refund(taken);
    }
    expect(await isAdmitted(email)).toBe(true);
  });

  it('is not given back to a later window', async () => {
    const email = newEmail();
    const taken = attempt(email);
    await taken.admit();
    clock.advance(15 * minute);
    for (let count = 0; count < 10; count++) expect(await isAdmitted(email)).toBe(true);
    await refund(taken);
    expect(await isAdmitted(email)).toBe(false);
  });

  it('counts against no limit if one of them is reached', async () => {
    const email = newEmail();
    const ip = '203.0.113.60';
    while (await isAdmitted(email, ip));
    for (let count = 0; count < 200; count++) expect(await isAdmitted(email, ip)).toBe(false);
    expect(await isAdmitted(newEmail(), ip)).toBe(true);
  });

  it('stores no address in the table', async () => {
    const email = `${newId()}@person.example`;
    await attempt(email).admit();
    const rows = await test.service.services.database.credential().all({
      kind: 'read',
      text: 'select key from rate_limits where key like $1',
      values: [`%${email}%`],
      prepare: false,
    });
    expect(rows).toEqual([]);
  });
});
