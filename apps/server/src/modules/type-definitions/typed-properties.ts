import { LRUCache } from 'lru-cache';

import type { Reads } from '#core/data/db/scopes';
import { conceal, schemaLimits } from '#modules/type-definitions/json-schemas.rules';
import { createPropertyCheck, type PropertyCheck } from '#modules/type-definitions/property-checks';
import { PropertiesInvalid, TypeEntityMismatch, TypeNotFound } from '#modules/type-definitions/type-definitions.errors';
import {
  findTypeDefinition,
  findTypeVersion,
  type EntityType,
  type TypeVersionRow,
} from '#modules/type-definitions/type-definitions.queries';

type Reader = Pick<Reads, 'first'>;

export type TypedProperties = {
  tenantId: string;
  entityType: EntityType;
  typeId: string;
  properties: Record<string, unknown>;
  /** Names of the properties that the caller may see; undefined means all of them. */
  visible?: ReadonlySet<string> | undefined;
};

// Bounded by size: 128 of the largest checks, or thousands of typical ones. Keys contain the tenant, so that response times
// reveal nothing about other tenants.
const checks = new LRUCache<string, { check: PropertyCheck; bytes: number }>({
  max: 10_000,
  maxSize: 128 * schemaLimits.bytes,
  sizeCalculation: ({ bytes }) => bytes,
});

/**
 * Checks properties against the current version of a type.
 * @throws TypeNotFound, TypeEntityMismatch, PropertiesInvalid with `details.errors`, which contain places and rules, but never values
 */
export async function assertPropertiesFit(db: Reader, typed: TypedProperties): Promise<void> {
  const version = await db.first(findTypeVersion({ tenantId: typed.tenantId, id: typed.typeId }));
  if (version === undefined) throw TypeNotFound();
  if (version.entity_type !== typed.entityType) throw TypeEntityMismatch();
  const check = checks.get(keyOf(typed, version))?.check ?? (await load(db, typed));
  const errors = check(typed.properties);
  if (errors.length > 0) throw PropertiesInvalid({ details: { errors: conceal(errors, typed.visible) } });
}

async function load(db: Reader, typed: TypedProperties): Promise<PropertyCheck> {
  const { tenantId, typeId } = typed;
  const type = await db.first(findTypeDefinition({ tenantId, id: typeId }));
  if (type === undefined) throw TypeNotFound();
  const check = createPropertyCheck(type.json_schema);
  checks.set(keyOf(typed, type), { check, bytes: JSON.stringify(type.json_schema).length });
  return check;
}

function keyOf({ tenantId }: TypedProperties, { id, updated_at: updatedAt }: TypeVersionRow): string {
  return `${tenantId} ${id} ${updatedAt}`;
}
