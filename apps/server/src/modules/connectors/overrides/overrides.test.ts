import { beforeEach, describe, expect, it } from 'vitest';

import { createGreeter, greet as greetAt, status } from '#modules/connectors/calls/testing/providers';
import {
  maskCustomerCredentials,
  mayBeSent,
  openCustomerCredentials,
  sealCustomerCredentials,
} from '#modules/connectors/overrides/customer-credentials';
import { override } from '#modules/connectors/overrides/testing/overrides';
import { patchConnector, path, storedConnector, systemTenantId } from '#modules/connectors/testing/connectors';
import { createTenant, logInSystemAdmin, unique, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

// Rules of the installation hold for all tenants, so these have a database of their own.
const test = useService({ ownDatabase: true, environment: { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' } });
let tenant: Tenant;
let system: string;

beforeEach(async () => {
  tenant = await createTenant(test);
  system = (await logInSystemAdmin(test)).token;
  await test.service.services.database.tenant(systemTenantId).interactive.batch([
    {
      kind: 'write',
      text: 'delete from operation_overrides where tenant_id = $1',
      values: [systemTenantId],
      prepare: false,
    },
    { kind: 'write', text: 'delete from connectors where tenant_id = $1', values: [systemTenantId], prepare: false },
  ]);
});

const provide = (rest: Record<string, unknown> = {}, token = tenant.admin.token) => createGreeter(test, token, rest);
const greet = (rest: Partial<Parameters<typeof greetAt>[1]> = {}) =>
  greetAt(test, { tenantId: tenant.tenantId, ...rest });
const own = (given: Parameters<typeof override>[2]) => override(test, tenant.tenantId, given);
const rule = (given: Parameters<typeof override>[2]) => override(test, systemTenantId, given);
const disabled = { status: 403, details: { code: 'OPERATION_DISABLED' } };

describe('a disabled operation', () => {
  it.each<[string, boolean, boolean]>([
    ['by the tenant', false, true],
    ['by the installation', true, false],
    ['by both', false, false],
  ])('403: %s', async (_who, ownEnabled, ruleEnabled) => {
    const one = await provide();
    await own({ enabled: ownEnabled });
    await rule({ enabled: ruleEnabled });
    await expect(greet()).rejects.toMatchObject(disabled);
    expect(one.asked).toEqual([]);
  });

  it('is disabled alone, and for that tenant only', async () => {
    await provide();
    await own({ enabled: false });
    expect((await greet({ operation: 'geocoding.reverse' })).result).toBe('hello');
    const other = await createTenant(test);
    await provide({}, other.admin.token);
    expect((await greet({ tenantId: other.tenantId })).result).toBe('hello');
  });
});

describe('the order of providers', () => {
  it("is the tenant's, then its own by priority, then the installation's", async () => {
    const shared = await provide({ priority: 1 }, system);
    const [late, early] = [await provide({ priority: 90 }), await provide({ priority: 10 })];
    const order = async () => {
      const tried: string[] = [];
      const attempt = async ({ key }: { key: string }) => {
        tried.push(key);
        return Promise.reject(new TypeError('next'));
      };
      await greet({ attempt }).catch(() => undefined);
      return tried;
    };
    expect(await order()).toEqual([early.key, late.key, shared.key]);
    await rule({ order: [late.key] });
    expect(await order()).toEqual([late.key, early.key, shared.key]);
    await own({ order: [shared.key, 'unknown-key', late.key] });
    expect(await order()).toEqual([shared.key, late.key, early.key]);
  });

  it('no longer contains a deleted connector', async () => {
    const [first, second] = [await provide(), await provide()];
    await own({ order: [first.key, second.key] });
    await test.call('DELETE', `${path}/${first.id}`, { token: tenant.admin.token });
    const [row] = await test.service.services.database.tenant(tenant.tenantId).all<{ order: string[] }>({
      kind: 'read',
      text: 'select preferred_provider_order as order from operation_overrides where tenant_id = $1',
      values: [tenant.tenantId],
      prepare: false,
    });
    expect(row!.order).toEqual([second.key]);
  });

  it('keeps the key of a deleted connector if the installation has a connector with that key, and then refers to it', async () => {
    const shared = await provide({ priority: 99 }, system);
    const first = await provide({ priority: 1 });
    const namesake = await provide({ api_key: shared.key });
    await own({ order: [shared.key] });
    expect((await greet()).provider.connectorId).toBe(namesake.id);
    await test.call('DELETE', `${path}/${namesake.id}`, { token: tenant.admin.token });
    expect((await greet()).provider.connectorId).toBe(shared.id);
    // Orders of other tenants keep names of the installation's connectors, without an effect while none exists.
    await test.call('DELETE', `${path}/${shared.id}`, { token: system });
    expect((await greet()).provider.connectorId).toBe(first.id);
    const again = await provide({ api_key: shared.key }, system);
    expect((await greet()).provider.connectorId).toBe(again.id);
  });
});

describe("credentials of a tenant's own", () => {
  it('replace those of the connector for that tenant only', async () => {
    const shared = await provide({}, system);
    await own({ credentials: { [shared.key]: { token: 'of the tenant' } } });
    const other = await createTenant(test);
    await greet();
    await greet({ tenantId: other.tenantId });
    expect(shared.asked).toEqual(['of the tenant', 'of the connector']);
  });

  it('without a key belong to the first connector of the order', async () => {
    const [first, second] = [await provide(), await provide()];
    await own({ order: [first.key], credentials: { token: 'of the tenant' } });
    first.answer(status(500));
    await greet();
    expect([first.asked, second.asked]).toEqual([['of the tenant'], ['of the connector']]);
  });

  it('never change the health state of the connector', async () => {
    const shared = await provide({}, system);
    await own({ credentials: { [shared.key]: { token: 'of the tenant' } } });
    for (const answer of [status(401), status(500), status(429, { 'retry-after': '600' })]) {
      shared.answer(answer);
      for (let at = 0; at < 6; at += 1) await greet().catch(() => undefined);
    }
    expect(await storedConnector(test, systemTenantId, shared.id)).toMatchObject({
      status: 'unknown',
      consecutive_failures: 0,
      auto_disabled: false,
      retry_at: null,
    });
  });

  it('are used even if those of the connector were refused', async () => {
    const shared = await provide({}, system);
    const backup = await provide({ priority: 100 });
    shared.answer((response, request) =>
      request.headers.authorization === 'of the tenant' ? response.end('hello') : response.writeHead(401).end(),
    );
    const other = await createTenant(test);
    for (let at = 0; at < 5; at += 1) await greet({ tenantId: other.tenantId }).catch(() => undefined);
    expect(await storedConnector(test, systemTenantId, shared.id)).toMatchObject({ auto_disabled: true });
    await own({ order: [shared.key], credentials: { [shared.key]: { token: 'of the tenant' } } });
    expect((await greet()).provider.key).toBe(shared.key);
    expect(backup.asked).toEqual([]);
  });

  it('are not sent to a new address of the connector', async () => {
    const [first, elsewhere] = [await provide(), await provide()];
    await own({ order: [first.key], credentials: { [first.key]: { token: 'canary' } } });
    const body = { api_base_url: elsewhere.url, auth_config: { token: 'of the connector' } };
    await test.call('PATCH', `${path}/${first.id}`, { token: tenant.admin.token, body });
    await greet();
    expect([...first.asked, ...elsewhere.asked]).not.toContain('canary');
  });

  it('that were stored before the connector existed are never sent to it', async () => {
    const key = unique('api');
    const backup = await provide({ priority: 100 });
    await own({ order: [key], credentials: { [key]: { token: 'canary' } } });
    const [late, elsewhere] = [await provide({ api_key: key }), await provide({ priority: 99 })];
    expect((await greet()).provider.key).not.toBe(key);
    for (const { url } of [elsewhere, backup, late]) {
      const body = { api_base_url: url, auth_config: { token: 'of the connector' } };
      expect((await patchConnector(test, tenant.admin.token, late.id, body)).status).toBe(200);
      expect((await greet()).provider.key).not.toBe(key);
    }
    expect([...late.asked, ...elsewhere.asked, ...backup.asked]).not.toContain('canary');
    // Given again they are for where it leads now.
    await own({ order: [key], credentials: { [key]: { token: 'given again' } } });
    expect((await greet()).provider.key).toBe(key);
    expect(late.asked).toEqual(['given again']);
  });

  it('that cannot be decrypted stop the call instead of falling back to those of the connector', async () => {
    const shared = await provide({}, system);
    await own({ credentials: { [shared.key]: { token: 'of the tenant' } } });
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `update operation_overrides set customer_credentials = 'v1.broken' where tenant_id = $1`,
      values: [tenant.tenantId],
      prepare: false,
    });
    await expect(greet()).rejects.toMatchObject({ status: 502 });
    expect(shared.asked).toEqual([]);
  });

  describe('stored credentials', () => {
    const overrideId = '0190a000-0000-7000-8000-0000000000ff';
    const mask = '••••••••';
    const seal = (sent: Record<string, unknown>, rest: { order?: string[]; stored?: string | null } = {}) =>
      sealCustomerCredentials(test.service.services, {
        tenantId: tenant.tenantId,
        overrideId,
        sent,
        order: [],
        stored: null,
        ...rest,
      });
    const row = (sealed: string | null) => ({ id: overrideId, customer_credentials: sealed });
    const masked = (sealed: string | null) => maskCustomerCredentials(test.service.services, row(sealed));
    const opened = (sealed: string | null) =>
      Object.entries(openCustomerCredentials(test.service.services, row(sealed))).map(([key, { credentials }]) => [
        key,
        credentials,
      ]);

    it('are encrypted, and returned masked in the form in which they were sent', async () => {
      const keyed = { deepl: { key: 'canary', region: 'eu' }, other: {} };
      const sealed = await seal(keyed);
      expect(sealed).not.toContain('canary');
      expect(masked(sealed)).toEqual({ deepl: { key: mask, region: mask }, other: {} });
      expect(opened(sealed)).toEqual(Object.entries(keyed));
      const flat = await seal({ key: 'canary' }, { order: ['deepl'] });
      expect(masked(flat)).toEqual({ key: mask });
      expect(opened(flat)).toEqual([['deepl', { key: 'canary' }]]);
      expect(await seal({})).toBeNull();
      expect(masked(null)).toEqual({});
    });

    it('keep their value if the mask is sent back', async () => {
      const sealed = await seal({ deepl: { key: 'old', region: 'eu' } });
      const changed = await seal({ deepl: { key: mask, region: 'us' } }, { stored: sealed });
      expect(opened(changed)).toEqual([['deepl', { key: 'old', region: 'us' }]]);
    });

    it('stay bound to their address while the connector is deleted and after it is created with another address', async () => {
      const key = unique('api');
      const [first, elsewhere] = [await provide({ api_key: key }), await provide()];
      const sealed = await seal({ [key]: { token: 'canary' } });
      await test.call('DELETE', `${path}/${first.id}`, { token: tenant.admin.token });
      const kept = await seal({ [key]: { token: mask } }, { stored: sealed });
      const given = openCustomerCredentials(test.service.services, row(kept))[key]!;
      expect(given.credentials).toEqual({ token: 'canary' });
      expect([mayBeSent(given, `${first.url}/v2`), mayBeSent(given, elsewhere.url)]).toEqual([true, false]);
    });

    it('are returned as empty and can be replaced if they cannot be decrypted', async () => {
      expect(masked('v1.gone')).toEqual({});
      const sealed = await seal({ deepl: { key: 'new' } }, { stored: 'v1.gone' });
      expect(opened(sealed)).toEqual([['deepl', { key: 'new' }]]);
      expect(() => opened('v1.gone')).toThrow(Error);
    });

    it('422: a mask without a stored value, or for another address', async () => {
      const required = { status: 422, details: { code: 'CREDENTIALS_REQUIRED' } };
      await expect(seal({ deepl: { key: mask } })).rejects.toMatchObject(required);
      const key = unique('api');
      const { id } = await provide({ api_key: key });
      const sealed = await seal({ [key]: { token: 'old' } });
      const body = { api_base_url: 'https://other.example.com', auth_config: null };
      await test.call('PATCH', `${path}/${id}`, { token: tenant.admin.token, body });
      await expect(seal({ [key]: { token: mask } }, { stored: sealed })).rejects.toMatchObject(required);
      const flat = await seal({ token: 'old' }, { order: ['one'] });
      await expect(seal({ token: mask }, { order: ['two'], stored: flat })).rejects.toMatchObject(required);
    });
  });
});
