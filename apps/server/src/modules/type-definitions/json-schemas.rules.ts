/** The keywords of a JSON Schema that contain subschemas or names. */
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

/** Limits of the schema of a type. `steps` bounds the time of one check: 50,000 steps take less than 15 ms. */
export const schemaLimits = { bytes: 32_768, subschemas: 200, depth: 8, steps: 50_000 } as const;

/** Counts all schemas, including the outermost one, and their depth. */
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
  const { anyOf = [], oneOf = [], allOf = [], not, if: condition, then, else: otherwise } = schema;
  const single = [additionalProperties, items, not, condition, then, otherwise];
  return [...Object.values(properties), ...anyOf, ...oneOf, ...allOf, ...single.filter((inner) => inner !== undefined)];
}

/** Finds a condition without effect and returns a message; undefined if all conditions have an effect. */
export function findIgnored(schema: Subschema): string | undefined {
  if (typeof schema === 'boolean') return undefined;
  const { if: condition, then, else: otherwise } = schema;
  if (condition !== undefined && then === undefined && otherwise === undefined) {
    return 'has an "if" without "then" and "else", which is ignored: add one of them or remove the "if"';
  }
  if (condition === undefined && (then !== undefined || otherwise !== undefined)) {
    return 'has a "then" or "else" without "if", which is ignored: add the "if" or remove them';
  }
  return subschemasOf(schema)
    .map(findIgnored)
    .find((message) => message !== undefined);
}

/** One error: its place and its rule, but never the value. */
export type FieldError = { path: string; message: string };

/** Replaces the errors of properties that the caller must not see. */
export function conceal(errors: readonly PlacedError[], visible: ReadonlySet<string> | undefined): FieldError[] {
  const hidden = { path: 'properties', message: 'properties that you cannot see do not match the type' };
  const shown = errors.map(({ property, path, message }) =>
    property === undefined || visible === undefined || visible.has(property) ? { path, message } : hidden,
  );
  return shown.filter((error, at) => shown.findIndex((other) => isSame(other, error)) === at);
}

/** An error with the property that it concerns, if it concerns one. */
export type PlacedError = FieldError & { property: string | undefined };

function isSame(left: FieldError, right: FieldError): boolean {
  return left.path === right.path && left.message === right.message;
}
