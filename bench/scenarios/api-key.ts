import { requestBytes } from '../load.ts';
import { compare, median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';

const spaceCount = 200;
const revocations = 20;

type IssuedKey = { id: string; fullKey: string };

/** What presenting a key costs compared with a token, and how long a deleted key lives in another process. */
export const apiKey: Scenario = {
  name: 'api-key',
  async run(bench) {
    return [await compareWithBearer(bench), await measureRevocation(bench)];
  },
};

async function compareWithBearer(bench: Bench): Promise<Figure> {
  const { atrium, seed } = bench;
  const { token } = seed;
  const spaceIds: string[] = [];
  for (let at = 0; at < spaceCount; at++) {
    const { data } = await create<{ data: { id: string } }>(bench, 'spaces', { name: `Room ${at}` });
    spaceIds.push(data.id);
  }
  const { fullKey } = await createKey(bench);
  const reads = (credential: { token: string } | { apiKey: string }) =>
    spaceIds.map((id) => requestBytes('GET', `/api/v1/secure/spaces/${id}`, credential));
  return compare(
    bench,
    'read with an API key',
    {
      floor: { ...atrium, status: 200, requests: reads({ token }), label: 'bearer' },
      atrium: { ...atrium, status: 200, requests: reads({ apiKey: fullKey }), label: 'key' },
    },
    { atLeast: 0.95 },
  );
}

async function measureRevocation(bench: Bench): Promise<Figure> {
  const { atrium, seed } = bench;
  const peer = await atrium.startPeer();
  const delaysMs: number[] = [];
  try {
    for (let at = 0; at < revocations; at++) {
      const { id, fullKey } = await createKey(bench);
      // Once more, so that the second process has it from memory.
      for (let call = 0; call < 2; call++) await expectStatus(await readWith(peer.base, fullKey), 200);
      const deleted = await fetch(`${atrium.base}/api/v1/secure/api-keys/${id}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${seed.token}` },
      });
      const deletedAt = performance.now();
      await expectStatus(deleted, 204);
      let status: number;
      do status = await discard(await readWith(peer.base, fullKey));
      while (status === 200);
      delaysMs.push(performance.now() - deletedAt);
    }
  } finally {
    await peer.stop();
  }
  const detail = { medianMs: round(median(delaysMs), 1), delaysMs: delaysMs.map((delayMs) => round(delayMs, 1)) };
  const value = round(Math.max(...delaysMs) / 1000);
  return { name: 'key revocation elsewhere', value, unit: 's', target: { atMost: 1 }, detail };
}

async function createKey(bench: Bench): Promise<IssuedKey> {
  const body = { name: 'bench', permissions: { spaces: { read: true } } };
  const { data, fullKey } = await create<{ data: { id: string }; fullKey: string }>(bench, 'api-keys', body);
  return { id: data.id, fullKey };
}

async function create<Answer>({ atrium, seed }: Bench, collection: string, body: object): Promise<Answer> {
  const response = await fetch(`${atrium.base}/api/v1/secure/${collection}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${seed.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(`${collection} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

function readWith(base: string, fullKey: string): Promise<Response> {
  return fetch(`${base}/api/v1/secure/spaces?limit=1`, { headers: { 'x-api-key': fullKey } });
}

async function expectStatus(response: Response, status: number): Promise<void> {
  const answered = await discard(response);
  if (answered !== status) throw new Error(`${response.url} answered ${answered} instead of ${status}`);
}

async function discard(response: Response): Promise<number> {
  await response.arrayBuffer();
  return response.status;
}
