/** Why an attempt at a provider failed, in words that tell nothing of what listens where. */
export type FailureKind =
  /** No usable HTTP answer: refused, unresolved, timed out, cut, too large, not allowed; all alike. */
  | 'unreachable'
  /** 401 or 403, or credentials or settings that cannot be used. */
  | 'credentials'
  /** 429 or 408: it asks for patience, which is no failure. */
  | 'rate_limited'
  /** 400, 413, 414 or 422: it does not do this one thing, such as a language or a number that it does not know. */
  | 'refused'
  /** Any other answer that is not 2xx. */
  | 'answer'
  /** 2xx, but not what the operation needs: another shape, or a result that did not pass its checks. */
  | 'content';

/** Of a provider that asks for patience without saying how much. */
export const defaultPatienceSeconds = 5;
/** As long as the longest pause of one that fails. */
const mostPatienceSeconds = 600;

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

/** What an answer that is not 2xx says of its provider. */
export function failureOfStatus(httpStatus: number): 'credentials' | 'rate_limited' | 'refused' | 'answer' {
  return kinds[httpStatus] ?? 'answer';
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
