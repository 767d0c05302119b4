import fc from 'fast-check';
import { beforeAll, expect, it, vi } from 'vitest';

import { errorStatus } from '#core/base/errors/app-error';
import type { Route } from '#core/http/route';
import { anyText, bodyFor, percent, queryFor } from '#test/support/arbitrary';
import type { JsonSchema } from '#test/support/bad-input';
import { valueAt } from '#test/support/everything';
import { createMember, createTenant, logInSystemAdmin, type Tenant } from '#test/support/factories';
import { useService } from '#test/support/harness';
import { routes, urlOf } from '#test/support/registry';
import { refusalOf } from '#test/support/rpc';
import { createRecords, sampleContext, type Ids } from '#test/support/samples';

// It takes seconds even on a quiet machine.
vi.setConfig({ testTimeout: 120_000 });

const test = useService({
  ownDatabase: true,
  environment: { DISPATCHER_SECRET: 'unknown to the callers in these tests' },
});

// A password hash is meant to be slow, so operations that make one get fewer cases.
const hashing = new Set([
  'login',
  'register',
  'createUser',
  'changePassword',
  'resetPassword',
  'acceptInvitation',
  'createAppAccount',
  'setAppAccountPassword',
  'regenerateAppAccountPassword',
]);
/** Where there is nothing to vary but the id in the path, or nothing at all, more of them would be the same again. */
function casesPerRoute({ operationId, schema: { body, query, params } }: Route): number {
  if (hashing.has(operationId)) return 20;
  if (body !== undefined || query !== undefined) return 100;
  return params === undefined ? 5 : 40;
}

let tenant: Tenant;
// What it is set to, and the sessions that it begins, would shut out those who try the other operations.
let changed: Tenant;
const ofChangedTenant = new Set(['getTenant', 'updateTenant', 'switchTenant']);
let systemAdmin: string;
let known: Record<string, string[]>;
let records: { kept: Ids; spare: Ids };

beforeAll(async () => {
  tenant = await createTenant(test);
  changed = await createTenant(test);
  systemAdmin = (await logInSystemAdmin(test)).token;
  // More is tried here, and faster, than one address may ask for.
  const unlimited = { dos_enabled: false };
  await test.call('PATCH', '/api/v1/system/security/config', { token: systemAdmin, body: unlimited });
  records = { kept: await createSpareRecords(), spare: await createSpareRecords() };
  known = { uuid: [...Object.values(records.kept), tenant.tenantId], email: [tenant.admin.email] };
});

/** A record of each kind, without the session that the test uses. */
async function createSpareRecords(): Promise<Ids> {
  const { session: _own, ...ids } = await createRecords(sampleContext(test, tenant), 'sample');
  return { ...ids, tenant: changed.tenantId, user: (await createMember(test, tenant)).userId };
}

type Case = { params: string; query: string; body: unknown; contentType: string };

function caseFor(route: Route): fc.Arbitrary<Case> {
  const plain = (schema: unknown) => JSON.parse(JSON.stringify(schema)) as JsonSchema;
  const { query, body } = route.schema;
  const name = /\{(\w+)\}/.exec(route.path)?.[1] ?? '';
  // What is deleted is not what the other operations are tried on.
  const ids = route.method === 'DELETE' ? records.spare : records.kept;
  const existing = valueAt(`${route.operationId} params.${name}`, ids) ?? records.kept.contact!;
  return fc.record({
    params: fc.oneof(
      { weight: 6, arbitrary: fc.constant(existing) },
      { weight: 1, arbitrary: fc.constantFrom(...known.uuid!) },
      { weight: 1, arbitrary: fc.uuid() },
      { weight: 1, arbitrary: anyText.map((text) => percent(text) || '-') },
    ),
    query: queryFor(query === undefined ? undefined : plain(query), known),
    body: body === undefined ? fc.constant(undefined) : bodyFor(plain(body), known),
    contentType: fc.constantFrom(
      'application/json',
      'application/json',
      'application/json',
      'application/json; charset=utf-8',
      'text/plain',
    ),
  });
}

/** The violation in an answer to any input; undefined without one. */
function fault(status: number, contentType: string, text: string, isBrief = false): string | undefined {
  // Operations that need an outside provider are refused without one.
  const isUnprovided = status === 503 && text.includes('"code":"NO_PROVIDER"');
  if (status >= 500 && !isUnprovided) return `answered ${status}: ${text}`;
  if (status < 400) return undefined;
  if (contentType !== 'application/json; charset=utf-8') return `content type ${contentType}`;
  const body = JSON.parse(text) as Record<string, unknown>;
  if (isBrief) return Object.keys(body).join() === 'error,message' ? undefined : `not the brief body: ${text}`;
  return isStandard(status, body) ? undefined : `not the standard body: ${text}`;
}

function isStandard(status: number, body: Record<string, unknown>): boolean {
  const { error, message, statusCode, requestId, details, timestamp, ...rest } = body;
  return (
    statusCode === status &&
    errorStatus[error as 'CONFLICT'] === status &&
    typeof message === 'string' &&
    typeof requestId === 'string' &&
    typeof details === 'object' &&
    typeof timestamp === 'string' &&
    Object.keys(rest).length === 0
  );
}

async function send(route: Route, { params, query, body, contentType }: Case): Promise<string | undefined> {
  // Without a session there is nothing to end, so the fuzzer stays logged in.
  const isAnonymous = route.access.kind === 'public' || route.access.kind === 'optional';
  const { admin } = ofChangedTenant.has(route.operationId) ? changed : tenant;
  const token = route.access.kind === 'systemAdmin' ? systemAdmin : admin.token;
  const response = await test.raw({
    method: route.method,
    url: `${urlOf(route, params)}${query === '' ? '' : `?${query}`}`,
    headers: {
      ...(isAnonymous ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': contentType }),
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  const { statusCode, headers: answered, payload: text } = response;
  const told = route.hasRpcErrors && statusCode >= 400 ? JSON.stringify(refusalOf(route, JSON.parse(text))) : text;
  const found = fault(statusCode, String(answered['content-type']), told, route.hasBriefErrors);
  // An answer that does not fit its schema comes out as 500, because the harness throws where it is made.
  return found === undefined ? undefined : `${route.operationId}: ${found}`;
}

it.each(routes.map((route) => [route.operationId, route] as const))(
  '%s never breaks and always refuses in the standard body',
  async (_name, route) => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(caseFor(route), async (input) => {
        expect(await send(route, input)).toBeUndefined();
        accepted += 1;
      }),
      // A failure prints its seed and path; put both here to repeat it.
      { numRuns: casesPerRoute(route), verbose: 1 },
    );
    expect(accepted).toBe(casesPerRoute(route));
  },
);

it('leaves Object.prototype unchanged', () => {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as Record<string, unknown>).isTenantAdmin).toBeUndefined();
});

it('the gate itself: finds a failure and prints the seed that reproduces it', async () => {
  expect(fault(500, '', 'x')).toContain('500');
  expect(fault(404, 'text/plain', '{}')).toContain('content type');
  expect(fault(404, 'application/json; charset=utf-8', '{"error":"NOT_FOUND"}')).toContain('standard body');
  const planted = fc.assert(
    fc.asyncProperty(fc.integer(), (value) =>
      Promise.resolve(expect(fault(value > 100 ? 500 : 200, '', '')).toBeUndefined()),
    ),
  );
  await expect(planted).rejects.toThrow(/seed: -?\d+/);
});
