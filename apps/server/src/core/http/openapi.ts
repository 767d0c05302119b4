import type { TSchema } from 'typebox';

import { describeAccess, type Access } from '#core/base/access/access';
import type { ErrorDefinition } from '#core/base/errors/app-error';
import { NotPermitted, ServiceUnavailable } from '#core/base/errors/common-errors';
import { BriefErrorBody, ErrorBody, RpcErrorBody } from '#core/base/schemas';
import { FileContent, StreamedContent, isDownload } from '#core/http/downloads';
import { idempotencyErrors } from '#core/http/idempotency/idempotency.errors';
import { takesIdempotencyKey } from '#core/http/idempotency/idempotency.rules';
import { propertyDescriptions } from '#core/http/property-descriptions';
import type { Module, Route } from '#core/http/route';

/** The interface that the specification describes ("Versioning", 2); the running version is in health and info. */
const interfaceVersion = '1.4.1149';

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 description of all routes: derived, never written by hand. */
export function generateOpenApi(modules: readonly Module[]): Json {
  const components = new Map<string, Json>();
  const paths: Record<string, Record<string, Json>> = {};
  for (const module of modules) {
    for (const route of module.routes) {
      const path = (paths[route.path] ??= {});
      path[route.method.toLowerCase()] = operation(module, route, components);
    }
  }
  schemaOf(ErrorBody, components);
  schemaOf(BriefErrorBody, components);
  schemaOf(RpcErrorBody, components);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Atrium',
      version: interfaceVersion,
      description:
        'Multi-tenant platform service. Log in at `/api/v1/public/auth/login` and send the `accessToken` as `Authorization: Bearer`. Every path answers with and without a trailing slash.',
    },
    tags: modules.map((module) => ({ name: module.name, description: module.description })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'svc_sk_<key uuid>_<secret>' },
        dispatcherSecret: { type: 'apiKey', in: 'header', name: 'X-Dispatcher-Secret' },
        cronSecret: { type: 'apiKey', in: 'header', name: 'X-Cron-Secret' },
      },
      schemas: Object.fromEntries([...components].toSorted(([left], [right]) => (left < right ? -1 : 1))),
    },
  };
}

function operation(module: Module, route: Route, components: Map<string, Json>): Json {
  return {
    operationId: route.operationId,
    tags: [module.name],
    summary: route.summary,
    description: `Who may call: ${describeAccess(route.access)}.`,
    security: securityOf(route.access),
    ...(parametersOf(route, components).length === 0 ? {} : { parameters: parametersOf(route, components) }),
    ...requestBody(route, components),
    responses: { ...success(route, components), ...empty(route), ...failures(route) },
  };
}

function requestBody({ schema: { body, form, upload } }: Route, components: Map<string, Json>): Json {
  if (upload !== undefined) {
    const content = Object.fromEntries(upload.map((type) => [type, { schema: { ...FileContent } }]));
    return { requestBody: { required: true, content } };
  }
  const [type, schema] = form === undefined ? ['application/json', body] : ['application/x-www-form-urlencoded', form];
  if (schema === undefined) return {};
  return {
    requestBody: { required: !takesNothing(schema), content: { [type]: { schema: schemaOf(schema, components) } } },
  };
}

/** No body at all is validated as null. */
function takesNothing(body: TSchema): boolean {
  const { anyOf = [] } = body as { anyOf?: { type?: string }[] };
  return anyOf.some((option) => option.type === 'null');
}

function securityOf(access: Access): Json[] {
  if (access.kind === 'public') return [];
  if (access.kind === 'optional') return [{}, { bearer: [] }];
  if (access.kind === 'anyone') return [{}, { bearer: [] }, { apiKey: [] }];
  if (access.kind === 'dispatcher') return [{ dispatcherSecret: [] }, { cronSecret: [] }, { bearer: [] }];
  const takesKeys = 'flags' in access && access.flags !== undefined;
  return takesKeys ? [{ bearer: [] }, { apiKey: [] }] : [{ bearer: [] }];
}

const tenantHeader: Json = {
  name: 'X-Tenant-Id',
  in: 'header',
  required: false,
  description: 'System administrators only: the tenant to act on.',
  schema: { type: 'string', format: 'uuid' },
};

const idempotencyHeader: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Sent again with the same key and payload within 24 hours, the request is not done again: its answer is, with `Idempotency-Replayed: true`.',
  schema: { type: 'string', minLength: 1, maxLength: 512 },
};

function parametersOf(route: Route, components: Map<string, Json>): Json[] {
  const { params, query } = route.schema;
  const named = [...parameters('path', params, components), ...parameters('query', query, components)];
  const read = Object.entries(route.headers).map(([name, description]) => header(name, description));
  const all = [...named, ...(isDownload(route) ? fileHeaders : []), ...read];
  if (takesIdempotencyKey(route)) all.push(idempotencyHeader);
  return ['public', 'dispatcher'].includes(route.access.kind) ? all : [...all, tenantHeader];
}

function parameters(place: 'path' | 'query', schema: TSchema | undefined, components: Map<string, Json>): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, TSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => {
    const hoisted = schemaOf(property, components) as Json & { description?: string };
    const { description = propertyDescriptions[name], ...rest } = hoisted;
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

function success(route: Route, components: Map<string, Json>): Json {
  return Object.fromEntries(
    withParts(route).map(([status, schema]) => {
      if (status === '302') return [status, redirect];
      if (schema === null || schema === undefined) return [status, { description: 'Done' }];
      if (schema === FileContent || schema === StreamedContent) return [status, fileAnswer];
      const content = Object.fromEntries(
        route.contentTypes.map((type) => [type, { schema: schemaOf(schema, components) }]),
      );
      return [status, { description: 'OK', content }];
    }),
  );
}

/** Successful answers without a body, in addition to the success of the route. */
function empty({ otherAnswers }: Route): Json {
  const answers = Object.entries(otherAnswers).filter(([status]) => Number(status) < 400);
  return Object.fromEntries(answers.map(([status, description]) => [status, { description }]));
}

const fileAnswer: Json = { description: 'OK', content: { '*/*': { schema: { ...FileContent } } } };
const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string', maxLength: 1000 },
});
const fileHeaders = [
  header('Range', 'One range of bytes (RFC 9110 section 14): answered with 206.'),
  header('If-Range', 'The ETag that the range is of; another content is answered whole.'),
  header('If-None-Match', 'ETags that are known already: answered with 304.'),
];

/** A file can also be answered in parts, or not at all. */
function withParts({ schema }: Route): [string, TSchema | null | undefined][] {
  const statuses = Object.entries(schema.response);
  return statuses[0]?.[1] === FileContent ? [...statuses, ['206', FileContent], ['304', null]] : statuses;
}

const redirect: Json = {
  description: 'On to the next address',
  headers: { Location: { required: true, schema: { type: 'string', format: 'uri' } } },
};

const sharedFailures: Record<number, string> = {
  400: 'The request does not fit its schema',
  401: 'Authentication is required or has failed',
  403: NotPermitted.message,
  500: 'Something went wrong on our side',
  503: ServiceUnavailable.message,
};

/** The reasons by status, in short: they stand at many operations. */
const keyReasons = Object.fromEntries(
  [400, 409, 422].map((status) => [
    status,
    idempotencyErrors.flatMap((error) => (error.status === status ? [error.reason] : [])).join(', '),
  ]),
);

function failures(route: Route): Json {
  const byStatus = new Map<number, string[]>();
  const add = (status: number, text: string) => byStatus.set(status, [...(byStatus.get(status) ?? []), text]);
  const { params, query, body, form } = route.schema;
  if ([params, query, body, form].some((part) => part !== undefined)) add(400, sharedFailures[400]!);
  if (route.access.kind !== 'public' && route.access.kind !== 'optional') {
    add(401, sharedFailures[401]!);
    if (!['anyone', 'session', 'dispatcher'].includes(route.access.kind)) add(403, sharedFailures[403]!);
  }
  for (const error of route.errors) add(error.status, describeError(error));
  if (takesIdempotencyKey(route)) {
    for (const [status, reasons] of Object.entries(keyReasons)) add(Number(status), `Idempotency-Key: ${reasons}`);
  }
  for (const [status, text] of Object.entries(route.otherAnswers)) if (Number(status) >= 400) add(Number(status), text);
  if (isDownload(route)) add(416, 'The file does not reach that far');
  add(500, sharedFailures[500]!);
  if (!byStatus.has(503)) add(503, sharedFailures[503]!);
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${errorNameOf(route)}` } } };
  return Object.fromEntries(
    [...byStatus].map(([status, texts]) => [String(status), { description: texts.join(' — '), content }]),
  );
}

function errorNameOf({ hasBriefErrors, hasRpcErrors }: Route): string {
  if (hasRpcErrors) return 'RpcError';
  return hasBriefErrors ? 'BriefError' : 'Error';
}

function describeError(error: ErrorDefinition): string {
  return error.reason === undefined ? error.message : `${error.message} (details.code: ${error.reason})`;
}

/** A schema with everything that has a title moved to the components. */
function schemaOf(schema: TSchema, components: Map<string, Json>): Json {
  return hoist(JSON.parse(JSON.stringify(schema)) as Json, components) as Json;
}

function hoist(value: unknown, components: Map<string, Json>): unknown {
  if (Array.isArray(value)) return value.map((item) => hoist(item, components));
  if (value === null || typeof value !== 'object') return value;
  const { title, ...rest } = value as Json;
  const plain = Object.fromEntries(
    Object.entries(rest).map(([key, item]) => [
      key,
      key === 'properties' ? describeProperties(item as Record<string, Json>, components) : hoist(item, components),
    ]),
  );
  if (typeof title !== 'string') return title === undefined ? plain : { title: hoist(title, components), ...plain };
  const known = components.get(title);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(plain)) {
    throw new Error(`two different schemas have the title ${title}`);
  }
  components.set(title, plain);
  return { $ref: `#/components/schemas/${title}` };
}

/** Each property with a description: its own, or that of all properties of the name. */
function describeProperties(properties: Record<string, Json>, components: Map<string, Json>): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const description = property['description'] ?? propertyDescriptions[name];
      const hoisted = hoist(property, components) as Json;
      return [name, description === undefined ? hoisted : { ...hoisted, description }];
    }),
  );
}
