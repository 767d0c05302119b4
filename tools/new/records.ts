import type { Names } from './names.ts';

/** The files that create, get and list the records of one table, by their path below the module. */
export function recordFiles(names: Names, module: string): Record<string, string> {
  const { kebab } = names;
  return {
    [`${kebab}.routes.ts`]: routes(names, module),
    [`${kebab}.schemas.ts`]: schemas(names),
    [`${kebab}.service.ts`]: service(names, module),
    [`${kebab}.queries.ts`]: queries(names),
    [`${kebab}.errors.ts`]: errors(names),
    [`${kebab}.test.ts`]: test(names),
  };
}

const routes = (
  { kebab, camel, pascal, plural, snake, words }: Names,
  module: string,
) => `import { access } from '#core/base/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/base/schemas';
import { ${pascal}NotFound } from '#modules/${module}/${kebab}.errors';
import * as schemas from '#modules/${module}/${kebab}.schemas';
import { create${pascal}, get${pascal}, list${plural} } from '#modules/${module}/${kebab}.service';

export const ${camel}Routes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '/api/v1/secure/${kebab}',
    operationId: 'create${pascal}',
    summary: 'Create a ${words}',
    access: access.member(),
    schema: { body: schemas.Create${pascal}Body, response: { 201: schemas.${pascal}Answer } },
    audit: '${snake}.created',
    handler: ({ actor, body, db, services }) => create${pascal}({ db, actor, now: services.now }, body),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/${kebab}/{id}',
    operationId: 'get${pascal}',
    summary: 'Get a ${words}',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.${pascal}Answer } },
    errors: [${pascal}NotFound],
    handler: ({ db, params }) => get${pascal}(db, params.id),
  }),
  defineRoute({
    method: 'GET',
    path: '/api/v1/secure/${kebab}',
    operationId: 'list${plural}',
    summary: 'List ${words}s, the latest first',
    access: access.member(),
    schema: { query: schemas.List${plural}Query, response: { 200: schemas.${pascal}Page } },
    handler: ({ db, query, setHeader }) => list${plural}({ db, setHeader }, query),
  }),
];
`;

const schemas = ({ pascal, plural, words }: Names) => `import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf, pageOf, paging } from '#core/base/schemas';

const name = { description: 'Name of the ${words}.' };

export const Create${pascal}Body = closed({
  name: Type.String({ minLength: 1, maxLength: 200, pattern: '\\\\S', ...name }),
});
export type Create${pascal}Body = Static<typeof Create${pascal}Body>;

const ${pascal} = closed(
  { id: Uuid, tenant_id: Uuid, name: Type.String(name), created_at: Timestamp, updated_at: Timestamp },
  { title: '${pascal}' },
);

export const ${pascal}Answer = dataOf(${pascal});
export const ${pascal}Page = pageOf(${pascal});

export const List${plural}Query = Type.Object(paging);
export type List${plural}Query = Static<typeof List${plural}Query>;
`;

const service = (
  { kebab, pascal, plural }: Names,
  module: string,
) => `import type { Actor } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import { newId } from '#core/base/crypto/ids';
import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { toPage } from '#core/http/paging';
import { ${pascal}NotFound } from '#modules/${module}/${kebab}.errors';
import { count${plural}, find${pascal}, insert${pascal}, list${plural} as list${pascal}Rows, type ${pascal}Row } from '#modules/${module}/${kebab}.queries';
import type { Create${pascal}Body, List${plural}Query } from '#modules/${module}/${kebab}.schemas';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };

export async function create${pascal}({ db, actor, now }: Scope, { name }: Create${pascal}Body) {
  const at = now().toISOString();
  const record = { id: newId(), name, created_at: at, updated_at: at };
  const row = await db.interactive.first(insert${pascal}({ ...record, ...auditParams(actor, at) }));
  return { data: present${pascal}(row!) };
}

/** @throws ${pascal}NotFound */
export async function get${pascal}(db: TenantDb, id: string) {
  const row = await db.first(find${pascal}({ tenantId: db.tenantId, id }));
  if (row === undefined) throw ${pascal}NotFound();
  return { data: present${pascal}(row) };
}

export async function list${plural}(
  { db, setHeader }: { db: TenantDb; setHeader(name: string, value: string): void },
  { limit = 50, offset = 0 }: List${plural}Query,
) {
  const page = list${pascal}Rows(db.tenantId, { limit, offset });
  const { rows, ...total } = await pageOfMatches(db, page, count${plural}(db.tenantId), { limit, offset });
  return toPage(rows.map(present${pascal}), { limit, offset }, total, setHeader);
}

function present${pascal}(row: ${pascal}Row) {
  const { id, tenant_id, name, created_at, updated_at } = row;
  return { id, tenant_id, name, created_at, updated_at };
}
`;

const queries = ({
  snake,
  snakes,
  camels,
  pascal,
  plural,
}: Names) => `import { insertRow } from '#core/data/audit/audited-rows.queries';
import { queryBuilder, toRead, type ReadStatement } from '#core/data/db/query';
import { rowById, tenantTable, text, time, uuid, type RowOf } from '#core/data/db/rows';
import { countMatches } from '#core/data/db/totals';

const ${camels} = tenantTable('${snakes}', {
  tenant_id: uuid,
  id: uuid,
  name: text,
  created_at: time,
  updated_at: time,
});
export type ${pascal}Row = RowOf<typeof ${camels}>;

const builder = queryBuilder<{ ${snakes}: ${pascal}Row }>();

export const find${pascal} = rowById(${camels});

export const insert${pascal} = insertRow(${camels}, { action: '${snake}.created', resourceType: '${snake}' });

/** Orders by id: ids are UUIDv7, so their order is the order of creation. */
export function list${plural}(tenantId: string, page: { limit: number; offset: number }): ReadStatement<${pascal}Row> {
  const rows = builder.selectFrom('${snakes}').select(${camels}.columns).where('tenant_id', '=', tenantId);
  return toRead(rows.orderBy('id', 'desc').limit(page.limit).offset(page.offset));
}

export function count${plural}(tenantId: string): ReadStatement<{ total: number }> {
  return countMatches(builder.selectFrom('${snakes}').select('id').where('tenant_id', '=', tenantId));
}
`;

const errors = ({ pascal, words }: Names) => `import { defineError } from '#core/base/errors/app-error';

export const ${pascal}NotFound = defineError('NOT_FOUND', 'The ${words} does not exist.');
`;

const test = ({ kebab, pascal, plural }: Names) => `import { beforeAll, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createTenant } from '#test/support/factories';
import { expectError, useService, type Call } from '#test/support/harness';

const test = useService();
const path = '/api/v1/secure/${kebab}';
let admin: Call;
let stranger: Call;

beforeAll(async () => {
  admin = { token: (await createTenant(test)).admin.token };
  stranger = { token: (await createTenant(test)).admin.token };
});

const create = (body: object) => test.call('POST', path, { ...admin, body });

describe('create${pascal}', () => {
  it('201: keeps every field', async () => {
    const created = await create({ name: 'First' });
    expect(created).toMatchObject({ status: 201, body: { data: { name: 'First' } } });
    expect((await test.call('GET', \`\${path}/\${created.body.data.id}\`, admin)).body).toEqual(created.body);
  });

  it('400: a blank name', async () => {
    expectError(await create({ name: ' ' }), 400, 'VALIDATION_ERROR');
  });
});

describe('get${pascal}', () => {
  it('404: an unknown id, and a record of another tenant', async () => {
    const { id } = (await create({ name: 'First' })).body.data;
    expectError(await test.call('GET', \`\${path}/\${newId()}\`, admin), 404, 'NOT_FOUND');
    expectError(await test.call('GET', \`\${path}/\${id}\`, stranger), 404, 'NOT_FOUND');
  });
});

describe('list${plural}', () => {
  it('200: the latest first, page by page', async () => {
    const { data: record } = (await create({ name: 'Last' })).body;
    const { body } = await test.call('GET', \`\${path}?limit=1\`, admin);
    expect(body).toMatchObject({ data: [record], pagination: { limit: 1, offset: 0, hasMore: true } });
    expect((await test.call('GET', path, stranger)).body.data).toEqual([]);
  });
});
`;
