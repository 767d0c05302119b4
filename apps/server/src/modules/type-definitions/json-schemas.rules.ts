/** A JSON Schema as far as it has schemas within it. */
export type JsonSchema = {
  properties?: Record<string, Subschema>;
  required?: string[];
  additionalProperties?: Subschema;
  items?: Subschema;
  anyOf?: Subschema[];
  oneOf?: Subschema[];
  allOf?: Subschema[];
  not?: Subschema;
  if?: Subschema;
  then?: Subschema;
  else?: Subschema;
};
export type Subschema = JsonSchema | boolean;

/** What a type may ask for: compiling a schema and checking properties against it hold up everybody else. */
export const schemaLimits = { bytes: 32_768, subschemas: 200, depth: 8, steps: 50_000 } as const;

/** How many schemas there are, the outermost included, and how deep they lie. */
export function sizeOf(schema: Subschema): { subschemas: number; depth: number } {
  const inner = subschemasOf(schema).map(sizeOf);
  return {
    subschemas: 1 + inner.reduce((sum, size) => sum + size.subschemas, 0),
    depth: 1 + Math.max(0, ...inner.map((size) => size.depth)),
  };
}

function subschemasOf(schema: Subschema): Subschema[] {
  if (typeof schema === 'boolean') return [];
  const { properties = {}, additionalProperties, items } = schema;
  return [...Object.values(properties), additionalProperties, items, ...alternativesOf(schema)].filter(
    (inner) => inner !== undefined,
  );
}

/** The schemas that the same value is held against. */
function alternativesOf({ anyOf = [], oneOf = [], allOf = [], ...schema }: JsonSchema): Subschema[] {
  const conditions = [schema.not, schema.if, schema.then, schema.else];
  return [...anyOf, ...oneOf, ...allOf, ...conditions.filter((inner) => inner !== undefined)];
}

/**
 * How many rules are applied when the whole of a value is checked, counted no further than the budget. It bounds time and
 * the number of errors: schemas do not refer to each other, so what makes it many is lists of alternatives within lists.
 */
export function stepsToCheck(schema: Subschema, value: unknown, budget: number): number {
  if (typeof schema === 'boolean') return 1;
  let steps = 1 + Object.keys(schema).length + (schema.required?.length ?? 0);
  for (const inner of alternativesOf(schema)) {
    if (steps > budget) return steps;
    steps += stepsToCheck(inner, value, budget - steps);
  }
  for (const [inner, item] of partsOf(schema, value)) {
    if (steps > budget) return steps;
    steps += stepsToCheck(inner, item, budget - steps);
  }
  return steps;
}

function* partsOf({ properties = {}, additionalProperties, items }: JsonSchema, value: unknown) {
  if (Array.isArray(value)) {
    for (const item of value) yield [items ?? true, item] as const;
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      yield [Object.hasOwn(properties, name) ? properties[name]! : (additionalProperties ?? true), item] as const;
    }
  }
}

/** One thing that is wrong: where, and against which rule; never the value. */
export type FieldError = { path: string; message: string };

/** The same for somebody who may not know of all properties. */
export function conceal(errors: readonly PlacedError[], visible: ReadonlySet<string> | undefined): FieldError[] {
  const hidden = { path: 'properties', message: 'properties that you cannot see do not fit the type' };
  const told = errors.map(({ property, path, message }) =>
    property === undefined || visible === undefined || visible.has(property) ? { path, message } : hidden,
  );
  return told.filter((error, at) => told.findIndex((other) => isSame(other, error)) === at);
}

/** With the property that it concerns, where it is about one. */
export type PlacedError = FieldError & { property: string | undefined };

function isSame(left: FieldError, right: FieldError): boolean {
  return left.path === right.path && left.message === right.message;
}
