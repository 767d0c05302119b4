import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
} from '@opentelemetry/semantic-conventions';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

import { parseTraceparent, type Attributes, type RequestSpan, type Tracing } from '#core/base/tracing/tracing';

type Options = {
  /** Base address of an OTLP receiver over HTTP; `/v1/traces` is appended. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  version: string;
  environment: string;
  /** Which part of the traces that begin here is kept, 0 to 1. What a caller keeps, or not, is kept here, or not. */
  ratio: number;
  log: { warn(fields: object, message: string): void; info(message: string): void };
};

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const exportMs = 5000;
const closeMs = 3000;
/** Beyond these spans are dropped: a collector that is away costs memory up to here, and nothing else. */
const queue = {
  maxQueueSize: 4096,
  maxExportBatchSize: 512,
  scheduledDelayMillis: 2000,
  exportTimeoutMillis: exportMs,
};

export function createTracing(options: Options): Tracing {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      [ATTR_SERVICE_NAME]: options.serviceName,
      [ATTR_SERVICE_VERSION]: options.version,
      'deployment.environment.name': options.environment,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(options.ratio) }),
    spanProcessors: [new BatchSpanProcessor({ exporter: createExporter(options), ...queue })],
  });
  const tracer = provider.getTracer('atrium', options.version);
  const current = new AsyncLocalStorage<Context | undefined>();
  return {
    begin({ traceparent, requestId }) {
      const remote = parseTraceparent(traceparent);
      const parent =
        remote === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true });
      const attributes = { 'atrium.request.id': requestId };
      const span = tracer.startSpan('HTTP', { kind: SpanKind.SERVER, attributes }, parent);
      return requestSpan(span, current);
    },
    within: (about, work) => runWithin(tracer, current.getStore(), about, work),
    async close() {
      // A collector that is away must not keep the process from ending.
      await Promise.race([provider.shutdown().catch(() => undefined), sleep(closeMs, undefined, { ref: false })]);
    },
  };
}

function requestSpan(span: Span, current: AsyncLocalStorage<Context | undefined>): RequestSpan {
  const { traceId } = span.spanContext();
  // What lets it in may belong to a trace that is kept.
  if (!span.isRecording()) return { traceId, run: (work) => current.run(undefined, work), end: () => undefined };
  const context = trace.setSpan(ROOT_CONTEXT, span);
  return {
    traceId,
    run: (work) => current.run(context, work),
    end({ method, route, status }) {
      const isKnown = methods.has(method);
      span.setAttribute(ATTR_HTTP_REQUEST_METHOD, isKnown ? method : '_OTHER');
      span.setAttribute(ATTR_HTTP_RESPONSE_STATUS_CODE, status);
      if (route !== undefined) span.setAttribute(ATTR_HTTP_ROUTE, route);
      span.updateName([isKnown ? method : 'HTTP', route].filter((part) => part !== undefined).join(' '));
      if (status >= 500) {
        span.setAttribute(ATTR_ERROR_TYPE, String(status));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

async function runWithin<Result>(
  tracer: Tracer,
  parent: Context | undefined,
  { name, attributes }: Parameters<Tracing['within']>[0],
  work: (tell: (attributes: Attributes) => void) => Promise<Result>,
): Promise<Result> {
  if (parent === undefined) return work(() => undefined);
  const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
  try {
    return await work((more) => void span.setAttributes(more));
  } catch (error) {
    // The kind of the failure only: messages may quote values.
    span.setAttribute(ATTR_ERROR_TYPE, error instanceof Error ? error.name : 'unknown');
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

/** Says once that the collector does not take spans, and once that it does again. */
function createExporter({ endpoint, headers, log }: Options): SpanExporter {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: exportMs,
  });
  let isFailing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const failed = result.error !== undefined;
        if (failed && !isFailing) log.warn({ err: result.error }, 'the trace collector refuses spans');
        if (!failed && isFailing) log.info('the trace collector accepts spans again');
        isFailing = failed;
        done(result);
      }),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}
