import { beforeEach, describe, expect, it } from 'vitest';

import { systemTenantId } from '#core/base/access/principal';
import { forgetMarks } from '#modules/translation/entities/marks.queries';
import { createTenantOf, environment, path } from '#modules/translation/testing/tenants';
import { provideTranslator } from '#modules/translation/testing/translator';
import { forgetTranslations } from '#modules/translation/translation.jobs';
import { create, paths } from '#test/support/directory';
import { createMember, createTenant, logIn, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

let ahead = 0;
// The configuration of the installation and its overrides are changed here, so no other test may share it.
const test = useService({ ownDatabase: true, environment, now: () => new Date(Date.now() + ahead) });
let tenant: Tenant;
let member: Call;
let translator: Awaited<ReturnType<typeof provideTranslator>>;

beforeEach(async () => {
  tenant = await createTenantOf(test);
  member = { token: (await createMember(test, tenant)).token };
  translator = await provideTranslator(test, tenant);
});

const translate = (text = 'Hall', by = member) =>
  test.call('POST', `${path}/text`, { ...by, body: { text, source_language: 'en', target_language: 'de' } });
const isCached = async (text?: string) => (await translate(text)).body.data.cached as boolean;

async function configure(body: object): Promise<void> {
  const { token } = await logInSystemAdmin(test);
  const answer = await test.call('PATCH', '/api/v1/system/security/config', { token, body });
  expect(answer).toMatchObject({ status: 200 });
  ahead += 1000;
}

async function override(tenantId: string, enabled: boolean): Promise<void> {
  await test.service.services.database.tenant(tenantId).interactive.all({
    kind: 'write',
    text: `insert into operation_overrides (tenant_id, id, operation_key, enabled, created_at, updated_at)
           values ($1, uuidv7(), 'translation.text', $2, now(), now())
           on conflict (tenant_id, operation_key) do update set enabled = excluded.enabled`,
    values: [tenantId, enabled],
    prepare: false,
  });
}

const day = 24 * 60 * 60_000;

const countOf = async (table: 'translation_memory' | 'translation_marks', { tenantId }: Tenant): Promise<number> => {
  const text = `select count(*) as count from ${table} where tenant_id = $1`;
  const db = test.service.services.database.tenant(tenantId);
  return (await db.first<{ count: number }>({ kind: 'read', text, values: [tenantId], prepare: false }))!.count;
};
const cleanUp = () => forgetTranslations(test.service.services, new AbortController().signal);

describe('a remembered translation', () => {
  it('is forgotten after thirty days', async () => {
    const person = await createMember(test, tenant);
    const isCachedAfter = async (days: number) => {
      ahead += days * day;
      const { token } = await logIn(test, person);
      return (await translate('Hall', { token })).body.data.cached;
    };
    expect([await isCachedAfter(0), await isCachedAfter(29), await isCachedAfter(2)]).toEqual([false, true, false]);
  });

  it.each(['a connector of the tenant', 'a connector of the installation'])(
    'is not used after a change of %s that made it',
    async (whose) => {
      const admin = { token: tenant.admin.token };
      const owner = whose === 'a connector of the tenant' ? admin : { token: (await logInSystemAdmin(test)).token };
      const change = (id: string, method: 'PATCH' | 'POST' | 'DELETE', rest = '', body?: object) =>
        test.call(method, `/api/v1/secure/ai/providers/${id}${rest}`, {
          ...owner,
          ...(body === undefined ? {} : { body }),
        });
      await test.call('DELETE', `/api/v1/secure/ai/providers/${translator.connectorId}`, admin);
      const { connectorId: id } = await provideTranslator(test, { admin: owner as Tenant['admin'] });
      ahead += 1000;
      expect([await isCached(), await isCached()]).toEqual([false, true]);
      await change(id, 'PATCH', '', { config: { adapter: 'libretranslate', languages: ['en', 'de'] } });
      ahead += 1000;
      expect([await isCached(), await isCached()]).toEqual([false, true]);
      await change(id, 'POST', '/disable');
      ahead += 1000;
      expectError(await translate(), 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
      await change(id, 'POST', '/enable');
      ahead += 1000;
      expect([await isCached(), await isCached()]).toEqual([false, true]);
      await change(id, 'DELETE');
      ahead += 1000;
      expectError(await translate(), 503, 'SERVICE_UNAVAILABLE', 'NO_PROVIDER');
    },
  );

  it('is neither used nor stored while caches are disabled', async () => {
    expect(await isCached()).toBe(false);
    await configure({ cache_enabled: false });
    expect(await isCached()).toBe(false);
    expect(await isCached('Foyer')).toBe(false);
    await configure({ cache_enabled: true });
    expect(await isCached('Foyer')).toBe(false);
    expect(await isCached('Foyer')).toBe(true);
  });

  it('is cached by the process after a read, for each tenant separately', async () => {
    const other = await createTenantOf(test);
    await provideTranslator(test, other);
    expect([await isCached(), await isCached()]).toEqual([false, true]);
    const { tenantId } = tenant;
    const text = 'delete from translation_memory where tenant_id = $1';
    await test.service.services.database
      .tenant(tenantId)
      .interactive.all({ kind: 'write', text, values: [tenantId], prepare: false });
    expect(await isCached()).toBe(true);
    const theirs = await translate('Hall', { token: other.admin.token });
    expect(theirs).toMatchObject({ status: 200, body: { data: { cached: false } } });
  });

  it('counts as a cache hit of the provider that made it', async () => {
    await translate();
    await translate();
    await translate();
    await test.service.services.callLog.flush();
    const row = await test.service.services.database.tenant(tenant.tenantId).first<Record<string, unknown>>({
      kind: 'read',
      text: 'select operation_key, cache_hits, successes from provider_call_hours where tenant_id = $1',
      values: [tenant.tenantId],
      prepare: false,
    });
    expect(row).toEqual({ operation_key: 'translation.text', cache_hits: 2, successes: 1 });
  });

  it('is not returned if the operation is disabled', async () => {
    expect(await isCached()).toBe(false);
    await override(tenant.tenantId, false);
    ahead += 1000;
    expectError(await translate(), 403, 'AUTHORIZATION_ERROR', 'OPERATION_DISABLED');
    await override(tenant.tenantId, true);
    ahead += 1000;
    expect(await isCached()).toBe(true);
    await override(systemTenantId, false);
    ahead += 1000;
    expectError(await translate(), 403, 'AUTHORIZATION_ERROR', 'OPERATION_DISABLED');
    await override(systemTenantId, true);
    ahead += 1000;
    expect(await isCached()).toBe(true);
    expect(translator.requests).toHaveLength(1);
  });

  it('is purged at the maximum age or number, oldest first', async () => {
    const other = await createTenant(test);
    await provideTranslator(test, other);
    await translate('Hall', { token: other.admin.token });
    ahead += 31 * day;
    await configure({ cache_max_entries: 100 });
    await test.service.services.database.tenant(tenant.tenantId).interactive.all({
      kind: 'write',
      text: `insert into translation_memory (tenant_id, key, translation, provider, created_at)
             select $1, sha256(n::text::bytea), n, 'x', $2::timestamptz + n * interval '1 millisecond'
             from generate_series(1, 150) n`,
      values: [tenant.tenantId, new Date(Date.now() + ahead).toISOString()],
      prepare: false,
    });
    await cleanUp();
    expect([await countOf('translation_memory', tenant), await countOf('translation_memory', other)]).toEqual([100, 0]);
    const kept = await test.service.services.database.tenant(tenant.tenantId).all<{ translation: string }>({
      kind: 'read',
      text: 'select translation from translation_memory where tenant_id = $1 order by translation::integer limit 1',
      values: [tenant.tenantId],
      prepare: false,
    });
    expect(kept).toEqual([{ translation: '51' }]);
    await configure({ cache_max_entries: 50_000 });
  });

  it('is skipped by the purge while another request writes it', async () => {
    await isCached();
    ahead += 31 * day;
    const { tenantId } = tenant;
    await test.service.services.database.tenant(tenantId).transaction(async (tx) => {
      const text = 'select from translation_memory where tenant_id = $1 for update';
      await tx.all({ kind: 'write', text, values: [tenantId], prepare: false });
      await cleanUp();
    });
    expect(await countOf('translation_memory', tenant)).toBe(1);
    await cleanUp();
    expect(await countOf('translation_memory', tenant)).toBe(0);
  });
});

describe('marks', () => {
  it.each([
    ['space', 'spaces'],
    ['resource', 'resources'],
    ['tag', 'tags'],
    ['category', 'categories'],
  ] as const)('of a %s go after it, and no others', async (type, collection) => {
    const admin = { token: tenant.admin.token };
    const [gone, kept] = [await create(test, admin, collection), await create(test, admin, collection)];
    for (const { id } of [gone, kept])
      await test.call('POST', `${path}/entity`, { ...admin, body: { entity_type: type, entity_id: id } });
    expect(await countOf('translation_marks', tenant)).toBe(4);
    expect((await test.call('DELETE', `${paths[collection]}/${gone.id}`, admin)).status).toBe(204);
    const db = test.service.services.database.tenant(tenant.tenantId).interactive;
    expect(await db.all(forgetMarks[type]({ tenantId: tenant.tenantId, max: 1 }))).toHaveLength(1);
    await cleanUp();
    expect(await countOf('translation_marks', tenant)).toBe(2);
    const { body } = await test.call('GET', `${path}/marks?entity_type=${type}&entity_id=${kept.id}`, admin);
    expect(body.data).toHaveLength(2);
  });
});
