/**
 * The longest time that the event loop stands still, with what plain `JSON.parse` of the same text takes here; both in
 * processor time of the thread, which other processes do not lengthen.
 */
export type Stall = { name: string; stallMs: number; parseMs: number; bytes: number };

export type HostileCase = { name: string; text: string; work(text: string): unknown };

const rounds = 5;

/** Measures each case several times and keeps the median: the first round warms up. */
export async function measureStalls(cases: readonly HostileCase[]): Promise<Stall[]> {
  const stalls: Stall[] = [];
  for (const { name, text, work } of cases) {
    const measured: { stallMs: number; parseMs: number }[] = [];
    for (let round = 0; round <= rounds; round++) {
      measured.push({ stallMs: await longestStall(() => work(text)), parseMs: parseMs(text) });
    }
    const middle = (key: 'stallMs' | 'parseMs') =>
      measured
        .slice(1)
        .map((one) => one[key])
        .toSorted((left, right) => left - right)[Math.floor(rounds / 2)]!;
    stalls.push({ name, stallMs: middle('stallMs'), parseMs: middle('parseMs'), bytes: Buffer.byteLength(text) });
  }
  return stalls;
}

async function longestStall(work: () => unknown): Promise<number> {
  let longest = 0;
  let last = threadMs();
  let isOver = false;
  const tick = () => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(tick);
  };
  tick();
  try {
    await new Promise((resolve, reject) => {
      setImmediate(() => void Promise.resolve().then(work).then(resolve, reject));
    });
  } catch {
    // What is hostile may be refused: only the time counts.
  } finally {
    isOver = true;
    tick();
  }
  return longest;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function parseMs(text: string): number {
  const begun = threadMs();
  try {
    JSON.parse(text);
  } catch {
    // The time until it is refused counts as well.
  }
  return threadMs() - begun;
}
