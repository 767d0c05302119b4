import { beforeAll, describe, expect, it } from 'vitest';

import type { Route } from '#core/http/route';
import type { JsonSchema } from '#test/support/bad-input';
import { boundBodies } from '#test/support/bounds';
import { withClient } from '#test/support/database';
import { createEverything, urlOfRecords, type Everything } from '#test/support/everything';
import { useService, type Answer } from '#test/support/harness';
import { routes } from '#test/support/registry';
import { validBodies } from '#test/support/samples';

// Every answer is held against the closed schema of its route: one that does not fit is a 500.
const test = useService({ ownDatabase: true });
let everything: Everything;

beforeAll(async () => {
  everything = await createEverything(test);
});

/** Not about rows: each ends a session, mails, or takes a credential away that the test goes on with. */
const others = new Set(['updateSecurityConfig', 'updateOwnPassword']);
const changes = routes.filter(
  ({ method, operationId, schema, access }) =>
    (method === 'PATCH' || method === 'PUT') &&
    schema.body !== undefined &&
    access.kind !== 'public' &&
    !others.has(operationId),
);
const creations = routes.filter(
  ({ method, operationId, schema, access }) =>
    method === 'POST' && schema.response[201] && schema.body !== undefined && access.kind !== 'public' && operationId,
);
const reads = routes.filter(({ method, access }) => method === 'GET' && access.kind !== 'public');

/** What lists cannot do without. */
const query =
  'from=2026-05-01T00:00:00Z&to=2026-07-01T00:00:00Z&entity_type=space&operation_key=translation.text&address=x&limit=200';

const isSystem = ({ access }: Route) => access.kind === 'systemAdmin' || access.kind === 'dispatcher';

function send(route: Route, { body, search = '' }: { body?: unknown; search?: string } = {}): Promise<Answer> {
  const { own, ids, systemAdmin } = everything;
  const token = isSystem(route) ? systemAdmin : own.tenant.admin.token;
  return test.call(route.method, `${urlOfRecords(route, ids)}${search}`, {
    token,
    ...(body === undefined ? {} : { body }),
  });
}

/** `/api/v1/secure/spaces` of all that is below it, which is where its records are listed and read. */
const areaOf = ({ path }: Route) => path.split('/').slice(0, 5).join('/');

async function readAll(area: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const route of reads.filter((read) => areaOf(read) === area)) {
    const search = `?${query}&entity_id=${everything.own.spaceId}`;
    const { status, text } = await send(route, { search });
    if (status === 500) wrong.push(`${route.operationId}: ${text.slice(0, 200)}`);
  }
  return wrong;
}

describe.each([...changes, ...creations].map((route) => [route.operationId, route] as const))('%s', (name, route) => {
  it('with each field at its bounds, every read and list answer fits its schema', async () => {
    const valid = validBodies[name]!(everything.own);
    const bodies = boundBodies(route.schema.body as JsonSchema, valid);
    let taken = 0;
    for (const { what, body } of bodies) {
      const fresh = { ...validBodies[name]!(everything.own), ...body };
      const { status, text } = await send(route, { body: fresh });
      expect({ what, fault: status === 500 ? text : undefined }).toEqual({ what, fault: undefined });
      if (status >= 300) continue;
      taken += 1;
      expect({ what, wrong: await readAll(areaOf(route)) }).toEqual({ what, wrong: [] });
    }
    expect({ name, isTaken: taken > 0 || !taking.has(name) }).toEqual({ name, isTaken: true });
  });
});

/** Whose rows have to be written for the test to say anything. */
const taking = new Set(['createContact', 'updateContact', 'createSpace', 'updateSpace', 'createFlowTask', 'createTag']);

/** What the service itself counts and dates; sizes of objects, levels, steps of histograms and times of sessions aside, which have to be true. */
const counted = `
  select c.table_name as "table", c.column_name as "column", c.data_type as type
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
   where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
     and (c.data_type in ('integer', 'bigint', 'smallint', 'double precision')
          or c.column_name in ('created_at', 'updated_at', 'last_used_at', 'last_success', 'last_error'))
     and c.column_name not in ('size_bytes', 'level', 'bucket')
     and c.table_name not in ('sessions', 'accounts', 'schema_migrations', 'jobs')
   order by 1, 2`;
const max: Readonly<Record<string, string>> = {
  smallint: '32767',
  integer: '2147483647',
  bigint: '9007199254740991',
  'double precision': '1e15',
};

it('with each count and time of a row at its bound, every read and list answer fits its schema', async () => {
  const areas = new Set(reads.map(areaOf));
  for (const area of areas) expect({ area, wrong: await readAll(area) }).toEqual({ area, wrong: [] });
  const changed = await withClient(test.connection, async (client) => {
    const { rows } = await client.query<{ table: string; column: string; type: string }>(counted);
    let count = 0;
    for (const { table, column, type } of rows) {
      const value = max[type] ?? `'9999-12-31T23:59:59.999Z'`;
      // What a constraint keeps from being so large is at its bound where the requests above have put it.
      const done = await client.query(`update "${table}" set "${column}" = ${value}`).catch(() => undefined);
      count += done?.rowCount ?? 0;
    }
    return count;
  });
  expect(changed).toBeGreaterThan(50);
  for (const area of areas) expect({ area, wrong: await readAll(area) }).toEqual({ area, wrong: [] });
});
