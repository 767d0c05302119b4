/** Why an attempt at a provider failed; the kinds reveal nothing about addresses. */
export type FailureKind =
  /** No usable HTTP answer: refused, unresolved, timed out, broken, too large or not allowed. */
  | 'unreachable'
  /** 401 or 403, or unusable credentials or settings. */
  | 'credentials'
  /** 429 or 408: the provider limits the rate, which does not count as a failure. */
  | 'rate_limited'
  /** 400, 413, 414 or 422: the provider refuses this request, such as an unknown language or number. */
  | 'refused'
  /** Any other status than 2xx. */
  | 'answer'
  /** 2xx with unusable content: another shape, or a result that fails the checks. */
  | 'content';

/** Default if the provider sends no Retry-After. */
export const defaultRetryAfterSeconds = 5;
/** The same as the longest pause after failures. */
const maxRetryAfterSeconds = 600;

const kinds: Readonly<Record<number, 'credentials' | 'rate_limited' | 'refused'>> = {
  400: 'refused',
  401: 'credentials',
  403: 'credentials',
  408: 'rate_limited',
  413: 'refused',
  414: 'refused',
  422: 'refused',
  429: 'rate_limited',
};

/** The kind of failure for a status other than 2xx. */
export function failureOfStatus(httpStatus: number): 'credentials' | 'rate_limited' | 'refused' | 'answer' {
  return kinds[httpStatus] ?? 'answer';
}

/** Retry-After (RFC 9110 section 10.2.3) in seconds: a number of them or a date, within bounds. */
export function parseRetryAfter(retryAfter: string | null, now: Date): number {
  const said = secondsOf(retryAfter?.trim() ?? '', now);
  return Number.isNaN(said) ? defaultRetryAfterSeconds : Math.min(Math.max(Math.ceil(said), 1), maxRetryAfterSeconds);
}

function secondsOf(text: string, now: Date): number {
  if (/^\d+$/.test(text)) return Number(text);
  // HTTP dates begin with a weekday; Date.parse alone accepts almost anything.
  return /^[a-z]{3,9},? /i.test(text) ? (Date.parse(text) - now.getTime()) / 1000 : Number.NaN;
}
