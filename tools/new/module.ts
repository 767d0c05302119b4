import type { Names } from './names.ts';

/** The files of a module that creates and gets one kind of record, by their path below the module. */
export function moduleFiles(names: Names): Record<string, string> {
  const { kebab } = names;
  return {
    'index.ts': index(names),
    [`${kebab}.routes.ts`]: routes(names),
    [`${kebab}.schemas.ts`]: schemas(names),
    [`${kebab}.service.ts`]: service(names),
    [`${kebab}.queries.ts`]: queries(names),
    [`${kebab}.errors.ts`]: errors(names),
    [`${kebab}.test.ts`]: test(names),
    'testing/samples.ts': samples(names),
  };
}

const index = ({ kebab, camel, camels, words }: Names) => `import { defineModule } from '#core/http/route';
import { ${camel}Routes } from '#modules/${kebab}/${kebab}.routes';

/** Records of the kind "${words}". */
export const ${camels}Module = defineModule({
  name: '${kebab}',
  description: 'Create and get records of the kind "${words}"',
  routes: ${camel}Routes,
});
`;

const routes = ({ kebab, camel, pascal, snake, words }: Names) => `import { access } from '#core/base/access/access';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/base/schemas';
import { ${pascal}NotFound } from '#modules/${kebab}/${kebab}.errors';
import * as schemas from '#modules/${kebab}/${kebab}.schemas';
import { create${pascal}, get${pascal} } from '#modules/${kebab}/${kebab}.service';

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
];
`;

const schemas = ({ pascal, words }: Names) => `import Type, { type Static } from 'typebox';

import { Timestamp, Uuid, closed, dataOf } from '#core/base/schemas';

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
`;

const service = ({ kebab, pascal }: Names) => `import type { Actor } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import { newId } from '#core/base/crypto/ids';
import type { TenantDb } from '#core/data/db/scopes';
import { ${pascal}NotFound } from '#modules/${kebab}/${kebab}.errors';
import { find${pascal}, insert${pascal}, type ${pascal}Row } from '#modules/${kebab}/${kebab}.queries';
import type { Create${pascal}Body } from '#modules/${kebab}/${kebab}.schemas';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };

export async function create${pascal}({ db, actor, now }: Scope, { name }: Create${pascal}Body) {
  const at = now().toISOString();
  const record = { id: newId(), tenant_id: db.tenantId, name, created_at: at, updated_at: at };
  const row = await db.slow.first(insert${pascal}({ ...record, ...auditParams(actor, at) }));
  return { data: present${pascal}(row!) };
}

/** @throws ${pascal}NotFound */
export async function get${pascal}(db: TenantDb, id: string) {
  const row = await db.first(find${pascal}({ tenantId: db.tenantId, id }));
  if (row === undefined) throw ${pascal}NotFound();
  return { data: present${pascal}(row) };
}

function present${pascal}(row: ${pascal}Row) {
  const { id, tenant_id, name, created_at, updated_at } = row;
  return { id, tenant_id, name, created_at, updated_at };
}
`;

const queries = ({
  snake,
  snakes,
  pascal,
}: Names) => `import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, queryBuilder, read } from '#core/data/db/query';

export type ${pascal}Row = { tenant_id: string; id: string; name: string; created_at: string; updated_at: string };

const builder = queryBuilder<{ ${snakes}: ${pascal}Row }>();

const columns = ['tenant_id', 'id', 'name', 'created_at', 'updated_at'] as const;

export const find${pascal} = read<{ tenantId: string; id: string }, ${pascal}Row>((p) =>
  builder.selectFrom('${snakes}').select(columns).where('tenant_id', '=', p.tenantId).where('id', '=', p.id),
);

export const insert${pascal} = auditedWrite<${pascal}Row & AuditParams, ${pascal}Row>((p) => {
  const row = Object.fromEntries(columns.map((name) => [name, p[name]])) as ${pascal}Row;
  const change = builder.insertInto('${snakes}').values(row).returning(columns);
  return withAudit<${pascal}Row>(change, { action: '${snake}.created', resourceType: '${snake}' }, p);
});
`;

const errors = ({ pascal, words }: Names) => `import { defineError } from '#core/base/errors/app-error';

export const ${pascal}NotFound = defineError('NOT_FOUND', 'The ${words} does not exist.');
`;

const test = ({ kebab, pascal }: Names) => `import { beforeAll, describe, expect, it } from 'vitest';

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
`;

const samples = ({ kebab, camel, pascal, snake }: Names) => `import type { Samples } from '#test/support/samples';

const path = '/api/v1/secure/${kebab}';

export const samples: Samples = {
  bodies: { create${pascal}: () => ({ name: 'Sample' }) },
  ids: { 'get${pascal} params.id': '${camel}' },
  records: async ({ create, secret }) => ({ ${camel}: await create(path, { name: secret }) }),
  successes: () => ({
    create${pascal}: () =>
      Promise.resolve({ method: 'POST', url: path, status: 201, body: { name: 'canary' }, resourceType: '${snake}' }),
  }),
};
`;
