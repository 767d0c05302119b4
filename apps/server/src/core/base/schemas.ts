import Type, { type Static, type TProperties, type TSchema } from 'typebox';

/** An object that accepts nothing but what it names. */
export function closed<Properties extends TProperties>(
  properties: Properties,
  options: { title?: string; minProperties?: number; description?: string } = {},
) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

export function nullable<Schema extends TSchema>(schema: Schema, options: { description?: string } = {}) {
  return Type.Union([schema, Type.Null()], options);
}

export const Uuid = Type.String({ format: 'uuid' });
export const Timestamp = Type.String({ format: 'date-time', maxLength: 40 });
export const Email = Type.String({ format: 'email', maxLength: 254 });
export const Language = Type.String({ pattern: '^[a-z]{2}$' });
export const TimeZone = Type.String({ format: 'time-zone', maxLength: 64 });

/** The keyword by which validation bounds a value as a whole: bytes of its JSON in UTF-8, numbers with all of their digits. */
export const jsonBytesKeyword = 'x-maxJsonBytes';

/** For free-form values, bounded in size because a list of many large ones would make an answer too large to build. */
export function jsonOfAtMost(bytes: number) {
  return { [jsonBytesKeyword]: bytes, description: `At most ${bytes} bytes as JSON.` };
}

/** An object whose content is the caller's own, as it is answered. */
export const FreeObject = Type.Record(Type.String({ maxLength: 200 }), Type.Unknown());

/** The same as it is sent. */
export function freeObjectOfAtMost(bytes: number, options: { description?: string } = {}) {
  return Type.Record(Type.String({ maxLength: 200 }), Type.Unknown(), { ...jsonOfAtMost(bytes), ...options });
}

export const PostalAddress = Type.Object(
  Object.fromEntries(
    ['street', 'street_number', 'city', 'postal_code', 'region', 'country', 'country_code'].map((name) => [
      name,
      Type.Optional(nullable(Type.String({ maxLength: 200 }))),
    ]),
  ),
  {
    title: 'PostalAddress',
    additionalProperties: Type.Unknown(),
    ...jsonOfAtMost(16_384),
    description: 'Extra members are kept: any JSON, at most 16384 bytes for the whole address.',
  },
);

export const IdParams = closed({ id: Uuid });
export type IdParams = Static<typeof IdParams>;

/** `limit` and `offset` of every list, with their bounds. */
export const paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0 })),
};

export function sortable<const Field extends string>(fields: readonly Field[]) {
  const values = fields.flatMap((field): (Field | `-${Field}`)[] => [field, `-${field}`]);
  return Type.Optional(
    Type.Enum(values, {
      description: 'A field, or -field for descending order; in snake_case or camelCase.',
    }),
  );
}

const Pagination = closed(
  { total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer(), hasMore: Type.Boolean() },
  { title: 'Pagination' },
);

export function dataOf<Schema extends TSchema>(schema: Schema) {
  return closed({ data: schema });
}

export function listOf<Schema extends TSchema>(schema: Schema) {
  return closed({ data: Type.Array(schema) });
}

export function pageOf<Schema extends TSchema>(schema: Schema) {
  return closed({ data: Type.Array(schema), pagination: Pagination });
}

/** The standard error body (specification, "Errors"). */
export const ErrorBody = closed(
  {
    error: Type.String({ description: 'Error code, e.g. VALIDATION_ERROR' }),
    message: Type.String(),
    statusCode: Type.Integer(),
    requestId: Type.Optional(nullable(Type.String())),
    details: Type.Optional(nullable(Type.Record(Type.String(), Type.Unknown()))),
    timestamp: Timestamp,
  },
  { title: 'Error' },
);

/** The whole of it where the specification wants no more. */
export const BriefErrorBody = closed(
  { error: Type.String({ description: 'Error code, e.g. AUTHENTICATION_ERROR' }), message: Type.String() },
  { title: 'BriefError' },
);

/** The same as an error of JSON-RPC 2.0. */
export const RpcErrorBody = closed(
  {
    jsonrpc: Type.Literal('2.0'),
    id: nullable(Type.Union([Type.String(), Type.Integer()])),
    error: closed({
      code: Type.Integer({ description: 'Error code of JSON-RPC 2.0.' }),
      message: Type.String(),
      data: Type.Optional(Type.Unknown()),
    }),
  },
  { title: 'RpcError' },
);
