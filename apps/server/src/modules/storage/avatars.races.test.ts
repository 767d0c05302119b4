import { beforeAll, expect, it, vi } from 'vitest';

import { expectSettled, upload, webp } from '#modules/storage/testing/uploads';
import { createMember, createTenant, type Person, type Tenant } from '#test/support/factories';
import { useService, type Answer } from '#test/support/harness';

const test = useService();
let tenant: Tenant;
let member: Person;
let url: string;

beforeAll(async () => {
  tenant = await createTenant(test);
  member = await createMember(test, tenant);
  url = `/api/v1/secure/users/${member.userId}/avatar`;
});

const put = (filling: string) =>
  upload(test, webp(filling), { token: member.token, url, type: 'image/webp', method: 'PUT' });
const remove = () => test.call('DELETE', url, { token: member.token });
const statusesOf = (answers: readonly Answer[]) => new Set(answers.map(({ status }) => status));

it('concurrent replacements and deletions of an avatar leave correct counters, 10 times', async () => {
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, at) => (at % 4 === 3 ? remove() : put('VP8 '.padEnd(4 + at, 'x')))),
    );
    for (const status of statusesOf(answers)) expect([200, 204, 404, 409]).toContain(status);
    await remove();
    await vi.waitFor(() => expectSettled(test, tenant, []), { timeout: 30_000 });
  }
});
