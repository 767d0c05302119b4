import { capital, past, toKebab, type Names } from './names.ts';

/** `archiveNote` of the module `notes`: a POST on one record, which is recorded. */
export type Operation = { id: string; kebab: string; verb: string; action: string; path: string };

type NotFound = { name: string; from: string };

export function operationOf(id: string, names: Names): Operation {
  const verb = /^[a-z]+/.exec(id)![0];
  return {
    id,
    verb,
    kebab: toKebab(id),
    action: `${names.snake}.${past(verb)}`,
    path: `/api/v1/secure/${names.kebab}/{id}/${verb}`,
  };
}

/**
 * The files of an operation, by their path below the module.
 * @param hasOwnError whether the errors of the module define what an unknown id is answered with
 */
export function operationFiles(operation: Operation, names: Names, hasOwnError: boolean): Record<string, string> {
  const { kebab } = operation;
  const notFound: NotFound = hasOwnError
    ? { name: `${names.pascal}NotFound`, from: `#modules/${names.kebab}/${names.kebab}.errors` }
    : { name: 'NotFound', from: '#core/base/errors/common-errors' };
  return {
    [`${kebab}.routes.ts`]: routes(operation, names, notFound),
    [`${kebab}.schemas.ts`]: schemas(operation),
    [`${kebab}.service.ts`]: service(operation, names, notFound),
    [`${kebab}.queries.ts`]: queries(operation, names),
    [`${kebab}.test.ts`]: test(operation),
  };
}

const routes = (
  operation: Operation,
  names: Names,
  notFound: NotFound,
) => `import { access } from '#core/base/access/access';
import { ${notFound.name} } from '${notFound.from}';
import { defineRoute, type Route } from '#core/http/route';
import { IdParams } from '#core/base/schemas';
import * as schemas from '#modules/${names.kebab}/${operation.kebab}.schemas';
import { ${operation.id} } from '#modules/${names.kebab}/${operation.kebab}.service';

export const ${operation.id}Routes: readonly Route[] = [
  defineRoute({
    method: 'POST',
    path: '${operation.path}',
    operationId: '${operation.id}',
    summary: '${capital(operation.verb)} a ${names.words}',
    access: access.member(),
    schema: { params: IdParams, response: { 200: schemas.${capital(operation.id)}Answer } },
    errors: [${notFound.name}],
    audit: '${operation.action}',
    handler: ({ actor, db, params, services }) => ${operation.id}({ db, actor, now: services.now }, params.id),
  }),
];
`;

const schemas = ({ id }: Operation) => `import { Timestamp, Uuid, closed, dataOf } from '#core/base/schemas';

export const ${capital(id)}Answer = dataOf(closed({ id: Uuid, updated_at: Timestamp }, { title: '${capital(id)}' }));
`;

const service = (
  { id, kebab }: Operation,
  names: Names,
  notFound: NotFound,
) => `import type { Actor } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { ${notFound.name} } from '${notFound.from}';
import { ${id} as ${id}Row } from '#modules/${names.kebab}/${kebab}.queries';

/** @throws ${notFound.name} */
export async function ${id}({ db, actor, now }: { db: TenantDb; actor: Actor; now: () => Date }, id: string) {
  const at = now().toISOString();
  const row = await db.interactive.first(${id}Row({ id, at, ...auditParams(actor, at) }));
  if (row === undefined) throw ${notFound.name}();
  return { data: row };
}
`;

const queries = (
  operation: Operation,
  { snake, snakes }: Names,
) => `import { withAudit, type AuditParams } from '#core/data/audit/audit.queries';
import { auditedWrite, queryBuilder } from '#core/data/db/query';

type Changed = { id: string; updated_at: string };

const builder = queryBuilder<{ ${snakes}: Changed & { tenant_id: string } }>();

export const ${operation.id} = auditedWrite<{ id: string; at: string } & AuditParams, Changed>((p) => {
  const change = builder
    .updateTable('${snakes}')
    .set({ updated_at: p.at })
    .where('tenant_id', '=', p.tenantId)
    .where('id', '=', p.id)
    .returning(['id', 'updated_at']);
  return withAudit<Changed>(change, { action: '${operation.action}', resourceType: '${snake}' }, p);
});
`;

const test = ({ id, path }: Operation) => `import { beforeAll, describe, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { createTenant, type Tenant } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';

const test = useService();
let tenant: Tenant;

beforeAll(async () => {
  tenant = await createTenant(test);
});

describe('${id}', () => {
  it('404: an unknown id', async () => {
    const answer = await test.call('POST', \`${path.replace('{id}', '${newId()}')}\`, { token: tenant.admin.token });
    expectError(answer, 404, 'NOT_FOUND');
  });
});
`;
