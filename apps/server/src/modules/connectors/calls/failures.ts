/** Why an attempt at a provider failed, in words that tell nothing of what listens where. */
export type FailureKind =
  /** No usable HTTP answer: refused, unresolved, timed out, cut, too large, not allowed; all alike. */
  | 'unreachable'
  /** 401 or 403, or credentials that cannot be read. */
  | 'credentials'
  /** 429 or 408: it asks for patience, which is no failure. */
  | 'rate_limited'
  /** Any other answer that is not 2xx. */
  | 'answer'
  /** 2xx, but not what the operation needs: another shape, or a result that did not pass its checks. */
  | 'content';

/** Thrown within an attempt; whoever runs attempts goes on to the next provider. */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure';
  readonly kind: FailureKind;
  readonly httpStatus: number | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    kind: FailureKind,
    rest: { httpStatus?: number; retryAfterSeconds?: number | undefined; cause?: unknown } = {},
  ) {
    super(`a provider failed: ${kind}`, { cause: rest.cause });
    this.kind = kind;
    this.httpStatus = rest.httpStatus;
    this.retryAfterSeconds = rest.retryAfterSeconds;
  }
}

/** For adapters: the provider answered, but its answer is of no use. */
export function unusable(reason: string): ProviderFailure {
  return new ProviderFailure('content', { cause: new Error(reason) });
}
