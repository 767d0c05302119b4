/**
 * Sends load from a process of its own: load of another kind in the same process would delay it, and count as the service's delay.
 * Each line is a load as JSON, its requests as text, and is answered with the result.
 */
import { createInterface } from 'node:readline';

import { runLoad, type Load } from '../load.ts';

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const load = JSON.parse(line) as Omit<Load, 'requests'> & { requests: readonly string[] };
  const result = await runLoad({ ...load, requests: load.requests.map((text) => Buffer.from(text)) });
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
