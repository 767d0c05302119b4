import { describe, expect, it } from 'vitest';

import { consoleFormatter } from '#core/data/log/console-lines';
import { consoleFormats, defaultLogConfig, type ConsoleFormat } from '#core/data/log/log-config';
import { toConsoleLine, writeLine } from '#core/data/log/log-line';

/** What ends lines, moves the cursor or begins a command, for one reader or another. */
const hostile = '\n\r\u0085\u2028\u2029\u001b[2J\u009b2J\u007f\b';
const forged = `${hostile}{"level":"fatal"}`;

function printed(format: ConsoleFormat, includeService: boolean): string {
  const line = writeLine({
    level: 'warn',
    service: 'test',
    at: 0,
    message: `said ${forged}`,
    fields: { plain: forged, [`named ${forged}`]: 1, err: { message: forged, list: [forged] } },
  });
  const text = toConsoleLine(line);
  const formatter = consoleFormatter({
    ...defaultLogConfig,
    console: { ...defaultLogConfig.console, format },
    formatting: { ...defaultLogConfig.formatting, format, includeService },
  });
  return formatter === undefined ? text : formatter(text);
}

describe('lines on the console', () => {
  it.each(consoleFormats.flatMap((format) => [true, false].map((whole) => [format, whole] as const)))(
    '%s, with the service %s: nothing that is logged breaks a line or commands a terminal',
    (format, includeService) => {
      const text = printed(format, includeService);
      const lines = text.split(/[\n\r\u0085\u2028\u2029]/);
      expect(lines).toHaveLength(format === 'pretty' ? 5 : 2);
      expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    },
  );

  it('JSON still says what was logged', () => {
    expect(JSON.parse(printed('json', true))).toMatchObject({ msg: `said ${forged}`, plain: forged });
  });
});
