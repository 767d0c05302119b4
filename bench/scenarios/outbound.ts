import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { send, startOutside, type Outside } from '../api.ts';
import type { LoadResult } from '../load.ts';
import { pacedReads } from '../paced-reads.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';
import { enter } from '../seed.ts';

/** The path to the outside as the service has it, and the bare client, in one process that is neither service nor provider. */
const overheadScript = fileURLToPath(
  new URL('../../apps/server/src/core/platform/outbound/testing/overhead.ts', import.meta.url),
);
const callsPerRound = 2000;
/** Translations that one user may request in a minute: more than there are permits for outside calls. */
const hangingCalls = 60;
const permitsOfOneTenant = 13;
/** What is written in the background afterwards belongs to no round. */
const aftermathMs = 1000;

/** The cost of `core/platform/outbound` compared with a plain call, and the effect of a provider that hangs on other requests. */
export const outbound: Scenario = {
  name: 'outbound',
  async run(bench) {
    const provider = await startProvider();
    try {
      return [await compareWithBareCall(bench, provider), await compareLatency(bench, provider)];
    } finally {
      await provider.stop();
    }
  },
};

type Medians = { outbound: number; fetch: number; request: number };

async function compareWithBareCall(bench: Bench, { origin }: Provider): Promise<Figure> {
  const results: Medians[] = [];
  for (let at = 0; at < bench.rounds; at++) {
    const { stdout } = await promisify(execFile)(process.execPath, [overheadScript, origin, String(callsPerRound)]);
    results.push(JSON.parse(stdout) as Medians);
  }
  const ratios = results.map((result) => round(result.outbound / result.fetch));
  const middle = (pick: (result: Medians) => number, digits = 0) => round(median(results.map(pick)), digits);
  return {
    name: 'call to a provider',
    value: round(median(ratios)),
    unit: 'ratio',
    target: { atMost: 1.15 },
    detail: {
      ratios,
      ratioToRequest: middle((result) => result.outbound / result.request, 3),
      outboundUs: middle((result) => result.outbound),
      fetchUs: middle((result) => result.fetch),
      requestUs: middle((result) => result.request),
    },
  };
}

async function compareLatency(bench: Bench, provider: Provider): Promise<Figure> {
  const ratios: number[] = [];
  const [quiet, busy]: [LoadResult[], LoadResult[]] = [[], []];
  await pacedReads(bench, readsMs(bench));
  for (let at = 0; at < bench.rounds; at++) {
    if (at % 2 === 0) quiet.push(await pacedReads(bench, readsMs(bench)));
    busy.push(await whileHanging(bench, provider, () => pacedReads(bench, readsMs(bench))));
    if (at % 2 === 1) quiet.push(await pacedReads(bench, readsMs(bench)));
    ratios.push(round(busy[at]!.p99Ms / quiet[at]!.p99Ms));
  }
  const middle = (results: readonly LoadResult[], key: keyof LoadResult) =>
    round(median(results.map((result) => result[key])), 2);
  return {
    name: 'p99 of reads while a provider hangs',
    value: round(median(ratios)),
    unit: 'ratio',
    target: { atMost: 1.2 },
    detail: {
      ratios,
      quietP50Ms: middle(quiet, 'p50Ms'),
      quietP99Ms: middle(quiet, 'p99Ms'),
      busyP50Ms: middle(busy, 'p50Ms'),
      busyP99Ms: middle(busy, 'p99Ms'),
    },
  };
}

/**
 * Each round uses a new tenant with a full rate limit and texts that are not in memory. Its calls hold all their permits before
 * the work begins and continue at a constant rate: sent all at once, their number would be measured instead of the hanging.
 */
async function whileHanging<Result>(bench: Bench, provider: Provider, work: () => Promise<Result>): Promise<Result> {
  const { token } = await enter(bench.atrium.base, {
    email: `caller-${Date.now()}@bench.example`,
    password: 'correct horse',
  });
  const connector = { api_key: 'libretranslate', api_name: 'LibreTranslate', api_base_url: provider.origin };
  await send(bench, token, 'POST secure/ai/providers', connector);
  provider.hang();
  const calls: Promise<unknown>[] = [];
  const call = () => {
    const body = { text: `Text ${calls.length}`, source_language: 'en', target_language: 'de' };
    calls.push(send(bench, token, 'POST secure/ai/translate/text', body));
  };
  const goOnCalling = async () => {
    const pauseMs = readsMs(bench) / (hangingCalls - permitsOfOneTenant);
    for (; calls.length < hangingCalls; await sleep(pauseMs)) call();
  };
  try {
    for (let at = 0; at < permitsOfOneTenant; at++) call();
    while (provider.held() < permitsOfOneTenant) await sleep(5);
    const [result] = await Promise.all([work(), goOnCalling()]);
    return result;
  } finally {
    provider.release();
    await Promise.all(calls);
    await sleep(aftermathMs);
  }
}

/** Long enough that the slowest hundredth is more than a handful. */
const readsMs = ({ roundMs }: Bench) => 2 * roundMs;

type Provider = Outside & {
  /** Makes it accept requests without answers. */
  hang(): void;
  /** How many wait for an answer. */
  held(): number;
  /** Answers all of them, and those to come at once. */
  release(): void;
};

/** Speaks the protocol of LibreTranslate. */
async function startProvider(): Promise<Provider> {
  const held = new Map<ServerResponse, unknown>();
  let isHanging = false;
  const answer = (response: ServerResponse, body: unknown) => {
    const bytes = Buffer.from(JSON.stringify(body));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.byteLength }).end(bytes);
  };
  const outside = await startOutside((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { q } = JSON.parse(Buffer.concat(chunks).toString()) as { q: unknown };
      if (isHanging) held.set(response, { translatedText: q });
      else answer(response, { translatedText: q });
    });
  });
  return {
    ...outside,
    hang: () => void (isHanging = true),
    held: () => held.size,
    release() {
      isHanging = false;
      for (const [response, body] of held) answer(response, body);
      held.clear();
    },
  };
}
