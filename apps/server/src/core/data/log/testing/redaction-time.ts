import { performance } from 'node:perf_hooks';

import { redactText } from '#core/data/log/redaction';

// What bench/scenarios/bounds.ts starts: how much longer sixteen times the text takes, for pieces that a pattern may trip over.
const pieces = ['a', 'a@', 'eyJ', '-----BEGIN ', '-----BEGIN A-----', 'x://', 'bearer ', 'a.a@a.', 'rt1_', 'svc_sk_-'];
const times = 16;
/** Sixteen times that is as long as a text of a line may be. */
const length = 512;
const attempts = 50;

function fastest(text: string): number {
  const spent = Array.from({ length: attempts }, () => {
    const started = performance.now();
    redactText(text);
    return performance.now() - started;
  });
  return Math.min(...spent);
}

const growths = pieces.map((piece) => {
  const text = piece.repeat(length / piece.length);
  // Below that the clock says more than the text does.
  return fastest(text.repeat(times)) / Math.max(fastest(text), 0.005);
});
process.stdout.write(`${JSON.stringify({ times, growths })}\n`);
