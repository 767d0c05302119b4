import { describe, expect, it } from 'vitest';

import type { Query } from '#core/data/db/query';
import type { Statements } from '#core/data/db/scopes';
import { linesInOrder } from '#modules/logs/lines-in-order';
import type { LogFilters } from '#modules/logs/logs.queries';
import { useService } from '#test/support/harness';
import { plantLogLines } from '#test/support/log-lines';

const test = useService({ ownDatabase: true });
const { signal } = new AbortController();
const pause = () => Promise.resolve();
/** Each test uses a separate day. */
let day = Date.parse('2031-01-01T00:00:00Z');

type Line = { at: number; message: string };

/** Batches of three levels and unequal sizes that overlap in time, in no particular order. */
async function plant({ batches, lines, gapMs = 2000 }: { batches: number; lines: number; gapMs?: number }) {
  const planted: Line[] = [];
  for (let batch = 0; batch < batches; batch++) {
    const place = (batch * 7) % batches;
    const all = Array.from({ length: 1 + ((batch * 37) % lines) }, (_, line) => {
      return { at: day + place * gapMs + ((line * 263) % 50_000), message: `${batch}.${line}` };
    });
    await plantBatch(all, 10 * (2 + (batch % 3)));
    planted.push(...all);
  }
  return planted;
}

async function plantBatch(lines: readonly Line[], level = 30): Promise<void> {
  const given = lines.map(({ at, message }) => ({ at: new Date(at), service: 'shop', message, level }));
  await plantLogLines(test.connection, given);
}

function wholeDay(filters: LogFilters = {}): LogFilters {
  day += 10 * 24 * 60 * 60_000;
  const [from, to] = [new Date(day).toISOString(), new Date(day + 24 * 60 * 60_000).toISOString()];
  return { from, to, ...filters };
}

/** The statements of a reading: how many at once, and how many rows and lines each of them and all returned. */
function watch(onLines: (statement: number) => Promise<void> = () => Promise.resolve()) {
  const seen = { statements: 0, running: 0, maxRunning: 0, maxRows: 0, lines: 0 };
  const { interactive } = test.service.services.database.platform();
  const all = async <Row>(query: Query<Row>): Promise<Row[]> => {
    seen.statements += 1;
    seen.running += 1;
    seen.maxRunning = Math.max(seen.maxRunning, seen.running);
    const rows = await interactive.all(query);
    seen.running -= 1;
    seen.maxRows = Math.max(seen.maxRows, rows.length);
    if (rows.some((row) => 'message' in (row as object))) {
      seen.lines += rows.length;
      await onLines(seen.statements);
    }
    return rows;
  };
  const db: Statements = { ...interactive, all };
  return { seen, db };
}

async function read(db: Statements, filters: LogFilters): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const rows of linesInOrder(db, filters, { signal, pause }))
    lines.push(...rows.map(({ logged_at: at, message }) => ({ at: Date.parse(at), message })));
  return lines;
}

const messages = (lines: readonly Line[]) => lines.map(({ message }) => message).toSorted();
const times = (lines: readonly Line[]) => lines.map(({ at }) => at);

describe('linesInOrder', () => {
  it('returns each line once, in order of time, and reads none twice', async () => {
    const filters = wholeDay();
    const planted = await plant({ batches: 40, lines: 400 });
    const { seen, db } = watch();
    const lines = await read(db, filters);
    expect(messages(lines)).toEqual(messages(planted));
    expect(times(lines)).toEqual(times(lines).toSorted((a, b) => a - b));
    expect(seen.lines).toBe(planted.length);
  });

  it('returns the lines of matching levels and times only', async () => {
    const filters = wholeDay({ levels: [40] });
    const planted = await plant({ batches: 12, lines: 50 });
    const from = day + 10_000;
    const narrow = { ...filters, from: new Date(from).toISOString() };
    const expected = planted.filter(({ at, message }) => at >= from && Number.parseInt(message, 10) % 3 === 2);
    expect(expected.length).toBeGreaterThan(0);
    expect(messages(await read(watch().db, narrow))).toEqual(messages(expected));
  });

  it('one statement at a time, and none while the lines are consumed', async () => {
    const filters = wholeDay();
    await plant({ batches: 12, lines: 400 });
    const { seen, db } = watch();
    let rounds = 0;
    for await (const rows of linesInOrder(db, filters, { signal, pause })) {
      expect(seen.running).toBe(0);
      rounds += Math.sign(rows.length);
    }
    expect(rounds).toBeGreaterThan(1);
    expect(seen.maxRunning).toBe(1);
  });

  it('reads a bounded number of lines at once, also of many small batches', async () => {
    const filters = wholeDay();
    await plant({ batches: 60, lines: 100 });
    const { seen, db } = watch();
    expect((await read(db, filters)).length).toBeGreaterThan(2000);
    expect(seen.maxRows).toBe(500);
  });

  it('reads a bounded number of bytes at once', async () => {
    const filters = wholeDay();
    const long = 'x'.repeat(900_000);
    for (let batch = 0; batch < 5; batch++) await plantBatch([{ at: day + batch, message: `${batch}${long}` }]);
    const { seen, db } = watch();
    expect(await read(db, filters)).toHaveLength(5);
    expect(seen.maxRows).toBe(3);
    expect(seen.statements).toBe(3);
  });

  it('stays complete and ordered while lines are written', async () => {
    const filters = wholeDay();
    const planted = await plant({ batches: 30, lines: 300 });
    const { seen, db } = watch(async (statement) => {
      await plantBatch([
        { at: day + 1000 * statement, message: `new ${statement} a` },
        { at: day + 1000 * statement + 50_000, message: `new ${statement} b` },
      ]);
    });
    const lines = await read(db, filters);
    const old = lines.filter(({ message }) => !message.startsWith('new'));
    expect(messages(old)).toEqual(messages(planted));
    expect(new Set(messages(lines)).size).toBe(lines.length);
    expect(times(lines)).toEqual(times(lines).toSorted((a, b) => a - b));
    expect(seen.statements).toBeGreaterThan(3);
  });

  it('rests after each step, and stops at the next one once it is aborted', async () => {
    const filters = wholeDay();
    await plant({ batches: 12, lines: 400 });
    const { seen, db } = watch();
    const abort = new AbortController();
    let rests = 0;
    const tired = () => {
      rests += 1;
      abort.abort(new Error('enough'));
      return Promise.resolve();
    };
    const reading = linesInOrder(db, filters, { signal: abort.signal, pause: tired });
    await expect(Array.fromAsync(reading)).rejects.toThrow('enough');
    expect([rests, seen.statements]).toEqual([1, 1]);
  });
});
