import { execFile } from 'node:child_process';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { requestBytes, runLoad, type LoadResult } from '../load.ts';
import { median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';
import { enter } from '../seed.ts';

/** The path to the outside as the service has it, and the bare client, in one process that is neither service nor provider. */
const overheadScript = fileURLToPath(
  new URL('../../apps/server/src/core/outbound/testing/overhead.ts', import.meta.url),
);
const callsPerRound = 2000;
/** As many as one person may have translated in a minute; more than there are places for calls to the outside. */
const hangingCalls = 60;
const placesOfOneTenant = 12;
const readConnections = 16;
/** Well below saturation, as in the scenario of logins. */
const readsPerSecond = 400;

/** What the guarded path costs beside a bare call, and what others notice of a provider that does not answer. */
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
  await pacedReads(bench);
  for (let at = 0; at < bench.rounds; at++) {
    if (at % 2 === 0) quiet.push(await pacedReads(bench));
    busy.push(await whileHanging(bench, provider, () => pacedReads(bench)));
    if (at % 2 === 1) quiet.push(await pacedReads(bench));
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

/** Each time for another tenant, whose budget is untouched and whose texts nobody knows. */
async function whileHanging<Result>(bench: Bench, provider: Provider, work: () => Promise<Result>): Promise<Result> {
  const { base } = bench.atrium;
  const { token } = await enter(base, { email: `caller-${Date.now()}@bench.example`, password: 'correct horse' });
  const connector = { api_key: 'libretranslate', api_name: 'LibreTranslate', api_base_url: provider.origin };
  await send(base, token, 'ai/providers', connector);
  provider.hang();
  const calls = Array.from({ length: hangingCalls }, (_, at) =>
    send(base, token, 'ai/translate/text', { text: `Text ${at}`, source_language: 'en', target_language: 'de' }),
  );
  try {
    while (provider.held() < placesOfOneTenant) await sleep(5);
    return await work();
  } finally {
    provider.release();
    await Promise.all(calls);
  }
}

async function send(base: string, token: string, path: string, body: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${base}/api/v1/secure/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
}

function pacedReads({ atrium, seed, roundMs }: Bench): Promise<LoadResult> {
  const requests = seed.contactIds.map((id) =>
    requestBytes('GET', `/api/v1/secure/contacts/${id}`, { token: seed.token }),
  );
  const load = { requests, status: 200, connections: readConnections, durationMs: roundMs, pace: readsPerSecond };
  return runLoad({ port: atrium.port, ...load });
}

type Provider = {
  origin: string;
  /** From now on it takes requests and answers none. */
  hang(): void;
  /** How many wait for an answer. */
  held(): number;
  /** Answers all of them, and those to come at once. */
  release(): void;
  stop(): Promise<void>;
};

/** Speaks the protocol of LibreTranslate. */
async function startProvider(): Promise<Provider> {
  const held = new Map<ServerResponse, unknown>();
  let isHanging = false;
  const answer = (response: ServerResponse, body: unknown) => {
    const bytes = Buffer.from(JSON.stringify(body));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.byteLength }).end(bytes);
  };
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { q } = JSON.parse(Buffer.concat(chunks).toString()) as { q: unknown };
      if (isHanging) held.set(response, { translatedText: q });
      else answer(response, { translatedText: q });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hang: () => void (isHanging = true),
    held: () => held.size,
    release() {
      isHanging = false;
      for (const [response, body] of held) answer(response, body);
      held.clear();
    },
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
