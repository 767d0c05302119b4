import { ConnectionLostError } from '#core/data/db/connection';

type ServerError = Error & { code?: string; constraint?: string; severity?: string };

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
]);

/** Five characters, among them a digit, which codes of Node (`EPIPE`) have not. */
const sqlState = /^(?=.*\d)[0-9A-Z]{5}$/;

/** True when PostgreSQL is gone, starting, stopping, read-only or out of room: the request may be tried again later. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof ConnectionLostError || isReadOnly(error)) return true;
  if (!(error instanceof Error)) return false;
  const code = (error as ServerError).code ?? '';
  // Class 08 connection, 53 resources, 57 operator intervention, 58 system error (PostgreSQL manual, appendix A).
  if (/^(08|53|57|58|55P03)/.test(code) || networkCodes.has(code)) return true;
  return (
    code === '' &&
    /^(Connection terminated|Client has encountered|Client was closed|timeout expired)/.test(error.message)
  );
}

/** The statement writes, and the server takes no writes: it is a standby, or was made read-only. */
export function isReadOnly(error: unknown): boolean {
  return (error as ServerError | null)?.code === '25006';
}

/** The statement waited for a lock as long as it may, and took no effect. */
export function isLockTimeout(error: unknown): boolean {
  return (error as ServerError | null)?.code === '55P03';
}

/** A page of a table (XX001) or an index (XX002) is damaged. */
export function isDamaged(error: unknown): boolean {
  return /^XX00[12]$/.test((error as ServerError | null)?.code ?? '');
}

/** Serialization failure or deadlock: nothing took effect, the same work may simply be done again. */
export function isRetryable(error: unknown): boolean {
  const code = (error as ServerError | null)?.code;
  return code === '40001' || code === '40P01';
}

/**
 * True when it is certain that what was sent has not taken effect: it never left, or PostgreSQL said why it rolled it back. A
 * connection that ended before the answer says nothing of the commit.
 */
export function tookNoEffect(error: unknown): boolean {
  if (error instanceof ConnectionLostError) return true;
  const { code = '' } = (error ?? {}) as ServerError;
  return sqlState.test(code) && !/^(08|57P|58|XX)/.test(code);
}

/** The name of the violated constraint, for the module that owns the table to translate. */
export function violatedConstraint(error: unknown): string | undefined {
  const { code, constraint } = (error ?? {}) as ServerError;
  return code?.startsWith('23') ? constraint : undefined;
}

/** A value that PostgreSQL refuses to store or compare (class 22): a client error that validation did not find. */
export function isInvalidValue(error: unknown): boolean {
  const { code } = (error ?? {}) as ServerError;
  return code !== undefined && (code.startsWith('22') || code === '54001');
}

/** PostgreSQL will never take this row: for a value (class 22), a constraint (23) or its size (54). */
export function isRefusedForGood(error: unknown): boolean {
  return /^(22|23|54)/.test((error as ServerError | null)?.code ?? '');
}
