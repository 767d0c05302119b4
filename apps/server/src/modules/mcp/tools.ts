import type { TSchema } from 'typebox';

import { describeAccess } from '#core/base/access/access';
import { FileContent, StreamedContent } from '#core/http/downloads';
import { successStatus, type Module, type Route } from '#core/http/route';
import { toolHints, type ToolMetadata, type Toolset } from '#core/http/tool';
import { toolsets } from '#modules/mcp/toolsets';

export type ToolAnnotations = {
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
};

type JsonSchema = Record<string, unknown>;

/** A tool as `tools/list` returns it. */
type ToolDefinition = {
  name: string;
  title: string;
  description: string;
  inputSchema: JsonSchema & { type: 'object' };
  outputSchema?: JsonSchema & { type: 'object' };
  annotations: ToolAnnotations;
};

type Part = 'params' | 'query' | 'body';

/** An operation as a tool. */
export type Tool = {
  route: Route;
  toolset: Toolset;
  definition: ToolDefinition;
  /** The part of the request for each argument. */
  parts: ReadonlyMap<string, Part>;
};

/**
 * All operations that are tools, ordered by toolset and then by definition.
 * @throws Error for an operation that cannot be a tool; its route is wrong.
 */
export function listTools(modules: readonly Module[]): readonly Tool[] {
  const tools = modules.flatMap(({ routes }) => routes.filter((route) => route.tool !== undefined).map(toTool));
  const order = Object.keys(toolsets);
  return tools.toSorted((left, right) => order.indexOf(left.toolset) - order.indexOf(right.toolset));
}

const requestParts: readonly Part[] = ['params', 'query', 'body'];
const callable = new Set(['public', 'session', 'person', 'member', 'permission', 'tenantAdmin']);

function toTool(route: Route): Tool {
  assertCanBeTool(route);
  const metadata = route.tool!;
  const title = metadata.title ?? inWords(route.operationId);
  const parts = new Map<string, Part>();
  for (const part of requestParts) {
    for (const name of Object.keys(objectOf(route, part)?.properties ?? {})) {
      if (parts.has(name)) throw new Error(`${route.operationId} as a tool: duplicate argument ${name}`);
      parts.set(name, part);
    }
  }
  return {
    route,
    toolset: metadata.toolset,
    parts,
    definition: {
      name: inSnakeCase(route.operationId),
      title,
      description: metadata.description,
      inputSchema: inputSchemaOf(route),
      ...outputSchemaOf(route),
      annotations: annotationsOf(route, metadata, title),
    },
  };
}

function assertCanBeTool(route: Route): void {
  const { access, contentTypes, schema } = route;
  const answer = schema.response[successStatus(route) as 200];
  const problems = [
    !callable.has(access.kind) && `tools are not for ${describeAccess(access)}`,
    (schema.form ?? schema.upload) !== undefined && 'tools take JSON',
    (answer === FileContent || answer === StreamedContent || !contentTypes.includes('application/json')) &&
      'tools answer JSON',
    schema.response[302] !== undefined && 'tools cannot redirect',
  ].filter((problem) => problem !== false);
  if (problems.length > 0) throw new Error(`${route.operationId} cannot be a tool: ${problems.join(', ')}`);
}

type ObjectSchema = JsonSchema & { properties: Record<string, JsonSchema>; required?: string[] };

/** The schema of one part of the request; arguments of the query are not repeated in the body. */
function objectOf(route: Route, part: Part): ObjectSchema | undefined {
  const schema = route.schema[part];
  if (schema === undefined) return undefined;
  const plain = orObject(published(schema));
  if (plain.type !== 'object' || typeof plain.properties !== 'object')
    throw new Error(`${route.operationId} as a tool: its ${part} is not an object with named properties`);
  const object = plain as ObjectSchema;
  const { properties: inQuery = {} } = (route.schema.query ?? {}) as { properties?: object };
  const isRepeated = part === 'body' && Object.keys(object.properties).every((name) => Object.hasOwn(inQuery, name));
  return isRepeated ? undefined : object;
}

/** An optional body requires no arguments. */
function orObject(schema: JsonSchema): JsonSchema {
  const { type } = schema;
  if (!Array.isArray(type) || !type.includes('null')) return schema;
  return { ...schema, type: 'object', required: [] };
}

/** One flat, closed object. */
function inputSchemaOf(route: Route): ToolDefinition['inputSchema'] {
  const objects = requestParts.map((part) => objectOf(route, part)).filter((object) => object !== undefined);
  const required = objects.flatMap((object) => object.required ?? []);
  return {
    type: 'object',
    properties: Object.assign({}, ...objects.map(({ properties }) => properties)) as JsonSchema,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

function outputSchemaOf(route: Route): Pick<ToolDefinition, 'outputSchema'> {
  const schema = route.schema.response[successStatus(route) as 200];
  if (schema === undefined || schema === null) return {};
  const plain = published(schema);
  return plain.type === 'object' ? { outputSchema: plain as ToolDefinition['inputSchema'] } : {};
}

function annotationsOf({ method }: Route, metadata: ToolMetadata, title: string): ToolAnnotations {
  const { readOnly, destructive, idempotent, openWorld } = toolHints(method, metadata);
  return {
    title,
    readOnlyHint: readOnly,
    destructiveHint: destructive,
    idempotentHint: idempotent,
    openWorldHint: openWorld,
  };
}

/** Formats of JSON Schema; other validators do not know further formats or our keywords. */
const knownFormats = new Set(['date-time', 'date', 'time', 'duration', 'email', 'uri', 'uuid', 'ipv4', 'ipv6']);

/** A schema in standard JSON Schema; titles are only for our documentation. */
function published(schema: TSchema): JsonSchema {
  return publish(JSON.parse(JSON.stringify(schema))) as JsonSchema;
}

function publish(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(publish);
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(orNull(value as JsonSchema)).filter(([key, item]) => {
    if (key.startsWith('x-')) return false;
    if (key === 'title') return typeof item !== 'string';
    return key !== 'format' || typeof item !== 'string' || knownFormats.has(item);
  });
  return Object.fromEntries(kept.map(([key, item]) => [key, publish(item)]));
}

/** `T or null` as one schema of two types: a third of the length. */
function orNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema;
  const [first, second] = anyOf as [JsonSchema, JsonSchema];
  if (second.type !== 'null' || typeof first.type !== 'string' || first.enum !== undefined || first.const !== undefined)
    return schema;
  return { ...first, ...rest, type: [first.type, 'null'] };
}

function inSnakeCase(operationId: string): string {
  return operationId.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function inWords(operationId: string): string {
  const words = operationId.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
