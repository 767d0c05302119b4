import { beforeAll, describe, expect, it, vi } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { apiKeys, createKey, patchKey, rotateKey, statusOfKey, toIssuedKey } from '#modules/api-keys/testing/keys';
import { auditOf, countStatuses, createClock, day, inParallel, minute } from '#modules/auth/testing/steps';
import { createTenant, logIn, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const clock = createClock();
const test = useService({ now: clock.now });
const previousUntil = 'x-previous-key-valid-until';
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

const rotate = (id: string, graceSeconds?: number) => rotateKey(test, tenant, id, graceSeconds);
const endPrevious = (id: string, token = tenant.admin.token) =>
  test.call('DELETE', `${apiKeys}/${id}/previous-secret`, { token });

describe('rotateApiKey', () => {
  it('200: a new secret for the same key; the old one is revoked at once', async () => {
    const before = await createKey(test, tenant.admin);
    expect(await statusOfKey(test, before.fullKey)).toBe(200);
    const rotated = await rotate(before.id);
    expect(rotated.status).toBe(200);
    expect(Object.keys(rotated.body)).toEqual(['data', 'fullKey', 'message']);
    expect(rotated.headers[previousUntil]).toBeUndefined();
    const after = toIssuedKey(rotated);
    expect(after).toEqual({ ...before, fullKey: expect.any(String) });
    expect(after.fullKey).not.toBe(before.fullKey);
    expect(rotated.body.data.key_preview.slice(-4)).toBe(after.fullKey.slice(-4));
    expect(await statusOfKey(test, before.fullKey)).toBe(401);
    expect(await statusOfKey(test, after.fullKey)).toBe(200);
    const [entry] = await auditOf(test, tenant.admin, 'api_key.rotated');
    expect(entry!.resource_id).toBe(before.id);
  });

  it.each<[string, { body?: unknown; headers?: Record<string, string> }]>([
    ['an empty object', { body: {} }],
    ['no body', {}],
    ['no body, but its content type', { headers: { 'content-type': 'application/json' } }],
  ])('200: with %s', async (_what, call) => {
    const { id } = await createKey(test, tenant.admin);
    const answer = await test.call('POST', `${apiKeys}/${id}/rotate`, { token: tenant.admin.token, ...call });
    expect(answer.status).toBe(200);
  });

  it.each([{ grace_seconds: 60 }, [], 'text'])('400: with the body %j', async (body) => {
    const { id } = await createKey(test, tenant.admin);
    const payload = JSON.stringify(body);
    const headers = { 'content-type': 'application/json' };
    const token = tenant.admin.token;
    expectError(
      await test.call('POST', `${apiKeys}/${id}/rotate`, { token, body: payload, headers }),
      400,
      'VALIDATION_ERROR',
    );
  });

  it('200: with a grace period, the previous secret is valid until the time in the header', async () => {
    const before = await createKey(test, tenant.admin);
    const rotated = await rotate(before.id, 60);
    expect(rotated.status).toBe(200);
    const until = Date.parse(rotated.headers[previousUntil]!);
    expect(until - Date.parse(rotated.body.data.updated_at)).toBe(minute);
    const after = toIssuedKey(rotated);
    clock.advance(until - clock.now().getTime() - 1000);
    for (let call = 0; call < 3; call++) {
      expect(await statusOfKey(test, before.fullKey)).toBe(200);
      expect(await statusOfKey(test, after.fullKey)).toBe(200);
    }
    clock.advance(1000);
    expect(await statusOfKey(test, before.fullKey)).toBe(401);
    expect(await statusOfKey(test, after.fullKey)).toBe(200);
  });

  it('200: the longest grace period is a week', async () => {
    const own = await createTenant(test);
    const before = await createKey(test, own.admin);
    expect((await rotateKey(test, own, before.id, 604_800)).status).toBe(200);
    clock.advance(7 * day - minute);
    expect(await statusOfKey(test, before.fullKey)).toBe(200);
    clock.advance(minute);
    expect(await statusOfKey(test, before.fullKey)).toBe(401);
    tenant.admin = await logIn(test, tenant.admin);
  });

  it.each([-1, 604_801, 1.5, '1e400', 'x', ''])('400: grace_seconds=%s', async (seconds) => {
    const { id } = await createKey(test, tenant.admin);
    const url = `${apiKeys}/${id}/rotate?grace_seconds=${seconds}`;
    expectError(await test.call('POST', url, { token: tenant.admin.token }), 400, 'VALIDATION_ERROR');
  });

  it('only the latest previous secret has a grace period', async () => {
    const first = await createKey(test, tenant.admin);
    const second = toIssuedKey(await rotate(first.id, 60));
    const third = toIssuedKey(await rotate(first.id, 60));
    expect(await statuses(first, second, third)).toEqual([401, 200, 200]);
    const fourth = toIssuedKey(await rotate(first.id));
    expect(await statuses(first, second, third, fourth)).toEqual([401, 401, 401, 200]);
    expect(await previousHashOf(first.id)).toBeNull();
  });

  it('a disabled, expired or deleted key has no valid previous secret', async () => {
    const first = await createKey(test, tenant.admin, {
      expires_at: new Date(clock.now().getTime() + minute).toISOString(),
    });
    const second = toIssuedKey(await rotate(first.id, 3600));
    expect(await statuses(first, second)).toEqual([200, 200]);
    await patchKey(test, tenant, first.id, { enabled: false });
    expect(await statuses(first, second)).toEqual([401, 401]);
    await patchKey(test, tenant, first.id, { enabled: true });
    expect(await statuses(first, second)).toEqual([200, 200]);
    clock.advance(minute);
    expect(await statuses(first, second)).toEqual([401, 401]);
  });

  it('keeps all other fields of the key', async () => {
    const body = { description: 'x', ip_whitelist: ['127.0.0.0/8'], device_fingerprint: 'reader 7' };
    const { id } = await createKey(test, tenant.admin, body);
    await patchKey(test, tenant, id, { mcp_write_enabled: true, enabled: false });
    const { body: before } = await test.call('GET', `${apiKeys}/${id}`, { token: tenant.admin.token });
    const { data } = (await rotate(id)).body;
    expect(data).toEqual({ ...before.data, key_preview: data.key_preview, updated_at: data.updated_at });
  });

  it('404: unknown, of another tenant', async () => {
    const stranger = await createTenant(test);
    const { id, fullKey } = await createKey(test, tenant.admin);
    expectError(await rotate(newId()), 404, 'NOT_FOUND');
    expectError(await rotateKey(test, stranger, id), 404, 'NOT_FOUND');
    expect(await statusOfKey(test, fullKey)).toBe(200);
  });

  it('50 concurrent rotations leave one valid secret, with a grace period two, 20 times', async () => {
    const { id } = await createKey(test, tenant.admin);
    for (let round = 0; round < 20; round++) {
      const grace = round % 2 === 0 ? 0 : 600;
      const answers = await inParallel(50, () => rotate(id, grace));
      expect(countStatuses(answers)).toEqual({ 200: 50 });
      const ends = await Promise.all(answers.map(({ body }) => statusOfKey(test, body.fullKey)));
      const alive = answers.filter((_, at) => ends[at] === 200);
      expect(alive).toHaveLength(grace === 0 ? 1 : 2);
      const { body } = await test.call('GET', `${apiKeys}/${id}`, { token: tenant.admin.token });
      expect(alive.filter((answer) => isCurrent(answer, body.data.key_preview))).toHaveLength(1);
    }
  });
});

describe('deletePreviousSecret', () => {
  it('204: ends the grace period at once', async () => {
    const first = await createKey(test, tenant.admin);
    const second = toIssuedKey(await rotate(first.id, 60));
    expect(await statuses(first, second)).toEqual([200, 200]);
    const ended = await endPrevious(first.id);
    expect([ended.status, ended.text]).toEqual([204, '']);
    expect(await statuses(first, second)).toEqual([401, 200]);
    const [entry] = await auditOf(test, tenant.admin, 'api_key.previous_secret_revoked');
    expect(entry!.resource_id).toBe(first.id);
  });

  it('404: no previous secret, or an expired one', async () => {
    const { id } = await createKey(test, tenant.admin);
    expectError(await endPrevious(id), 404, 'NOT_FOUND');
    await rotate(id);
    expectError(await endPrevious(id), 404, 'NOT_FOUND');
    await rotate(id, 60);
    clock.advance(minute);
    expectError(await endPrevious(id), 404, 'NOT_FOUND');
    await rotate(id, 60);
    expect((await endPrevious(id)).status).toBe(204);
    expectError(await endPrevious(id), 404, 'NOT_FOUND');
  });

  it('404: unknown, of another tenant', async () => {
    const stranger = await createTenant(test);
    const first = await createKey(test, tenant.admin);
    await rotate(first.id, 60);
    expectError(await endPrevious(newId()), 404, 'NOT_FOUND');
    expectError(await endPrevious(first.id, stranger.admin.token), 404, 'NOT_FOUND');
    expect(await statuses(first)).toEqual([200]);
  });

  it('exactly one of 50 concurrent requests, 20 times', async () => {
    const { id } = await createKey(test, tenant.admin);
    for (let round = 0; round < 20; round++) {
      await rotate(id, 600);
      expect(countStatuses(await inParallel(50, () => endPrevious(id)))).toEqual({ 204: 1, 404: 49 });
    }
  });
});

function statuses(...keys: { fullKey: string }[]): Promise<number[]> {
  return Promise.all(keys.map(({ fullKey }) => statusOfKey(test, fullKey)));
}

function isCurrent({ body }: Answer, preview: string): boolean {
  return body.data.key_preview === preview;
}

async function previousHashOf(id: string): Promise<string | null> {
  const query = {
    kind: 'read' as const,
    text: 'select previous_secret_hash from api_keys where id = $1',
    values: [id],
    prepare: false,
  };
  const row = await test.service.services.database
    .tenant(tenant.tenantId)
    .first<{ previous_secret_hash: string | null }>(query);
  return row!.previous_secret_hash;
}
