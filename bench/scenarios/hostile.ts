import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { hostileBodies } from '../hostile-bodies.ts';
import { hostileTexts } from '../hostile-texts.ts';
import { percentiles, type Load, type Measured } from '../load.ts';
import { pacedReads } from '../paced-reads.ts';
import { startLoader } from '../processes/start.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';

/** One kind of input: a process that reads texts, and the texts. The figure is its worst one. */
type Kind = { name: string; reader: URL; texts(): { name: string; text: string }[] };
type Stall = { stallMs: number; parseMs: number };

/** More kinds go into this list. */
const kinds: readonly Kind[] = [
  {
    name: 'worst 1 MiB body',
    reader: new URL('../../apps/server/src/core/http/testing/body-stalls.ts', import.meta.url),
    texts: hostileBodies,
  },
  {
    name: 'worst text to translate',
    reader: new URL('../../apps/server/src/modules/connectors/translation/testing/text-stalls.ts', import.meta.url),
    texts: hostileTexts,
  },
];

const targetMs = 15;

const strangers = 8;
/** Large bodies that are parsed as a whole, and then refused by their schema. */
const parsedWhole = new Set(['exact large integers', 'keys as many as are taken', 'escapes']);

/**
 * How long the event loop stands still for the worst of each kind of input, next to plain `JSON.parse` of the same text, and
 * what the readers of a tenant notice of strangers who send large bodies.
 */
export const hostile: Scenario = {
  name: 'hostile',
  async run(bench) {
    const figures: Figure[] = [];
    for (const kind of kinds) figures.push(await worstOf(kind, bench.rounds));
    return [...figures, await readsUnderBodies(bench)];
  },
};

async function readsUnderBodies(bench: Bench): Promise<Figure> {
  const { rounds, roundMs } = bench;
  const requests = hostileBodies().flatMap(({ name, text }) => (parsedWhole.has(name) ? [loginBytes(text)] : []));
  const flood: Load = {
    port: bench.atrium.port,
    requests,
    status: 400,
    refusal: 503,
    connections: strangers,
    durationMs: roundMs,
  };
  const loader = await startLoader();
  const [alone, attacked, floods]: [Measured[], Measured[], Measured[]] = [[], [], []];
  try {
    await pacedReads(bench, roundMs / 2);
    for (let at = 0; at < rounds; at++) {
      if (at % 2 === 0) alone.push(await pacedReads(bench, roundMs));
      const [reads, flooded] = await Promise.all([pacedReads(bench, roundMs), loader.run(flood)]);
      attacked.push(reads);
      floods.push(flooded);
      if (at % 2 === 1) alone.push(await pacedReads(bench, roundMs));
    }
  } finally {
    await loader.stop();
  }
  const pool = (results: readonly Measured[]) => percentiles(results.flatMap(({ latenciesMs }) => latenciesMs));
  const [without, under] = [pool(alone), pool(attacked)];
  return {
    name: 'p99 of reads under 1 MiB bodies',
    value: round(under.p99Ms / without.p99Ms),
    unit: 'ratio',
    target: { atMost: 10 },
    detail: {
      ratioOfP50: round(under.p50Ms / without.p50Ms),
      aloneP50Ms: round(without.p50Ms, 1),
      aloneP99Ms: round(without.p99Ms, 1),
      floodedP50Ms: round(under.p50Ms, 1),
      floodedP99Ms: round(under.p99Ms, 1),
      bodiesPerSecond: round(median(floods.map(({ perSecond }) => perSecond)), 1),
      refusals: median(floods.map(({ refusals }) => refusals)),
    },
  };
}

/** A login without an account; the text is sent as it is. */
function loginBytes(text: string): Buffer {
  const head = `POST /api/v1/public/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`;
  return Buffer.from(`${head}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

async function worstOf({ name, reader, texts }: Kind, rounds: number): Promise<Figure> {
  const child = fork(fileURLToPath(reader));
  const measured: (Stall & { name: string })[] = [];
  try {
    for (const one of texts()) {
      child.send({ text: one.text, rounds });
      const [stall] = (await once(child, 'message')) as [Stall];
      measured.push({ ...stall, name: one.name });
    }
  } finally {
    child.kill();
  }
  const worst = measured.toSorted((left, right) => right.stallMs - left.stallMs)[0]!;
  return {
    name: `${name}: ${worst.name}`,
    value: round(worst.stallMs, 1),
    unit: 'ms',
    target: { atMost: targetMs },
    detail: {
      jsonParseMs: round(worst.parseMs, 1),
      worstJsonParseMs: round(Math.max(...measured.map(({ parseMs }) => parseMs)), 1),
      texts: measured.length,
      stallsMs: measured.map(({ stallMs }) => round(stallMs, 1)),
    },
  };
}
