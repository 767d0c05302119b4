import { OutboundError } from '#core/platform/outbound/outbound';
import type { FailureKind } from '#modules/connectors/calls/answers.rules';

export type { FailureKind } from '#modules/connectors/calls/answers.rules';

/** Thrown within an attempt; the next provider is tried. */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure';
  readonly kind: FailureKind;
  readonly httpStatus: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** For a refusal: whether it is temporary. */
  readonly mayPass: boolean;

  constructor(
    kind: FailureKind,
    rest: { httpStatus?: number; retryAfterSeconds?: number | undefined; mayPass?: boolean; cause?: unknown } = {},
  ) {
    super(`a provider failed: ${kind}`, { cause: rest.cause });
    this.kind = kind;
    this.httpStatus = rest.httpStatus;
    this.retryAfterSeconds = rest.retryAfterSeconds;
    this.mayPass = rest.mayPass ?? false;
  }
}

/** Whether the error occurred before the provider was called. */
export function isCallNotMade(error: unknown): boolean {
  if (error instanceof OutboundError) return error.isCallNotMade;
  return error instanceof Error && error.cause !== undefined && isCallNotMade(error.cause);
}

/** For adapters: the answer of the provider is unusable. */
export function unusable(reason: string): ProviderFailure {
  return new ProviderFailure('content', { cause: new Error(reason) });
}
