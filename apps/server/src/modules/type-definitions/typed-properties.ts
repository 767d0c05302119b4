import { LRUCache } from 'lru-cache';

import type { Statements } from '#core/db/scopes';
import { conceal, schemaLimits } from '#modules/type-definitions/json-schemas.rules';
import { createPropertyCheck, type PropertyCheck } from '#modules/type-definitions/property-checks';
import { PropertiesDoNotFit, TypeNotFound, TypeOfOtherEntity } from '#modules/type-definitions/type-definitions.errors';
import {
  findTypeDefinition,
  findTypeVersion,
  type EntityType,
  type TypeVersionRow,
} from '#modules/type-definitions/type-definitions.queries';

type Reader = Pick<Statements, 'first'>;

export type TypedProperties = {
  tenantId: string;
  entityType: EntityType;
  typeId: string;
  properties: Record<string, unknown>;
  /** What the caller may know of; undefined means all. */
  visible?: ReadonlySet<string> | undefined;
};

type Compiled = { check: PropertyCheck; bytes: number };

// By what it costs to keep them: room for 128 of the largest, or for thousands of the usual ones.
const checks = new LRUCache<string, Compiled>({
  max: 10_000,
  maxSize: 128 * schemaLimits.bytes,
  sizeCalculation: ({ bytes }) => bytes,
});

/**
 * Holds properties against the type that a record has or is given, as the type is at this moment.
 * @throws TypeNotFound, TypeOfOtherEntity, PropertiesDoNotFit with `details.errors`: places and rules, never values
 */
export async function assertPropertiesFit(db: Reader, typed: TypedProperties): Promise<void> {
  const version = await db.first(findTypeVersion({ tenantId: typed.tenantId, id: typed.typeId }));
  if (version === undefined) throw TypeNotFound();
  if (version.entity_type !== typed.entityType) throw TypeOfOtherEntity();
  const check = checks.get(keyOf(version))?.check ?? (await load(db, typed));
  const errors = check(typed.properties);
  if (errors.length > 0) throw PropertiesDoNotFit({ details: { errors: conceal(errors, typed.visible) } });
}

async function load(db: Reader, { tenantId, typeId }: TypedProperties): Promise<PropertyCheck> {
  const type = await db.first(findTypeDefinition({ tenantId, id: typeId }));
  if (type === undefined) throw TypeNotFound();
  const check = createPropertyCheck(type.json_schema);
  checks.set(keyOf(type), { check, bytes: JSON.stringify(type.json_schema).length });
  return check;
}

function keyOf({ id, updated_at: updatedAt }: TypeVersionRow): string {
  return `${id} ${updatedAt}`;
}
