/** Why an attempt at a provider failed, in words that tell nothing of what listens where. */
export type FailureKind =
  /** No usable HTTP answer: refused, unresolved, timed out, cut, too large, not allowed; all alike. */
  | 'unreachable'
  /** 401 or 403, or credentials or settings that cannot be used. */
  | 'credentials'
  /** 429 or 408: it asks for patience, which is no failure. */
  | 'rate_limited'
  /** Any other answer that is not 2xx. */
  | 'answer'
  /** 2xx, but not what the operation needs: another shape, or a result that did not pass its checks. */
  | 'content';

/** Of a provider that asks for patience without saying how much. */
export const defaultPatienceSeconds = 5;
/** As long as the longest pause of one that fails. */
const mostPatienceSeconds = 600;

/** What an answer that is not 2xx says of its provider. */
export function failureOfStatus(httpStatus: number): 'credentials' | 'rate_limited' | 'answer' {
  if (httpStatus === 401 || httpStatus === 403) return 'credentials';
  return httpStatus === 429 || httpStatus === 408 ? 'rate_limited' : 'answer';
}

/** Retry-After (RFC 9110 section 10.2.3) in seconds: a number of them or a date, within bounds. */
export function patienceSeconds(retryAfter: string | null, now: Date): number {
  const said = secondsOf(retryAfter?.trim() ?? '', now);
  return Number.isNaN(said) ? defaultPatienceSeconds : Math.min(Math.max(Math.ceil(said), 1), mostPatienceSeconds);
}

function secondsOf(text: string, now: Date): number {
  if (/^\d+$/.test(text)) return Number(text);
  // Dates of HTTP begin with a weekday; Date.parse by itself takes almost anything.
  return /^[a-z]{3,9},? /i.test(text) ? (Date.parse(text) - now.getTime()) / 1000 : Number.NaN;
}
