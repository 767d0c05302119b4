import { request, type IncomingMessage } from 'node:http';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { memoryMb, peakMemoryMb, resetPeakMemory } from '../machine.ts';
import { round, type Bench, type Figure, type Scenario } from '../scenario.ts';

const MiB = 1024 * 1024;

/** How much more memory the service needs while one large file comes in, and while it goes out. */
export const files: Scenario = {
  name: 'files',
  async run(bench) {
    const size = (bench.isQuick ? 256 : 2048) * MiB;
    await transfer(bench, MiB);
    const figures: Figure[] = [];
    let id = '';
    figures.push(await growth(bench, `upload of ${size / MiB} MiB`, async () => (id = await upload(bench, size))));
    figures.push(await growth(bench, `download of ${size / MiB} MiB`, () => download(bench, id, size)));
    await remove(bench, id);
    return figures;
  },
};

/** Once in small, so that what is loaded at the first use is there already. */
async function transfer(bench: Bench, size: number): Promise<void> {
  const id = await upload(bench, size);
  await download(bench, id, size);
  await remove(bench, id);
}

async function growth({ atrium }: Bench, name: string, work: () => Promise<unknown>): Promise<Figure> {
  resetPeakMemory(atrium.pid);
  const before = memoryMb(atrium.pid);
  const startedAt = performance.now();
  await work();
  const seconds = round((performance.now() - startedAt) / 1000, 1);
  const value = round(peakMemoryMb(atrium.pid) - before, 0);
  return { name: `memory for ${name}`, value, unit: 'MB', target: { atMost: 64 }, detail: { seconds } };
}

async function upload(bench: Bench, size: number): Promise<string> {
  const block = Buffer.alloc(MiB, 'atrium');
  const blocks = Readable.from(
    (function* () {
      for (let sent = 0; sent < size; sent += MiB) yield block;
    })(),
  );
  const headers = { 'content-type': 'application/octet-stream', 'content-length': size };
  const response = await send(bench, { method: 'POST', path: '?name=large.bin', headers }, blocks);
  const text = Buffer.concat(await response.toArray()).toString();
  if (response.statusCode !== 201) throw new Error(`upload answered ${response.statusCode}: ${text}`);
  return (JSON.parse(text) as { data: { id: string } }).data.id;
}

async function download(bench: Bench, id: string, size: number): Promise<void> {
  const response = await send(bench, { method: 'GET', path: `/${id}/content` });
  let received = 0;
  const count = new Writable({
    write(chunk: Buffer, _encoding, done) {
      received += chunk.length;
      done();
    },
  });
  await pipeline(response, count);
  if (response.statusCode !== 200 || received !== size) {
    throw new Error(`download answered ${response.statusCode} with ${received} of ${size} bytes`);
  }
}

async function remove(bench: Bench, id: string): Promise<void> {
  const response = await send(bench, { method: 'DELETE', path: `/${id}` });
  response.resume();
  if (response.statusCode !== 204) throw new Error(`deletion answered ${response.statusCode}`);
}

type Call = { method: string; path: string; headers?: Record<string, string | number> };

function send({ atrium, seed }: Bench, { method, path, headers }: Call, body?: Readable): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${atrium.base}/api/v1/secure/files${path}`, {
      method,
      headers: { ...headers, authorization: `Bearer ${seed.token}` },
    });
    outgoing.on('response', resolve).on('error', reject);
    if (body === undefined) outgoing.end();
    else void pipeline(body, outgoing).catch(reject);
  });
}
