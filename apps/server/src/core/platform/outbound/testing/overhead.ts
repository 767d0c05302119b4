import { performance } from 'node:perf_hooks';
import { Agent, fetch, request } from 'undici';

import { createOutbound } from '#core/platform/outbound/outbound';

// What bench/scenarios/outbound.ts starts: one call after the other in turn by each way, and the medians on one line.
const [url, calls] = [process.argv[2]!, Number(process.argv[3])];
const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"q":"${'x'.repeat(200)}"}` };
const outbound = createOutbound({ allowedRanges: ['127.0.0.1/32'], ownPort: 0 });
const dispatcher = new Agent();

const ways = {
  outbound: async () => (await outbound.fetch(url, { ...init, isIdempotent: true, circuit: 'provider' })).json(),
  fetch: async () => (await fetch(url, { ...init, dispatcher })).json(),
  request: async () => (await request(url, { ...init, dispatcher })).body.json(),
};
const names = Object.keys(ways) as (keyof typeof ways)[];
const times: Record<keyof typeof ways, number[]> = { outbound: [], fetch: [], request: [] };

/** Each once, and each as often first as the others. */
async function turn(at: number, isMeasured: boolean): Promise<void> {
  for (let step = 0; step < names.length; step += 1) {
    const name = names[(at + step) % names.length]!;
    const startedAt = performance.now();
    await ways[name]();
    if (isMeasured) times[name].push(performance.now() - startedAt);
  }
}

for (let at = 0; at < calls; at += 1) await turn(at, false);
for (let at = 0; at < calls; at += 1) await turn(at, true);
const medians = names.map((name) => [name, times[name].toSorted((left, right) => left - right)[calls >> 1]! * 1000]);
process.stdout.write(`${JSON.stringify(Object.fromEntries(medians))}\n`);
await Promise.all([outbound.close(), dispatcher.close()]);
