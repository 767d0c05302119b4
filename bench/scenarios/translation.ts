import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

import { send, startOutside, type Outside } from '../api.ts';
import { requestBytes } from '../load.ts';
import { memoryMb, peakMemoryMb, resetPeakMemory } from '../machine.ts';
import { contactReads } from '../paced-reads.ts';
import { compare, round, type Bench, type Figure, type Scenario } from '../scenario.ts';
import { enter } from '../seed.ts';

/** As many as one person may have translated in a minute. */
const textCount = 50;
const spaceCount = 1000;
const languages = ['de', 'fr', 'es', 'it', 'pt'];
const lookMs = 50;

/** The cost of a remembered translation compared with a plain read, and the memory for a thousand records in five languages. */
export const translation: Scenario = {
  name: 'translation',
  async run(bench) {
    const provider = await startProvider();
    try {
      return [await compareWithRead(bench, provider.origin), await measureMemory(bench, provider.origin)];
    } finally {
      await provider.stop();
    }
  },
};

async function compareWithRead(bench: Bench, origin: string): Promise<Figure> {
  const { atrium, seed } = bench;
  const { token } = seed;
  await connect(bench, token, origin);
  const texts = Array.from({ length: textCount }, (_, at) => ({
    text: `The ${at}th room on the ground floor is closed on Sundays, but open to members.`,
    source_language: 'en',
    target_language: 'de',
  }));
  for (const body of texts) await send(bench, token, 'POST secure/ai/translate/text', body);
  return compare(
    bench,
    'cached translation',
    {
      floor: {
        ...atrium,
        status: 200,
        requests: contactReads(seed),
        label: 'read',
      },
      atrium: {
        ...atrium,
        status: 200,
        requests: texts.map((body) => requestBytes('POST', '/api/v1/secure/ai/translate/text', { token, body })),
        label: 'translation',
      },
    },
    { atLeast: 0.7 },
  );
}

async function measureMemory(bench: Bench, origin: string): Promise<Figure> {
  const { atrium } = bench;
  const email = `translator-${Date.now()}@bench.example`;
  const { tenantId, token } = await enter(atrium.base, { email, password: 'correct horse' });
  await send(bench, token, `PATCH secure/tenants/${tenantId}`, {
    default_language: 'en',
    languages: ['en', ...languages],
  });
  await connect(bench, token, origin);
  // What is compiled and loaded by the first records is not what more of them cost.
  await insertSpaces(bench, tenantId, 100);
  await translateAll(bench, token);
  await insertSpaces(bench, tenantId, spaceCount);
  const before = memoryMb(atrium.pid);
  resetPeakMemory(atrium.pid);
  const startedAt = performance.now();
  const job = await translateAll(bench, token);
  const max = peakMemoryMb(atrium.pid);
  const seconds = (performance.now() - startedAt) / 1000;
  if (job.entities_translated !== spaceCount) throw new Error(`translated were ${JSON.stringify(job)}`);
  return {
    name: 'memory of a big translation',
    value: round(max - before, 1),
    unit: 'MB',
    target: { atMost: 64 },
    detail: {
      beforeMb: round(before, 0),
      seconds: round(seconds, 1),
      textsPerSecond: round((spaceCount * languages.length * 2) / seconds, 0),
    },
  };
}

type Job = { status: string; entities_translated: number };

async function translateAll(bench: Bench, token: string): Promise<Job> {
  await send(bench, token, 'POST secure/ai/translate/entity-type', { entity_type: 'space' });
  for (;;) {
    const { data } = await send<{ data: Job[] }>(bench, token, 'GET secure/ai/translate/jobs?limit=1');
    const [job] = data;
    if (job?.status === 'completed') return job;
    if (job?.status !== 'running') throw new Error(`the translation ended: ${JSON.stringify(job)}`);
    await sleep(lookMs);
  }
}

async function insertSpaces({ atrium }: Bench, tenantId: string, count: number): Promise<void> {
  const client = new pg.Client(atrium.connection);
  await client.connect();
  try {
    await client.query(
      `insert into spaces (tenant_id, id, name, description, created_at, updated_at)
       select $1, uuidv7(), 'Room ' || n || ' of ' || $2, 'On floor ' || n || ' of ' || $2 || ', behind the stairs', now(), now()
         from generate_series(1, $2::int) n`,
      [tenantId, count],
    );
  } finally {
    await client.end();
  }
}

async function connect(bench: Bench, token: string, origin: string): Promise<void> {
  await send(bench, token, 'POST secure/ai/providers', {
    api_key: 'libretranslate',
    api_name: 'LibreTranslate',
    api_base_url: origin,
  });
}

/** Speaks the protocol of LibreTranslate, and is done at once. */
function startProvider(): Promise<Outside> {
  return startOutside((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { q, target } = JSON.parse(Buffer.concat(chunks).toString()) as { q: string[]; target: string };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ translatedText: q.map((text) => `${text} (${target})`) }));
    });
  });
}
