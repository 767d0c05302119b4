import { isSameStructure } from '#modules/connectors/translation/protection/html';
import { takeApart } from '#modules/connectors/translation/protection/layout';
import { read, write } from '#modules/connectors/translation/protection/markers.rules';
import { isSegment } from '#modules/connectors/translation/protection/pieces.rules';

/** For the benchmark: the time that a translation of a text, echoed by its provider, blocks the thread, and that of `JSON.parse`, in ms. */
process.on('message', ({ text, rounds }: { text: string; rounds: number }) => {
  const json = JSON.stringify(text);
  process.send!({
    stallMs: medianOf(() => translate(text), rounds),
    parseMs: medianOf(() => JSON.parse(json) as unknown, rounds),
  });
});

function translate(text: string): void {
  for (const segment of takeApart(text, { isHtml: true }).filter(isSegment)) read(write(segment, true), segment, true);
  isSameStructure(text, text);
}

/** Processor time of the thread, so that other processes do not count. */
function medianOf(run: () => unknown, rounds: number): number {
  const times = Array.from({ length: 2 * rounds + 1 }, () => {
    const begun = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(begun);
    return (user + system) / 1000;
  });
  return times.toSorted((left, right) => left - right)[rounds]!;
}
