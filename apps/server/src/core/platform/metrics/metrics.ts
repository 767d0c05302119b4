import { sameSecret } from '#core/base/crypto/secrets';
import type { AppError } from '#core/base/errors/app-error';
import type { Collected, Metric } from '#core/platform/metrics/metric';
import { createRequestMetrics, type Answered } from '#core/platform/metrics/requests';
import { toText } from '#core/platform/metrics/text-format.rules';

/** The metrics of all processes of an installation, including this one; undefined if they are not available. */
export type GatherMetrics = () => Promise<readonly Collected[] | undefined>;

/** The metrics of this process for Prometheus. */
export type Metrics = {
  /** @param ms how long the answer took */
  record(answered: Answered, ms: number): void;
  /** Counts an error that says "not now" or "not you", by its reason. */
  recordRefusal(error: AppError): void;
  add(...metrics: readonly Metric[]): void;
  /** Everything of this process. */
  collect(): Promise<Collected[]>;
  /** Everything, of all processes where that can be gathered, in the text format 0.0.4 of Prometheus. */
  text(): Promise<string>;
  /** Whether this is the token that METRICS_TOKEN names; never where it names none. */
  accepts(token: string): boolean;
};

type Options = { scrapeToken: string | undefined; gather?: GatherMetrics | undefined };

export function createMetrics({ scrapeToken, gather }: Options): Metrics {
  const requests = createRequestMetrics();
  const refusals = new Map<string, number>();
  const metrics: Metric[] = [requests.metric, refusalsMetric(refusals)];
  const collect = () =>
    Promise.all(
      metrics.map(async ({ name, help, type, read }): Promise<Collected> => ({
        name,
        help,
        type,
        values: await read(),
      })),
    );
  return {
    record: requests.record,
    recordRefusal(error) {
      const reason = reasonOf(error);
      if (reason !== undefined) refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
    },
    add: (...more) => void metrics.push(...more),
    accepts: (token) => scrapeToken !== undefined && sameSecret(token, scrapeToken),
    collect,
    text: async () => toText((await gather?.()) ?? (await collect())),
  };
}

/** The content type of `text()`. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

function refusalsMetric(refusals: ReadonlyMap<string, number>): Metric {
  return {
    name: 'http_refusals_total',
    help: 'Requests refused by limits, by rules for addresses and for want of capacity.',
    type: 'counter',
    read: () => [...refusals].map(([reason, value]) => ({ labels: { reason }, value })),
  };
}

/** Reasons come from the error tables, of which there are as many as were written. */
function reasonOf({ code, status, details }: AppError): string | undefined {
  const reason = typeof details?.['code'] === 'string' ? details['code'] : code;
  return status === 429 || status === 503 || reason === 'ADDRESS_BLOCKED' ? reason : undefined;
}
