/** The record of a span: fixed names and words, never ids, URLs or values. */
export type Attributes = Readonly<Record<string, string | number>>;

/** The span of one request. */
export type RequestSpan = {
  readonly traceId: string;
  /** Runs the function so that spans begun inside it become children. */
  run(work: () => void): void;
  /** @param route the pattern; undefined where no route fits */
  end(answer: { method: string; route: string | undefined; status: number }): void;
};

/** Sends spans of requests to a collector. Without a configured collector it does nothing. */
export type Tracing = {
  /**
   * @param request.traceparent W3C Trace Context, 3.2: whose request this is part of
   * @param request.requestId the one id that a span carries, by which it is found in the log
   */
  begin(request: { traceparent: string | undefined; requestId: string }): RequestSpan;
  /** A span within the current request; outside of requests the work runs without one. */
  within: Within;
  /** Sends waiting spans, if the collector accepts them within a few seconds. */
  close(): Promise<void>;
};

/** @param work may tell more as it learns it */
export type Within = <Result>(
  span: { name: string; attributes: Attributes },
  work: (tell: (attributes: Attributes) => void) => Promise<Result>,
) => Promise<Result>;

export type RemoteSpan = { traceId: string; spanId: string; traceFlags: number };

const pattern = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Reads `traceparent` (W3C Trace Context, 3.2.2); undefined for an invalid one, which begins a new trace. */
export function parseTraceparent(header: string | undefined): RemoteSpan | undefined {
  const [, version, traceId, spanId, flags, rest] = pattern.exec(header ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16) & 1 };
}
