import { beforeAll, describe, expect, it } from 'vitest';

import { access } from '#core/base/access/access';
import { newId } from '#core/base/crypto/ids';
import { IdParams, Uuid, closed } from '#core/base/schemas';
import { defineRoute, type Route } from '#core/http/route';
import { useOwner } from '#test/support/database';
import { ownRecords, valueAt } from '#test/support/everything';
import { createTenant, joinTenant, logIn, type Tenant } from '#test/support/factories';
import { expectError, useService, type Answer } from '#test/support/harness';
import { routeOf, routes, urlOf } from '#test/support/registry';
import {
  createRecords,
  idPlaces,
  missingSamples,
  queries,
  sampleContext,
  validBodies,
  type Ids,
  type OwnRecords,
} from '#test/support/samples';

const test = useService({
  ownDatabase: true,
  environment: { DISPATCHER_SECRET: 'unknown to the callers of these tests' },
});

let victim: { tenant: Tenant; ids: Ids };
let attacker: { tenant: Tenant; ids: Ids; own: OwnRecords };
const owner = useOwner(() => test.connection);

beforeAll(async () => {
  victim = await settle(await createTenant(test));
  const settled = await settle(await createTenant(test));
  attacker = { ...settled, own: ownRecords(settled.tenant, settled.ids) };
  // A second tenant, so that the attacker's login offers a choice and hands out selection tokens.
  const second = await createTenant(test);
  await joinTenant(test, second, attacker.tenant.admin);
});

/** A tenant with one record of each kind, linked to each other. */
async function settle(tenant: Tenant): Promise<{ tenant: Tenant; ids: Ids }> {
  return { tenant, ids: await createRecords(sampleContext(test, tenant), `secret of ${tenant.domain}`) };
}

/** The smallest body that an upload of any kind takes. */
const picture = { body: 'RIFF....WEBPVP8 ', headers: { 'content-type': 'image/webp' } };

/** Called ids, but given by outside providers, by clients, or by the service to a request. */
const outsideIds = new Set(['requestId', 'client_id', 'team_id', 'key_id', 'directory_id', 'filter_id', 'model_id']);

/** Where a route takes ids: by their format, or by their name where a filter allows more than ids. */
function idsIn(route: Route): string[] {
  const parts = ['params', 'query', 'body'] as const;
  return parts.flatMap((part) => {
    const found: string[] = [];
    const visit = (schema: unknown, path: string, name: string): void => {
      if (schema === null || typeof schema !== 'object') return;
      // The number of a message is its sender's own.
      if (outsideIds.has(name) || (route.hasRpcErrors && path === 'body.id')) return;
      const { format, properties = {}, anyOf = [], items } = schema as Record<string, never>;
      if (format === 'uuid' || /(^id|_id|Id)$/.test(name)) found.push(`${route.operationId} ${path}`);
      else for (const option of anyOf as unknown[]) visit(option, path, '');
      for (const [key, property] of Object.entries(properties)) visit(property, `${path}.${key}`, key);
      visit(items, `${path}[]`, '');
    };
    visit(route.schema[part], part, '');
    return found;
  });
}

/** The attacker's request, right in everything but the id in one place. */
async function probe(place: string, id: string): Promise<Answer> {
  const [operationId, path] = place.split(' ') as [string, string];
  const [part, name, ...inner] = path.split('.') as ['params' | 'query' | 'body', string, ...string[]];
  const route = routeOf(operationId);
  const own = (param: string) => valueAt(`${operationId} params.${param}`, attacker.ids)!;
  const url = urlOf(route, (param) => (part === 'params' && param === name ? id : own(param)));
  const query = part === 'query' ? `?${name}=${id}${queries[operationId] ?? ''}` : '';
  const sample = validBodies[operationId]?.(attacker.own);
  if (operationId === 'selectTenant') sample!.selectionToken = await selectionToken();
  const body = sample === undefined || part !== 'body' ? sample : withValue(sample, [name, ...inner], id);
  const token = route.access.kind === 'public' ? undefined : attacker.tenant.admin.token;
  if (route.schema.upload !== undefined)
    return test.call(route.method, `${url}${query === '' ? '?name=plan' : query}`, { token, ...picture });
  return test.call(route.method, `${url}${query}`, { token, body });
}

/** A copy with the value at the path; in a list of its own where the path says so. */
function withValue(body: Record<string, unknown>, [name, ...inner]: readonly string[], value: unknown): typeof body {
  const key = name!.replace('[]', '');
  const there = name!.endsWith('[]') && inner.length > 0 ? (body[key] as unknown[])[0] : body[key];
  const here = inner.length === 0 ? value : withValue(there as typeof body, inner, value);
  return { ...body, [key]: name!.endsWith('[]') ? [here] : here };
}

async function selectionToken(): Promise<string> {
  const { email, password } = attacker.tenant.admin;
  const answer = await test.call('POST', '/api/v1/public/auth/login', { body: { email, password } });
  return answer.body.selectionToken;
}

/** An answer without what differs between any two answers. */
function comparable({ status, headers, body }: Answer): string {
  const { requestId: _requestId, timestamp: _timestamp, ...rest } = body ?? {};
  const { 'x-request-id': _id, date: _date, ...stable } = headers;
  return JSON.stringify({ status, headers: stable, body: rest });
}

/** Every table with rows of tenants, and the column that says whose they are. */
async function listOwnedTables(): Promise<{ name: string; key: string }[]> {
  const { rows } = await owner().query<{ name: string; key: string }>(
    `select c.relname as name, case c.relname when 'tenants' then 'id' else 'tenant_id' end as key
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and (c.relname = 'tenants' or exists (
         select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id'))`,
  );
  return rows;
}

let ownedTables: { name: string; key: string }[] | undefined;

/** All rows of a tenant in all tables, as text. */
async function snapshot(tenantId: string): Promise<Record<string, string[]>> {
  ownedTables ??= await listOwnedTables();
  const parts = ownedTables.map(
    ({ name, key }) => `select '${name}' as name, t::text as row from ${name} t where t.${key} = $1`,
  );
  const accounts = `select 'accounts', a::text from accounts a join users u on u.account_id = a.id where u.tenant_id = $1`;
  const { rows } = await owner().query<{ name: string; row: string }>({
    name: 'snapshot',
    text: `${[...parts, accounts].join(' union all ')} order by 1, 2`,
    values: [tenantId],
  });
  return Object.fromEntries(
    [...Map.groupBy(rows, ({ name }) => name)].map(([name, found]) => [name, found.map(({ row }) => row)]),
  );
}

it('knows what every place that takes an id is about', () => {
  expect(missingSamples('ids', Object.keys(idPlaces), routes.flatMap(idsIn))).toEqual([]);
});

describe("another tenant's id answers exactly as one that does not exist, and changes nothing there", () => {
  it.each(Object.entries(idPlaces))('%s: a %s', async (place, kind) => {
    expect({ kind, id: victim.ids[kind] }, `no 'records' of a module create the ${kind}`).toEqual({
      kind,
      id: expect.any(String),
    });
    const before = await snapshot(victim.tenant.tenantId);
    const foreign = await probe(place, victim.ids[kind]!);
    const unknown = await probe(place, newId());
    expect(comparable(foreign)).toBe(comparable(unknown));
    expect(foreign.text).not.toContain(victim.tenant.domain);
    // Without a session there is nothing to look up that could be missing.
    const rule = routeOf(place.split(' ')[0]!).access.kind;
    // What only system administrators may is refused before any id is looked at.
    if (rule === 'dispatcher') expect(foreign.status).toBe(401);
    else if (rule === 'systemAdmin') expectError(foreign, 403, 'AUTHORIZATION_ERROR');
    else if (place.includes(' params.') && rule !== 'public') expectError(foreign, 404, 'NOT_FOUND');
    expect(await snapshot(victim.tenant.tenantId)).toEqual(before);
  });
});

describe('nothing that is read has an id of another tenant in it', () => {
  const reading = routes.filter((route) => route.method === 'GET');

  it.each(reading.map((route) => route.operationId))('%s', async (operationId) => {
    const rows = Object.values(await snapshot(victim.tenant.tenantId))
      .flat()
      .join('\n');
    const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
    const foreignIds = new Set(rows.match(uuid));
    expect(foreignIds.size).toBeGreaterThan(10);
    const route = routeOf(operationId);
    const url = urlOf(
      route,
      (name) => valueAt(`${operationId} params.${name}`, attacker.ids) ?? attacker.tenant.tenantId,
    );
    const answer = await test.call('GET', `${url}?limit=200${queries[operationId] ?? ''}`, {
      token: attacker.tenant.admin.token,
    });
    expect([...(answer.text.match(uuid) ?? [])].filter((id) => foreignIds.has(id))).toEqual([]);
    expect(answer.text).not.toContain(victim.tenant.domain);
  });
});

it('2,000 requests of two tenants at once, failures among them, return no foreign row', async () => {
  const sides = [await settle(await createTenant(test)), await settle(await createTenant(test))] as const;
  const outcomes = { rows: 0, foreign: 0, statuses: new Set<number>() };

  const send = async (at: number) => {
    const mine = sides[at % 2 === 0 ? 0 : 1];
    const other = sides[at % 2 === 0 ? 1 : 0];
    const { token, email } = mine.tenant.admin;
    const calls = [
      () => test.call('GET', '/api/v1/secure/contacts?limit=20', { token }),
      () => test.call('GET', `/api/v1/secure/contacts/${mine.ids.contact}`, { token }),
      () => test.call('GET', `/api/v1/secure/contacts/${other.ids.contact}`, { token }),
      () => test.call('POST', '/api/v1/secure/contacts', { token, body: { notes: mine.tenant.domain } }),
      () => test.call('POST', '/api/v1/secure/contacts', { token, body: { notes: 5 } }),
      // The foreign key refuses this one in the middle of a shared connection.
      () => test.call('POST', '/api/v1/secure/spaces', { token, body: { name: 'x', parent_id: other.ids.space } }),
      () => test.call('POST', '/api/v1/secure/users', { token, body: { email } }),
      () => test.call('GET', '/api/v1/secure/spaces', { token }),
      () => test.call('GET', `/api/v1/secure/spaces/${mine.ids.space}/contacts`, { token }),
      () => test.call('GET', '/api/v1/secure/audit-logs?limit=10', { token }),
    ];
    const answer = await calls[Math.floor(at / 2) % calls.length]!();
    outcomes.statuses.add(answer.status);
    outcomes.rows += answer.text.split(mine.tenant.tenantId).length - 1;
    if (answer.text.includes(other.tenant.tenantId) || answer.text.includes(other.tenant.domain)) outcomes.foreign += 1;
  };

  let next = 0;
  const work = async () => {
    while (next < 2000) await send(next++);
  };
  await Promise.all(Array.from({ length: 32 }, work));
  expect(outcomes.foreign).toBe(0);
  expect(outcomes.rows).toBeGreaterThan(5000);
  expect(outcomes.statuses).toEqual(new Set([200, 201, 400, 404, 409]));
});

describe('the gate itself', () => {
  const planted = defineRoute({
    method: 'PATCH',
    path: '/planted/{id}',
    operationId: 'planted',
    summary: '',
    access: access.member(),
    schema: {
      params: IdParams,
      body: closed({ nested: closed({ ownerId: Uuid }) }),
      response: { 204: null },
    },
    audit: { none: 'planted' },
    handler: () => undefined,
  });

  it('notices a place that the table does not know', () => {
    const file = 'apps/server/src/modules/plants/testing/samples.ts';
    const plants = [{ name: 'plants', routes: [planted] }];
    expect(missingSamples('ids', ['planted query.gone'], idsIn(planted), plants)).toEqual([
      `${file}: 'ids' lacks 'planted params.id'`,
      `${file}: 'ids' lacks 'planted body.nested.ownerId'`,
      `${file}: nothing needs 'planted query.gone' in 'ids'`,
    ]);
  });

  it('notices an answer that tells a foreign id from an unknown one', () => {
    const answer = (message: string): Answer => ({
      status: 404,
      headers: {},
      body: { message, requestId: newId(), timestamp: new Date().toISOString() },
      text: '',
    });
    expect(comparable(answer('same'))).toBe(comparable(answer('same')));
    expect(comparable(answer('It exists.'))).not.toBe(comparable(answer('It does not exist.')));
  });

  it('notices a changed row', async () => {
    const before = await snapshot(victim.tenant.tenantId);
    const { email, password } = victim.tenant.admin;
    await logIn(test, { email, password });
    expect(await snapshot(victim.tenant.tenantId)).not.toEqual(before);
  });
});
