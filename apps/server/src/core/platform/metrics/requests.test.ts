import { expect, it } from 'vitest';

import { createRequestMetrics } from '#core/platform/metrics/requests';

const labels = { method: 'GET', status: '200', route: '/x/:id' };

it('a request is in the bucket of its time and in all above', async () => {
  const { record, metric } = createRequestMetrics();
  for (const ms of [1, 1.1, 300, 60_000]) record({ method: 'GET', route: '/x/:id', status: 200 }, ms);
  const samples = await metric.read();
  const buckets = samples.filter(({ metricName }) => metricName === 'http_request_duration_seconds_bucket');
  expect(buckets.map(({ labels: { le } = {}, value }) => [le, value])).toEqual([
    ['0.001', 1],
    ['0.0025', 2],
    ['0.005', 2],
    ['0.01', 2],
    ['0.025', 2],
    ['0.05', 2],
    ['0.1', 2],
    ['0.25', 2],
    ['0.5', 3],
    ['1', 3],
    ['2.5', 3],
    ['5', 3],
    ['10', 3],
    ['+Inf', 4],
  ]);
  expect(samples.slice(-2)).toEqual([
    { metricName: 'http_request_duration_seconds_sum', labels, value: expect.closeTo(60.3021) },
    { metricName: 'http_request_duration_seconds_count', labels, value: 4 },
  ]);
});

it('methods and statuses are kept apart, and unknown methods are one', async () => {
  const { record, metric } = createRequestMetrics();
  for (const method of ['GET', 'POST', 'BREW', 'PROPFIND']) record({ method, route: undefined, status: 404 }, 1);
  record({ method: 'GET', route: undefined, status: 405 }, 1);
  const counts = (await metric.read()).filter(({ metricName }) => metricName?.endsWith('_count') === true);
  expect(counts.map((sample) => [sample.labels, sample.value])).toEqual([
    [{ method: 'GET', status: '404', route: 'unmatched' }, 1],
    [{ method: 'POST', status: '404', route: 'unmatched' }, 1],
    [{ method: 'other', status: '404', route: 'unmatched' }, 2],
    [{ method: 'GET', status: '405', route: 'unmatched' }, 1],
  ]);
});
