import { expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createAddressRules } from '#core/platform/limits/address-rules';
import { withClient } from '#test/support/database';
import { uniqueAddress } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();

it('rules that could not be read are read again until that succeeds', async () => {
  const range = uniqueAddress();
  await withClient(test.connection, (client) =>
    client.query(
      `insert into ip_rules (id, range, action, source, created_at, updated_at) values ($1, $2, 'block', 'manual', now(), now())`,
      [newId(), range],
    ),
  );
  const { database, log } = test.service.services;
  let failures = 2;
  const all = (query: Parameters<ReturnType<typeof database.platform>['interactive']['all']>[0]) => {
    failures -= 1;
    return failures >= 0 ? Promise.reject(new Error('away')) : database.platform().interactive.all(query);
  };
  const flaky = { ...database, platform: () => ({ interactive: { all } }) } as unknown as typeof database;
  const rules = createAddressRules({ database: flaky, log, now: () => new Date(), retryMs: 1 });
  await rules.reload();
  expect(rules.isBlocked(range)).toBe(false);
  await vi.waitFor(() => expect(rules.isBlocked(range)).toBe(true), { timeout: 30_000 });
  await rules.close();
});
