/** What is known of a piece of work: fixed names and words, never ids of people or things, addresses of pages or values. */
export type Attributes = Readonly<Record<string, string | number>>;

/** The span of one request. */
export type RequestSpan = {
  readonly traceId: string;
  /** Runs what follows so that its own pieces of work become children. */
  run(work: () => void): void;
  /** @param route the pattern; undefined where no route fits */
  end(answer: { method: string; route: string | undefined; status: number }): void;
};

/** Tells a collector what requests are made of. There is none unless one is configured, and then nothing is spent on it. */
export type Tracing = {
  /**
   * @param request.traceparent W3C Trace Context, 3.2: whose request this is part of
   * @param request.requestId the one id that a span carries, by which it is found in the log
   */
  begin(request: { traceparent: string | undefined; requestId: string }): RequestSpan;
  /** A piece of work of the request under way; outside of requests the work alone. */
  within: Within;
  /** Sends what waits, as far as the collector takes it within a few seconds. */
  close(): Promise<void>;
};

/** @param work may tell more as it learns it */
export type Within = <Result>(
  span: { name: string; attributes: Attributes },
  work: (tell: (attributes: Attributes) => void) => Promise<Result>,
) => Promise<Result>;

export type RemoteSpan = { traceId: string; spanId: string; traceFlags: number };

const pattern = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Reads `traceparent` (W3C Trace Context, 3.2.2); undefined for what is none, which begins a new trace. */
export function parseTraceparent(header: string | undefined): RemoteSpan | undefined {
  const [, version, traceId, spanId, flags, rest] = pattern.exec(header ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16) & 1 };
}
