import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { send, startOutside } from '../api.ts';
import { memoryMb, peakMemoryMb, resetPeakMemory } from '../machine.ts';
import { round, type Bench, type Figure, type Scenario } from '../scenario.ts';
import { enter } from '../seed.ts';

const redactionScript = fileURLToPath(
  new URL('../../apps/server/src/core/data/log/testing/redaction-time.ts', import.meta.url),
);
/** Fewer than a circuit takes before it opens. */
const callsPerAnswer = 3;

const chat = (content: string) => JSON.stringify({ choices: [{ message: { content } }] });
const texts = (translations: readonly string[]) => chat(JSON.stringify({ translations }));

/** What a provider may send to have as much as possible kept of it. */
const hostile: readonly string[] = [
  'x'.repeat(10_000_000),
  texts(['x'.repeat(900_000)]),
  texts(['<x id="1"/>'.repeat(70_000)]),
  texts(['</g>'.repeat(200_000)]),
  texts(['&#60;'.repeat(180_000)]),
  texts(['{{'.repeat(400_000)]),
  texts(Array.from({ length: 150_000 }, () => '')),
  '['.repeat(1_000_000),
  '{"choices":'.repeat(90_000),
  chat('[{'.repeat(300_000)),
];

/** What suites cannot assert, because a busy machine and a garbage collector have a say in it. */
export const bounds: Scenario = {
  name: 'bounds',
  // Hostile answers leave the heap larger than the peak that is measured of everything else.
  isByNameOnly: true,
  run: async (bench) => [await measureRedaction(), await measureMemory(bench)],
};

async function measureRedaction(): Promise<Figure> {
  const { stdout } = await promisify(execFile)(process.execPath, [redactionScript]);
  const { times, growths } = JSON.parse(stdout) as { times: number; growths: number[] };
  return {
    name: 'redaction of hostile text',
    value: round(Math.max(...growths) / times, 2),
    unit: 'ratio',
    target: { atMost: 2 },
    detail: { times, growths: growths.map((growth) => round(growth, 1)) },
  };
}

async function measureMemory(bench: Bench): Promise<Figure> {
  const { pid } = bench.atrium;
  for (const body of hostile) await translateBy(bench, body);
  const before = memoryMb(pid);
  resetPeakMemory(pid);
  for (const body of hostile) await translateBy(bench, body);
  return {
    name: 'memory of hostile answers',
    value: round(peakMemoryMb(pid) - before, 0),
    unit: 'MB',
    target: { atMost: 64 },
    detail: { beforeMb: round(before, 0), answers: hostile.length * callsPerAnswer },
  };
}

/** Each time for another tenant, whose provider has not failed before. */
async function translateBy(bench: Bench, body: string): Promise<void> {
  let asked = 0;
  const provider = await startOutside((_incoming, response) => {
    asked += 1;
    response.on('error', () => undefined);
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  try {
    const email = `bounds-${Date.now()}@bench.example`;
    const { token } = await enter(bench.atrium.base, { email, password: 'correct horse' });
    const connector = {
      api_key: 'openai',
      api_name: 'OpenAI',
      api_base_url: `${provider.origin}/v1`,
      config: { model: 'any' },
    };
    await send(bench, token, 'POST secure/ai/providers', connector);
    const text = { text: 'The <b>house</b>', source_language: 'en', target_language: 'de' };
    for (let at = 0; at < callsPerAnswer; at++) {
      await send(bench, token, 'POST secure/ai/translate/text', text).catch(() => undefined);
    }
  } finally {
    await provider.stop();
  }
  if (asked < callsPerAnswer) throw new Error(`a hostile provider was asked ${asked} times only`);
}
