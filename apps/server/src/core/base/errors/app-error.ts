/** The codes a standard error body may carry (specification, "Errors"). */
export const errorStatus = {
  VALIDATION_ERROR: 400,
  BAD_REQUEST: 400,
  AUTHENTICATION_ERROR: 401,
  INVALID_TOKEN: 401,
  TOKEN_EXPIRED: 401,
  AUTHORIZATION_ERROR: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  URI_TOO_LONG: 414,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RANGE_NOT_SATISFIABLE: 416,
  EXPECTATION_FAILED: 417,
  UNPROCESSABLE_ENTITY: 422,
  RATE_LIMIT_EXCEEDED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  UPSTREAM_ERROR: 502,
  SERVICE_UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

export type ErrorDetails = Record<string, unknown>;

type AppErrorOptions = {
  details?: ErrorDetails | undefined;
  cause?: unknown;
  /** Seconds after which a retry makes sense; sent as `Retry-After`. */
  retryAfterSeconds?: number | undefined;
};

/** A failure whose code and message the caller may see. Anything else thrown is answered 500 with no inner text. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: ErrorDetails | null;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = errorStatus[code];
    this.details = options.details ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** An entry of a module's error table: `throw UserNotFound()`; routes list it and OpenAPI documents it. */
export type ErrorDefinition = ((options?: AppErrorOptions) => AppError) & {
  readonly code: ErrorCode;
  readonly status: number;
  readonly message: string;
  /** Finer reason, sent as `details.code` so that programs need not parse the message. */
  readonly reason: string | undefined;
};

/** @param retryAfterSeconds unless the thrown error says otherwise */
export function defineError(
  code: ErrorCode,
  message: string,
  reason?: string,
  retryAfterSeconds?: number,
): ErrorDefinition {
  const create = (options: AppErrorOptions = {}) =>
    new AppError(code, message, {
      retryAfterSeconds,
      ...options,
      details: reason === undefined ? options.details : { code: reason, ...options.details },
    });
  return Object.assign(create, { code, status: errorStatus[code], message, reason });
}
