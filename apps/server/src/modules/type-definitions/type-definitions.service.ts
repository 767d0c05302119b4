import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb } from '#core/data/db/scopes';
import { pageOfMatches } from '#core/data/db/totals';
import { parseSort, toPage, type SetHeader } from '#core/http/paging';
import { findSchemaErrors } from '#modules/type-definitions/property-checks';
import {
  InvalidJsonSchema,
  TypeDefinitionNotFound,
  TypeInUse,
} from '#modules/type-definitions/type-definitions.errors';
import {
  countTypeDefinitions,
  deleteTypeDefinition as deleteTypeDefinitionRow,
  findAnyResourceOfType,
  findAnySpaceOfType,
  findTypeDefinition,
  insertTypeDefinition,
  listTypeDefinitions as listTypeDefinitionRows,
  lockTypeDefinition,
  updateTypeDefinition as updateTypeDefinitionRow,
  type TypeDefinitionChanges,
  type TypeDefinitionRow,
} from '#modules/type-definitions/type-definitions.queries';
import type {
  CreateTypeDefinitionBody,
  ListTypeDefinitionsQuery,
  UpdateTypeDefinitionBody,
} from '#modules/type-definitions/type-definitions.schemas';

type Scope = { db: TenantDb; actor: Actor; now: () => Date };

export async function listTypeDefinitions(
  { db, setHeader }: { db: TenantDb; setHeader: SetHeader },
  query: ListTypeDefinitionsQuery,
) {
  const { limit = 50, offset = 0, sort, search, entity_type: entityType, key } = query;
  const filters = { search, entityType, key };
  const { rows, ...total } = await pageOfMatches(
    db,
    listTypeDefinitionRows(db.tenantId, filters, { limit, offset, order: parseSort(sort) }),
    countTypeDefinitions(db.tenantId, filters),
    { limit, offset },
  );
  return toPage(rows.map(presentTypeDefinition), { limit, offset }, total, setHeader);
}

/** @throws TypeDefinitionNotFound */
export async function getTypeDefinition(db: TenantDb, id: string) {
  const row = await db.first(findTypeDefinition({ tenantId: db.tenantId, id }));
  if (row === undefined) throw TypeDefinitionNotFound();
  return { data: presentTypeDefinition(row) };
}

/** @throws InvalidJsonSchema, TypeKeyTaken (through the constraint) */
export async function createTypeDefinition({ db, actor, now }: Scope, body: CreateTypeDefinitionBody) {
  assertValid(body.json_schema);
  const at = now().toISOString();
  const row = await db.interactive.first(
    insertTypeDefinition({
      id: newId(),
      entity_type: body.entity_type,
      key: body.key,
      name: body.name,
      description: body.description ?? null,
      json_schema: body.json_schema,
      created_by: actor.userId,
      created_at: at,
      updated_at: at,
      ...auditParams(actor, at),
    }),
  );
  return { data: presentTypeDefinition(row!) };
}

/**
 * Does not change records: a new schema applies to a record when that record is next written.
 * @throws TypeDefinitionNotFound, InvalidJsonSchema, TypeKeyTaken (through the constraint)
 */
export async function updateTypeDefinition({ db, actor, now }: Scope, id: string, body: UpdateTypeDefinitionBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getTypeDefinition(db, id);
  if (body.json_schema !== undefined) assertValid(body.json_schema);
  const at = now().toISOString();
  const changes = { ...body, updated_at: at } as TypeDefinitionChanges;
  const row = await db.interactive.first(updateTypeDefinitionRow(id, changes, auditParams(actor, at, { fields })));
  if (row === undefined) throw TypeDefinitionNotFound();
  return { data: presentTypeDefinition(row) };
}

/** @throws TypeDefinitionNotFound, TypeInUse */
export function deleteTypeDefinition({ db, actor, now }: Scope, id: string): Promise<void> {
  const { tenantId } = db;
  const audit = auditParams(actor, now().toISOString());
  return db.transaction(async (tx) => {
    if ((await tx.first(lockTypeDefinition({ tenantId, id }))) === undefined) throw TypeDefinitionNotFound();
    const user =
      (await tx.first(findAnySpaceOfType({ tenantId, id }))) ??
      (await tx.first(findAnyResourceOfType({ tenantId, id })));
    if (user !== undefined) throw TypeInUse();
    await tx.all(deleteTypeDefinitionRow({ id, ...audit }));
  });
}

function assertValid(schema: Record<string, unknown>): void {
  const errors = findSchemaErrors(schema).map(({ path, message }) => ({ path, message }));
  if (errors.length > 0) throw InvalidJsonSchema({ details: { errors } });
}

function presentTypeDefinition(row: TypeDefinitionRow) {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    entity_type: row.entity_type,
    key: row.key,
    name: row.name,
    description: row.description,
    json_schema: row.json_schema,
    created_by: row.created_by,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
