import type { Principal } from '#core/access/principal';
import { isUnavailable } from '#core/db/sql-state';
import { AppError } from '#core/errors/app-error';
import { isDownload, isStream } from '#core/http/downloads';
import type { Doings } from '#core/http/idempotency/doings';
import { IdempotencyKeyInvalid } from '#core/http/idempotency/idempotency.errors';
import type { OperationInput, Route } from '#core/http/route';

const bare = /^[\x21-\x7e]+$/;
/** A string of RFC 8941: only quotes and backslashes are escaped. */
const quoted = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const maxLength = 255;

/** Whether a route takes an `Idempotency-Key`: POST of one tenant, JSON in and JSON out, with the standard errors. */
export function takesIdempotencyKey(route: Route): boolean {
  const { method, access, audit, schema, contentTypes, hasBriefErrors, hasRpcErrors } = route;
  // Answers of what changes nothing could be as many and as long as anybody likes, and would all have to be kept.
  if (method !== 'POST' || typeof audit !== 'string') return false;
  if (['public', 'optional', 'anyone', 'dispatcher'].includes(access.kind)) return false;
  // What is kept of a refusal is its standard body.
  if (hasBriefErrors || hasRpcErrors) return false;
  const isJson = schema.form === undefined && schema.upload === undefined && contentTypes.join() === 'application/json';
  return isJson && !isDownload(route) && !isStream(route) && schema.response[302] === undefined;
}

/**
 * The key that a header names; bare and quoted it is the same.
 * @throws IdempotencyKeyInvalid
 */
export function readIdempotencyKey(header: string): string {
  const key = header.startsWith('"') ? quoted.exec(header)?.[1]?.replaceAll(/\\(.)/g, '$1') : header;
  if (key === undefined || key.length > maxLength || !bare.test(key)) throw IdempotencyKeyInvalid();
  return key;
}

/** What a key belongs to: another caller's, another record's or another operation's same key is another one. */
export function scopeText({ method, path, access }: Route, principal: Principal, params: unknown, key: string): string {
  // Answers about the own account are about the session too: what one has proven is not proven in another.
  const isOfSession = access.kind === 'session' || access.kind === 'person';
  const who = isOfSession && 'sessionId' in principal ? principal.sessionId : principal.id;
  return canonicalJson([principal.kind, who, method, path, params ?? null, key]);
}

/** What has to be the same for a request to be the same, once it was validated. */
export function payloadText({ query, body }: OperationInput): string {
  return canonicalJson([query ?? null, body ?? null]);
}

/** The same text for the same value, in whatever order the members came. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : item,
  );
}

/** Refusals that need not last: of who asks, of what was sent, and of too much at once; beside those that say when to come again. */
const passing = new Set([400, 401, 403, 408, 429]);

/**
 * What becomes of a key whose request has failed. A refusal is an answer like any other. What may pass is to be tried again
 * with the same key, but only where it is certain that nothing was done: where a handler decided to refuse, the audit trail
 * says so, since nothing changes without a row in it; where it was interrupted, only that nothing was written at all.
 */
export function fateOf(
  failure: AppError,
  error: unknown,
  doings: Pick<Doings, 'mayHaveChanged' | 'mayHaveWritten'>,
): 'kept' | 'released' | 'unknown' {
  const { status, retryAfterSeconds } = failure;
  const mayPass = status >= 500 || passing.has(status) || retryAfterSeconds !== undefined;
  if (!mayPass) return 'kept';
  const isDecided = error instanceof AppError && status !== 500 && !isUnavailable(error.cause);
  const isUndone = isDecided ? !doings.mayHaveChanged() : !doings.mayHaveWritten();
  if (isUndone) return 'released';
  return status < 500 && status !== 429 ? 'kept' : 'unknown';
}
