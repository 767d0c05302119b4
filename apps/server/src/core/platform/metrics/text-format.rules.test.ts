import { describe, expect, it } from 'vitest';

import { toText } from '#core/platform/metrics/text-format.rules';

describe('toText', () => {
  it('writes help, type and samples of each metric', () => {
    const text = toText([
      { name: 'up', help: 'Whether it runs.', type: 'gauge', values: [{ value: 1 }] },
      {
        name: 'seconds',
        help: 'Time.',
        type: 'histogram',
        values: [
          { metricName: 'seconds_bucket', labels: { le: '+Inf', route: '/a' }, value: 3 },
          { metricName: 'seconds_sum', value: 0.25 },
        ],
      },
    ]);
    expect(text).toBe(
      [
        '# HELP up Whether it runs.',
        '# TYPE up gauge',
        'up 1',
        '',
        '# HELP seconds Time.',
        '# TYPE seconds histogram',
        'seconds_bucket{le="+Inf",route="/a"} 3',
        'seconds_sum 0.25',
        '',
      ].join('\n'),
    );
  });

  it('escapes what would end a line or a label', () => {
    const values = [{ labels: { a: 'x"y\\z\nw' }, value: Infinity }, { value: NaN }];
    const text = toText([{ name: 'm', help: 'a\nb\\c', type: 'gauge', values }]);
    expect(text).toBe('# HELP m a\\nb\\\\c\n# TYPE m gauge\nm{a="x\\"y\\\\z\\nw"} +Inf\nm NaN\n');
  });
});
