import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it, vi } from 'vitest';

import { Client, newTenant } from './support/client.ts';
import { until, Workplace } from './support/service.ts';
import { startWorkers, workersOf } from './support/workers.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 });

const workplace = new Workplace();
const translators: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const translator of translators.splice(0)) await translator.close();
  await workplace.clear();
});

const env = { OUTBOUND_ALLOWED_CIDRS: '127.0.0.1/32' };
const translate = '/api/v1/secure/ai/translate';
/** More than one request translates itself. */
const tagCount = 210;
const timeoutMs = 120_000;

/** A server that translates as LibreTranslate would; while it is `stuck` it does not answer. */
async function startTranslator() {
  const translator = { origin: '', stuck: false, waiting: 0, asked: [] as string[], close };
  const server = createServer((request, response) => {
    // Health checks send no translation.
    if (request.method !== 'POST') return response.end();
    translator.waiting += 1;
    response.on('close', () => (translator.waiting -= 1));
    return void text(request)
      .then((body) => {
        const { q, target } = JSON.parse(body) as { q: string[]; target: string };
        translator.asked.push(...q);
        if (translator.stuck) return;
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ translatedText: q.map((one) => `${one} (${target})`) }));
      })
      .catch(() => undefined);
  });
  function close() {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  translator.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  translators.push(translator);
  return translator;
}

/** A tenant with tags to translate, of which a request has done the most and left the rest to the background. */
async function begin(base: string) {
  const translator = await startTranslator();
  const { client } = await newTenant(base);
  const tenant = { languages: ['en', 'de'], default_language: 'en' };
  expect((await client.call('PATCH', `/api/v1/secure/tenants/${client.tenantId}`, tenant)).status).toBe(200);
  const connector = {
    api_key: 'translator',
    api_name: 'Translator',
    api_base_url: translator.origin,
    config: { adapter: 'libretranslate' },
  };
  expect((await client.post('/api/v1/secure/ai/providers', connector)).status).toBe(201);
  for (let at = 0; at < tagCount; at++) await client.post('/api/v1/secure/tags', { name: `Tag ${at}` });
  // The last one is never reached before it is stuck.
  const answered = client.post(`${translate}/entity-type`, { entity_type: 'tag' });
  await until('the request has begun', () => translator.asked.length > 0, timeoutMs);
  translator.stuck = true;
  const answer = await answered;
  expect(answer.status).toBe(200);
  await until('the background has begun', () => translator.waiting > 0, timeoutMs);
  const { data } = (await client.get('/api/v1/secure/tags?search=Tag%20209')).body;
  expect(data[0].translations_i18n).toEqual({});
  return { client, translator, job: answer.headers.get('location')! };
}

async function untilCompleted(client: Client, job: string) {
  let data: any;
  await until(
    'the job has ended',
    async () => {
      const { status, body } = await client.get(job);
      expect([200, 401, 503]).toContain(status);
      data = body.data;
      return status === 200 && data.status !== 'running';
    },
    timeoutMs,
  );
  expect(data).toMatchObject({ status: 'completed', entities_translated: tagCount, texts_failed: 0 });
  const tags = await client.all('/api/v1/secure/tags');
  expect(tags.filter((tag) => tag.translations_i18n.de?.name !== `${tag.name} (de)`)).toEqual([]);
}

it('tasks of killed processes are completed by their successors', async () => {
  const service = await startWorkers(workplace, { dataDir: workplace.dataDir(), env });
  const { client, translator, job } = await begin(service.base);
  const killed = workersOf(service);
  for (const pid of killed) process.kill(pid, 'SIGKILL');
  translator.stuck = false;
  await until('others serve', () => workersOf(service).filter((pid) => !killed.includes(pid)).length === 2, timeoutMs);
  await untilCompleted(client, job);
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});

it('tasks that run at a stop continue after the next start', async () => {
  const dataDir = workplace.dataDir();
  const first = await startWorkers(workplace, { dataDir, env });
  const { client, translator, job } = await begin(first.base);
  expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  translator.stuck = false;
  const second = await startWorkers(workplace, { dataDir, env });
  const again = new Client(second.base);
  Object.assign(again, { accessToken: client.accessToken, tenantId: client.tenantId });
  await untilCompleted(again, job);
});
