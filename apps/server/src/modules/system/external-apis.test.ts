import { beforeAll, describe, expect, it } from 'vitest';

import type { Services } from '#core/platform/services';
import { countExternalApis } from '#modules/system/external-apis';
import { withClient } from '#test/support/database';
import { createTenant, type Tenant } from '#test/support/factories';
import { testServiceOf, startService, useService } from '#test/support/harness';

const test = useService({ ownDatabase: true });
let tenants: Tenant[];

beforeAll(async () => {
  tenants = [await createTenant(test), await createTenant(test)];
});

async function connect(tenant: Tenant, apiKey: string, part: Record<string, unknown> = {}): Promise<void> {
  const body = { api_key: apiKey, api_name: apiKey, api_base_url: 'https://api.example.com', ...part };
  const answer = await test.call('POST', '/api/v1/secure/ai/providers', {
    token: tenant.admin.token,
    body,
  });
  expect(answer.status).toBe(201);
}

describe('external APIs in health', () => {
  it('are the connectors of all tenants, by status', async () => {
    await connect(tenants[0]!, 'first');
    await connect(tenants[1]!, 'second');
    await connect(tenants[1]!, 'third', { enabled: false });
    await withClient(test.connection, (client) =>
      client.query(`update connectors set status = 'offline' where api_key = 'second'`),
    );
    const fresh = await startService({ connection: test.connection });
    try {
      const { body } = await testServiceOf(fresh, test.connection).call('GET', '/api/v1/system/health?level=full');
      expect(body.externalApis).toEqual({ total: 3, active: 2, statusBreakdown: { unknown: 2, offline: 1 } });
    } finally {
      await fresh.close();
    }
  });

  it('are counted once for concurrent requests', async () => {
    let asked = 0;
    const all = () => {
      asked += 1;
      return Promise.resolve([{ status: 'active', total: 2, active: 1 }]);
    };
    const services = { database: { platform: () => ({ interactive: { all } }) } } as unknown as Services;
    const answers = await Promise.all(Array.from({ length: 200 }, () => countExternalApis(services)));
    expect(asked).toBe(1);
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toEqual({ total: 2, active: 1, statusBreakdown: { active: 2 } });
  });

  it('are empty if the count fails, and are counted again the next time', async () => {
    let asked = 0;
    const all = () => {
      asked += 1;
      return Promise.reject(new Error('frozen'));
    };
    const services = { database: { platform: () => ({ interactive: { all } }) } } as unknown as Services;
    expect(await countExternalApis(services)).toEqual({ total: 0, active: 0, statusBreakdown: {} });
    await countExternalApis(services);
    expect(asked).toBe(2);
  });
});
