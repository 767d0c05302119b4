import type { Principal } from '#core/base/access/principal';
import { AppError } from '#core/base/errors/app-error';
import { isUnavailable } from '#core/data/db/sql-state';
import { isDownload, isStream } from '#core/http/downloads';
import { IdempotencyKeyInvalid } from '#core/http/idempotency/idempotency.errors';
import type { SideEffects } from '#core/http/idempotency/side-effects';
import type { OperationInput, Route } from '#core/http/route';

const bare = /^[\x21-\x7e]+$/;
/** A string of RFC 8941: only quotes and backslashes are escaped. */
const quoted = /^"((?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const maxLength = 255;

/** Whether a route takes an `Idempotency-Key`: POST of one tenant, JSON in and JSON out, with the standard errors. */
export function takesIdempotencyKey(route: Route): boolean {
  const { method, access, audit, schema, contentTypes, hasBriefErrors, hasRpcErrors } = route;
  // Answers of operations without side effects have no limit in number and size, and all would have to be stored.
  if (method !== 'POST' || typeof audit !== 'string') return false;
  if (['public', 'optional', 'anyone', 'dispatcher'].includes(access.kind)) return false;
  // A stored refusal is always a standard error body.
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

/** A key is unique per caller, record and operation. */
export function scopeText({ method, path, access }: Route, principal: Principal, params: unknown, key: string): string {
  // Answers about the caller's own account depend on the session: assurance proven in one session does not count in another.
  const isOfSession = access.kind === 'session' || access.kind === 'person';
  const who = isOfSession && 'sessionId' in principal ? principal.sessionId : principal.id;
  return canonicalJson([principal.kind, who, method, path, params ?? null, key]);
}

/** The values that must be equal for two validated requests to count as the same request. */
export function payloadText({ query, body }: OperationInput): string {
  return canonicalJson([query ?? null, body ?? null]);
}

/** Returns equal texts for equal values, independent of the order of members. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : item,
  );
}

/** Statuses that a retry may not get again: credentials, input and rate limits. Refusals with Retry-After are temporary too. */
const temporary = new Set([400, 401, 403, 408, 429]);

/**
 * The outcome of a key whose request has failed. A permanent refusal is stored like any answer. A temporary refusal releases
 * the key only if the request certainly had no side effect: if a handler refused, the audit trail proves it, because every
 * change writes a row there; if the handler was interrupted, only the absence of any write proves it.
 */
export function outcomeOf(
  failure: AppError,
  error: unknown,
  sideEffects: Pick<SideEffects, 'mayHaveChanged' | 'mayHaveWritten'>,
): 'stored' | 'released' | 'unknown' {
  const { status, retryAfterSeconds } = failure;
  const isTemporary = status >= 500 || temporary.has(status) || retryAfterSeconds !== undefined;
  if (!isTemporary) return 'stored';
  const isDecided = error instanceof AppError && status !== 500 && !isUnavailable(error.cause);
  const hadNoSideEffect = isDecided ? !sideEffects.mayHaveChanged() : !sideEffects.mayHaveWritten();
  if (hadNoSideEffect) return 'released';
  return status < 500 && status !== 429 ? 'stored' : 'unknown';
}
