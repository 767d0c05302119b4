import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
} from '@modelcontextprotocol/server';

import { protocolVersions, statelessVersion } from '#modules/mcp/catalog';
import type { ToolReply } from '#modules/mcp/tool-calls.service';

type Json = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string | undefined>>;

/** A plain tool call without anything that the SDK would reject. */
export type OrdinaryCall = {
  id: string | number;
  /** Whether the request has revision 2026-07-28, whose answers have more fields. */
  isModern: boolean;
  name: string;
  given: Json;
  clientInfo: unknown;
};

const older: ReadonlySet<string> = new Set(protocolVersions.filter((version) => version !== statelessVersion));
const olderKeys: ReadonlySet<string> = new Set(['progressToken']);
const modernKeys: ReadonlySet<string> = new Set([
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  'progressToken',
]);
const clientKeys: ReadonlySet<string> = new Set(['name', 'title', 'version']);
const paramKeys: ReadonlySet<string> = new Set(['name', 'arguments', '_meta']);

/**
 * Reads a message that is clearly a plain tool call. The SDK reads all other messages and reports what is wrong with them.
 * For plain calls the SDK would cost more than the operation.
 */
export function readOrdinaryCall(message: Json, headers: Headers): OrdinaryCall | undefined {
  const { id, method } = message;
  if (method !== 'tools/call' || !isId(id) || Object.keys(message).length !== 4) return undefined;
  const call = readParams(message.params);
  if (call === undefined) return undefined;
  const { said, ...rest } = call;
  const isModern = said[PROTOCOL_VERSION_META_KEY] !== undefined;
  const isClear = isModern ? isModernEnvelope(said, headers, rest.name) : isOlderEnvelope(said, headers);
  return isClear ? { ...rest, id, isModern, clientInfo: said[CLIENT_INFO_META_KEY] } : undefined;
}

function readParams(params: unknown): { name: string; given: Json; said: Json } | undefined {
  if (!isObject(params) || !hasOnly(params, paramKeys)) return undefined;
  const { name, arguments: given = {}, _meta: said = {} } = params;
  if (typeof name !== 'string' || !isObject(given) || !isObject(said) || !isToken(said.progressToken)) return undefined;
  return { name, given, said };
}

function isModernEnvelope(said: Json, headers: Headers, name: string): boolean {
  return (
    said[PROTOCOL_VERSION_META_KEY] === statelessVersion &&
    headers['mcp-protocol-version'] === statelessVersion &&
    headers['mcp-method'] === 'tools/call' &&
    headers['mcp-name'] === name &&
    hasOnly(said, modernKeys) &&
    areCapabilities(said[CLIENT_CAPABILITIES_META_KEY]) &&
    isClientInfo(said[CLIENT_INFO_META_KEY])
  );
}

function isOlderEnvelope(said: Json, { 'mcp-protocol-version': version }: Headers): boolean {
  return hasOnly(said, olderKeys) && (version === undefined || older.has(version));
}

/** Renders the same answer as the SDK. */
export function renderReply(reply: ToolReply, { id, isModern }: OrdinaryCall, serverInfo: object): string {
  const structure = reply.structure === undefined ? '' : `,"structuredContent":${reply.structure.json}`;
  const isError = reply.isError ? ',"isError":true' : '';
  const meta = { ...metaOf(reply), ...(isModern ? { [SERVER_INFO_META_KEY]: serverInfo } : {}) };
  const more = Object.keys(meta).length === 0 ? '' : `,"_meta":${JSON.stringify(meta)}`;
  const kind = isModern ? ',"resultType":"complete"' : '';
  const content = `"content":[{"type":"text","text":${JSON.stringify(reply.text)}}]`;
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${content}${structure}${isError}${kind}${more}}}`;
}

export function toResult(reply: ToolReply) {
  const meta = metaOf(reply);
  return {
    content: [{ type: 'text' as const, text: reply.text }],
    ...(reply.structure === undefined ? {} : { structuredContent: reply.structure.value }),
    ...(reply.isError ? { isError: true } : {}),
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  };
}

function metaOf({ headers }: ToolReply): Record<string, unknown> {
  return headers === undefined ? {} : { 'atrium/headers': headers };
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

function isToken(value: unknown): boolean {
  return value === undefined || isId(value);
}

function isClientInfo(value: unknown): boolean {
  if (value === undefined) return true;
  if (!isObject(value) || !hasOnly(value, clientKeys)) return false;
  const { name, title = '', version } = value;
  return [name, title, version].every((text) => typeof text === 'string');
}

/** Accepts empty capabilities, and the only non-empty one that clients send (`roots.listChanged`). */
function areCapabilities(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(([name, one]) => {
    if (!isObject(one)) return false;
    const { listChanged, ...rest } = one;
    const isPlain = listChanged === undefined || (name === 'roots' && typeof listChanged === 'boolean');
    return isPlain && Object.keys(rest).length === 0;
  });
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasOnly(value: Json, known: ReadonlySet<string>): boolean {
  return Object.keys(value).every((key) => known.has(key));
}
