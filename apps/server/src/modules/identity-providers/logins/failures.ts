import type { RequestFacts } from '#core/base/access/principal';
import { OutboundError } from '#core/platform/outbound/outbound';
import type { Services } from '#core/platform/services';
import type { UsableRegistration } from '#modules/identity-providers/registrations/usable';

const maxDepth = 4;

/** Logs a failure of a provider for the operator, without the answer, which may contain tokens. */
export function reportFailure(
  { log }: Pick<Services, 'log'>,
  { usable, request }: { usable: UsableRegistration; request: RequestFacts },
  error: unknown,
): void {
  const { provider, configuredBy } = usable;
  log.warn({ requestId: request.id, provider, configuredBy, ...describe(error) }, 'identity provider failed');
}

type Failure = { name?: unknown; code?: unknown; message?: unknown; error?: unknown };

function describe(thrown: unknown): { failure: string; reason?: string; outbound?: string } {
  const { name, code, message, error } = (thrown ?? {}) as Failure;
  // Error codes of RFC 6749 section 5.2 are the only part of an answer that explains the failure and contains no
  // secrets.
  const said = typeof error === 'string' && /^[a-z_]{1,60}$/.test(error) ? error : undefined;
  const failure = [name, code, said].filter((part) => typeof part === 'string').join(' ');
  // Parser errors quote the text that they could not read.
  const isQuoting = thrown instanceof SyntaxError;
  return { failure, ...(isQuoting ? {} : { reason: String(message) }), ...outboundReason(thrown) };
}

function outboundReason(error: unknown): { outbound?: string } {
  let cause = error;
  for (let depth = 0; depth < maxDepth && cause instanceof Error; depth++) {
    if (cause instanceof OutboundError) return { outbound: rootMessage(cause) };
    cause = cause.cause;
  }
  return {};
}

function rootMessage(error: Error): string {
  const messages: string[] = [];
  let cause: unknown = error.cause;
  for (let depth = 0; depth < maxDepth && cause instanceof Error; depth++) {
    messages.push(cause.message);
    cause = cause.cause;
  }
  return messages.join(': ');
}
