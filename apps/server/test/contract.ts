import type { Route } from '#core/http/route';

type Schema = {
  type?: string;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  maxLength?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  maxProperties?: number;
  additionalProperties?: unknown;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
  oneOf?: Schema[];
};

type Visit = (schema: Schema, path: string) => string | undefined;

/** Answers whose objects the specification, or the format behind them, leaves open. */
export const freeObjects: Readonly<Record<string, string>> = {
  PostalAddress: 'specification, "Contact": extra keys allowed',
  properties: 'custom fields of a space or a resource',
  json_schema: 'JSON Schema: an object of keywords with different forms',
  details: 'specification, "Audit log record": object',
  config: 'specification, "External API provider connector" and "Flow task": free object',
  auth_config: 'specification, "External API provider connector": free object; masked',
  error_details: 'specification, "External API provider connector": object',
  customer_credentials: 'specification, "Tenant override": object; masked',
  quota_ceiling: 'specification, "Tenant override": object',
  override_config: 'specification, "Tenant override": object',
  context: 'specification, "Application log record": free object',
  answers: 'answers of a client to a flow task, unchanged',
  quietHours: 'specification, "Notification preference": free object',
  rules: 'specification, "Notification preference": free object',
  NotificationData: 'data of a notification for programs, unchanged',
  output: 'result of a run of a scheduled job: each job has different figures',
  services: 'specification, "Health": keyed by service',
  statusBreakdown: 'specification, "Health": keyed by status',
  'keys[]': 'RFC 7517: members depend on the kind of key',
  'getOpenApi 200': 'the OpenAPI document has a schema of its own',
};

/** Objects in bodies with keys that the caller chooses. */
export const freeBodyObjects: Readonly<Record<string, string>> = {
  address: 'specification, "Contact": extra keys allowed; bounded as JSON',
  config: 'specification, "External API provider connector" and "Flow task": free object; bounded as JSON',
  auth_config: 'specification, "External API provider connector": free object; bounded as JSON',
  customer_credentials: 'specification, "tenant-overrides": object; bounded as JSON',
  quota_ceiling: 'specification, "tenant-overrides": object; known keys are checked, bounded as JSON',
  override_config: 'specification, "tenant-overrides": object; bounded as JSON',
  answers: 'answers of a client to a flow task; bounded as JSON',
  quietHours: 'specification, "Notification preference": free object; known keys are checked, bounded as JSON',
  rules: 'specification, "Notification preference": free object; known keys are checked, bounded as JSON',
  data: 'data of a notification for programs; bounded as JSON',
  params: 'JSON-RPC: each method has parameters of its own, which are checked where it is called',
  'updateLogConfigSection body':
    'specification, "Log management": free object; held against the section when it is known',
  json_schema: 'JSON Schema: checked against the part of it that types are written in; bounded as JSON',
  properties: 'custom fields of a space or a resource; bounded by the limits on depth, keys and body size',
};

/** Formats that bound the text by themselves. */
const boundedFormats = new Set(['uuid', 'date-time']);

/** Response objects that would let a stray property through. */
export function openResponses(routes: readonly Route[], allowed: Readonly<Record<string, string>>): string[] {
  return routes.flatMap((route) =>
    Object.entries(route.schema.response).flatMap(([status, schema]) =>
      walk(schema, `${route.operationId} ${status}`, (node, path) => {
        if (!isObject(node) || node.additionalProperties === false) return undefined;
        const title = (node as { title?: string }).title ?? '';
        const isAllowed = path in allowed || lastStep(path) in allowed || title in allowed;
        return isAllowed ? undefined : `${path}: the object is open`;
      }),
    ),
  );
}

/** Objects in bodies that would accept an unknown property. */
export function openBodies(routes: readonly Route[], allowed: Readonly<Record<string, string>>): string[] {
  return routes.flatMap((route) =>
    walk(route.schema.body, `${route.operationId} body`, (node, path) => {
      if (!isObject(node) || node.additionalProperties === false) return undefined;
      return lastStep(path) in allowed ? undefined : `${path}: the object is open`;
    }),
  );
}

/** Texts, lists and numbers without bounds. */
export function unboundedInputs(routes: readonly Route[]): string[] {
  return routes.flatMap((route) =>
    (['params', 'query', 'body', 'form'] as const).flatMap((part) =>
      walk(route.schema[part], `${route.operationId} ${part}`, (node, path) => {
        if (node.enum !== undefined || node.const !== undefined) return undefined;
        if (node.type === 'string' && !isBoundedText(node)) return `${path}: the text has no largest length`;
        if (node.type === 'array' && node.maxItems === undefined) return `${path}: the list has no largest length`;
        const isNumber = node.type === 'number' || node.type === 'integer';
        if (isNumber && (node.minimum === undefined || node.maximum === undefined))
          return `${path}: the number has no range`;
        return undefined;
      }),
    ),
  );
}

/** Names that appear twice, and operations that change something without saying what the audit trail calls it. */
export function namelessOperations(routes: readonly Route[]): string[] {
  const ids = routes.map((route) => route.operationId);
  const places = routes.map((route) => `${route.method} ${route.path.replaceAll(/\{\w+\}/g, '{}')}`);
  return [
    ...duplicates(ids).map((id) => `${id} is the name of two operations`),
    ...duplicates(places).map((place) => `${place} is routed twice`),
    ...routes
      .filter((route) => !/^[a-z][A-Za-z\d]+$/.test(route.operationId))
      .map((route) => `${route.operationId}: not a name`),
    ...routes
      .filter((route) => route.method !== 'GET' && !hasAudit(route))
      .map((route) => `${route.operationId} is not audited`),
    ...routes
      .filter((route) => !/^\/(?:[\w.-]+|\{\w+\})(?:\/(?:[\w.-]+|\{\w+\}))*$/.test(route.path))
      .map((route) => `${route.operationId}: ${route.path} is not a path`),
    ...routes
      .filter((route) => Object.keys(route.schema.response).length !== 1)
      .map((route) => `${route.operationId} has not exactly one success status`),
  ];
}

/** Parameters of the path without a schema, and the other way round. */
export function unknownParams(routes: readonly Route[]): string[] {
  return routes.flatMap((route) => {
    const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
    const inSchema = Object.keys((route.schema.params as Schema | undefined)?.properties ?? {});
    return [
      ...inPath
        .filter((name) => !inSchema.includes(name))
        .map((name) => `${route.operationId}: {${name}} has no schema`),
      ...inSchema
        .filter((name) => !inPath.includes(name))
        .map((name) => `${route.operationId}: ${name} is not in the path`),
    ];
  });
}

function hasAudit({ audit }: Route): boolean {
  if (typeof audit === 'string') return /^[a-z_]+(\.[a-z_]+)+$/.test(audit);
  return typeof audit?.none === 'string' && audit.none.length > 10;
}

function isObject(node: Schema): boolean {
  return node.type === 'object' || node.properties !== undefined || node.patternProperties !== undefined;
}

function isBoundedText({ maxLength, format, pattern }: Schema): boolean {
  if (maxLength !== undefined || boundedFormats.has(format ?? '')) return true;
  // Anchored at both ends and without a quantifier that is open upwards.
  return pattern !== undefined && /^\^.*\$$/.test(pattern) && !/(?<!\\)[*+]|\{\d+,\}/.test(pattern);
}

function walk(schema: unknown, path: string, visit: Visit): string[] {
  if (schema === null || typeof schema !== 'object') return [];
  const node = schema as Schema;
  const found = visit(node, path);
  return [
    ...(found === undefined ? [] : [found]),
    ...Object.entries(node.properties ?? {}).flatMap(([name, child]) => walk(child, `${path}.${name}`, visit)),
    ...Object.values(node.patternProperties ?? {}).flatMap((child) => walk(child, `${path}.*`, visit)),
    ...walk(node.items, `${path}[]`, visit),
    ...walk(node.additionalProperties, `${path}.*`, visit),
    ...[node.anyOf, node.allOf, node.oneOf].flatMap((options) =>
      (options ?? []).flatMap((child) => walk(child, path, visit)),
    ),
  ];
}

function lastStep(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

function duplicates(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}

type Json = Record<string, unknown>;

/** Properties and parameters of the API description that say nothing of themselves, as `<component or path>.<property>`. */
export function undescribed(document: unknown): string[] {
  const found: string[] = [];
  const visit = (value: unknown, at: string): void => {
    if (Array.isArray(value)) return value.forEach((item) => visit(item, at));
    if (typeof value !== 'object' || value === null) return;
    const { properties, parameters, ...rest } = value as Json & { properties?: Json; parameters?: Json[] };
    for (const [name, schema] of Object.entries(properties ?? {})) {
      if ((schema as Json)['description'] === undefined) found.push(`${at}.${name}`);
      visit(schema, `${at}.${name}`);
    }
    for (const one of parameters ?? [])
      if (one['description'] === undefined) found.push(`${at}?${String(one['name'])}`);
    for (const inner of Object.values(rest)) visit(inner, at);
  };
  const { paths, components } = document as { paths: Json; components: { schemas: Json } };
  for (const [path, item] of Object.entries(paths)) visit(item, path);
  for (const [title, schema] of Object.entries(components.schemas)) visit(schema, title);
  return found;
}
