import { parseJsonBody } from '#core/http/json';

/** For the benchmark: told a text, it answers how long reading it keeps the thread busy, and plain `JSON.parse` of it, in ms. */
process.on('message', ({ text, rounds }: { text: string; rounds: number }) => {
  const bytes = Buffer.from(text);
  process.send!({
    stallMs: medianOf(() => parseJsonBody(bytes), rounds),
    parseMs: medianOf(() => JSON.parse(text), rounds),
  });
});

/** Processor time of the thread: what other processes take of the machine does not count. */
function medianOf(run: () => unknown, rounds: number): number {
  const times = Array.from({ length: 2 * rounds + 1 }, () => {
    const begun = process.threadCpuUsage();
    try {
      run();
    } catch {
      // Refused, which is an answer as well.
    }
    const { user, system } = process.threadCpuUsage(begun);
    return (user + system) / 1000;
  });
  return times.toSorted((left, right) => left - right)[rounds]!;
}
