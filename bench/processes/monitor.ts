/**
 * Looks at the health of a service, as one that watches it from outside does. Started by the bench, whose own flood would hold
 * it up as a part of it. Each line `<milliseconds>` is answered with what it found in that time.
 */
import { createInterface } from 'node:readline';

import { requestBytes, runLoad } from '../load.ts';

const checksPerSecond = 20;
const port = Number(process.argv[2]);

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const result = await runLoad({
    port,
    requests: [requestBytes('GET', '/api/v1/system/health')],
    status: 200,
    connections: 2,
    durationMs: Number(line),
    pace: checksPerSecond,
  });
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
