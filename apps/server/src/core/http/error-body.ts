import { AppError, defineError, type ErrorDefinition } from '#core/base/errors/app-error';
import { InternalError, ServiceUnavailable } from '#core/base/errors/common-errors';
import { isInvalidValue, isRetryable, isUnavailable, violatedConstraint } from '#core/data/db/sql-state';
import type { ErrorForm } from '#core/http/error-forms';

/** The standard error body (specification, "Errors"). */
export type ErrorBodyValue = {
  error: string;
  message: string;
  statusCode: number;
  requestId: string | null;
  details: Record<string, unknown> | null;
  timestamp: string;
};

const ValueRefused = defineError('VALIDATION_ERROR', 'A value is out of the range that can be stored.');
const BadRequest = defineError('BAD_REQUEST', 'The request is malformed.');

const maxIdLength = 200;

const frameworkErrors: Readonly<Record<string, (cause: unknown) => AppError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new AppError('PAYLOAD_TOO_LARGE', 'The request body is too large.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new AppError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new AppError('BAD_REQUEST', 'The body is not as long as Content-Length says.'),
  FST_ERR_BAD_URL: () => new AppError('BAD_REQUEST', 'The URL is not valid.'),
  FST_ERR_HANDLER_TIMEOUT: (cause) => ServiceUnavailable({ cause, retryAfterSeconds: 1 }),
  FST_ERR_MAX_PARAM_LENGTH: () => new AppError('URI_TOO_LONG', 'A part of the path is too long.'),
};

/** Converts any thrown value to the error the caller may see. The inner text of an unforeseen error is not shown. */
export function toAppError(error: unknown, constraints: Readonly<Record<string, ErrorDefinition>>): AppError {
  if (error instanceof AppError) return error;
  const constraint = violatedConstraint(error);
  const known = constraint === undefined ? undefined : constraints[constraint];
  if (known !== undefined) return known({ cause: error });
  if (isInvalidValue(error)) return ValueRefused({ cause: error });
  // Serialization failures and deadlocks were retried before they arrive here.
  if (isUnavailable(error) || isRetryable(error)) return ServiceUnavailable({ cause: error, retryAfterSeconds: 1 });
  return frameworkFailure(error) ?? InternalError({ cause: error });
}

function frameworkFailure(error: unknown): AppError | undefined {
  const { code = '', statusCode = 500 } = (error ?? {}) as Error & { code?: string; statusCode?: number };
  const known = frameworkErrors[code];
  if (known !== undefined) return known(error);
  return code.startsWith('FST_') && statusCode < 500 ? BadRequest({ cause: error }) : undefined;
}

/** An error for the statistics of the operator: what was told, or of a fault its cause. */
export function summarizeError({ code, status, message, details, cause }: AppError): string {
  if (status >= 500 && cause instanceof Error) return `${code}: ${cause.message}`;
  // Where the schema was not met, the message names a place that callers may have made up.
  return `${code}: ${details?.issues === undefined ? message : 'The request does not fit its schema.'}`;
}

/** What routes with brief errors answer (specification, "Dispatcher operations return errors as {error, message} only"). */
function presentBriefError({ code, message }: AppError): Pick<ErrorBodyValue, 'error' | 'message'> {
  return { error: code, message };
}

/**
 * What routes answer that speak JSON-RPC 2.0: its codes where they fit, the standard body as `data`, the id of what was asked
 * where that could be read.
 */
function presentRpcError(error: AppError, requestId: string | null, asked?: unknown) {
  const data = presentError(error, requestId);
  return { jsonrpc: '2.0', id: idOf(asked), error: { code: rpcCode(error), message: error.message, data } };
}

function idOf(asked: unknown): string | number | null {
  const { id } = (asked ?? {}) as { id?: unknown };
  if (typeof id === 'string') return id.length <= maxIdLength ? id : null;
  return Number.isSafeInteger(id) ? (id as number) : null;
}

/**
 * -32700 where the body is not JSON, -32600 where it is not a message; statuses without a JSON-RPC code get one of the range
 * reserved for servers.
 */
function rpcCode({ status, cause }: AppError): number {
  if (status === 400 && cause instanceof SyntaxError) return -32_700;
  if (status === 400) return -32_600;
  return status === 500 ? -32_603 : -32_000;
}

/** Presents the error in the form of the route; `asked` is the request body if it was read. */
export function presentFailure(
  error: AppError,
  { requestId, form, asked }: { requestId: string; form: ErrorForm | undefined; asked?: unknown },
): object {
  if (form?.hasRpcErrors === true) return presentRpcError(error, requestId, asked);
  return form?.hasBriefErrors === true ? presentBriefError(error) : presentError(error, requestId);
}

/** Seconds after which a retry makes sense; undefined where none does. */
export function retryAfterOf({ retryAfterSeconds, status }: AppError): number | undefined {
  return retryAfterSeconds ?? ([429, 503].includes(status) ? 1 : undefined);
}

export function presentError(error: AppError, requestId: string | null, now: Date = new Date()): ErrorBodyValue {
  return {
    error: error.code,
    message: error.message,
    statusCode: error.status,
    requestId,
    details: error.details,
    timestamp: now.toISOString(),
  };
}
