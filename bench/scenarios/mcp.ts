import { requestBytes, runLoad } from '../load.ts';
import { compare, median, round, type Bench, type Figure, type Scenario } from '../scenario.ts';

const spaceCount = 200;
const revision = '2026-07-28';
/** Of one client: so few that nothing waits for anything but its own call. */
const fewConnections = 2;

/** What the same operations cost as tools: the protocol around them, and an audit row for every call. */
export const mcp: Scenario = {
  name: 'mcp',
  async run(bench) {
    return [...(await compareReads(bench)), await compareCreations(bench)];
  },
};

async function compareReads(bench: Bench): Promise<Figure[]> {
  const { atrium, seed } = bench;
  const { token } = seed;
  const ids: string[] = [];
  for (let at = 0; at < spaceCount; at++) ids.push(await createSpace(bench, `Room ${at}`));
  const byPath = ids.map((id) => requestBytes('GET', `/api/v1/secure/spaces/${id}`, { token }));
  const byTool = ids.map((id) => toolCall(token, 'get_space', { id }));
  await assertAnswers(bench, 'get_space', { id: ids[0] });
  const throughput = await compare(
    bench,
    'read as a tool',
    {
      floor: { ...atrium, status: 200, requests: byPath, label: 'rest' },
      atrium: { ...atrium, status: 200, requests: byTool, label: 'tool' },
    },
    { atLeast: 0.77 },
  );
  return [throughput, await compareLatency(bench, { byPath, byTool })];
}

/** What the client of a service that has time waits, in turns A B, B A, …. */
async function compareLatency(
  { atrium, rounds, roundMs }: Bench,
  { byPath, byTool }: Record<'byPath' | 'byTool', readonly Buffer[]>,
): Promise<Figure> {
  const { port } = atrium;
  const p50 = async (requests: readonly Buffer[]) =>
    (await runLoad({ port, requests, status: 200, connections: fewConnections, durationMs: roundMs })).p50Ms;
  const [rest, tool]: [number[], number[]] = [[], []];
  for (let at = 0; at < rounds; at++) {
    if (at % 2 === 0) rest.push(await p50(byPath));
    tool.push(await p50(byTool));
    if (at % 2 === 1) rest.push(await p50(byPath));
  }
  const ratios = tool.map((one, at) => round(one / rest[at]!));
  return {
    name: 'latency of a read as a tool',
    value: round(median(ratios)),
    unit: 'ratio',
    target: { atMost: 1.3 },
    detail: { ratios, restP50Ms: round(median(rest)), toolP50Ms: round(median(tool)) },
  };
}

async function compareCreations(bench: Bench): Promise<Figure> {
  const { atrium, seed } = bench;
  const { token } = seed;
  const body = { name: 'Made by the bench' };
  await assertAnswers(bench, 'create_space', body);
  return compare(
    bench,
    'create as a tool',
    {
      floor: {
        ...atrium,
        status: 201,
        requests: [requestBytes('POST', '/api/v1/secure/spaces', { token, body })],
        label: 'rest',
      },
      atrium: { ...atrium, status: 200, requests: [toolCall(token, 'create_space', body)], label: 'tool' },
    },
    { atLeast: 0.77 },
  );
}

function toolCall(token: string, name: string, given: object): Buffer {
  return requestBytes('POST', '/mcp', { token, ...callOf(name, given) });
}

function callOf(name: string, given: object) {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return {
    headers: {
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': revision,
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
    },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given, _meta: envelope } },
  };
}

/** The load looks at the status alone, and that is 200 for refusals too. */
async function assertAnswers({ atrium, seed }: Bench, name: string, given: object): Promise<void> {
  const { headers, body } = callOf(name, given);
  const response = await fetch(`${atrium.base}/mcp`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${seed.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const { result } = JSON.parse(text) as { result?: { isError?: boolean; structuredContent?: unknown } };
  if (response.status !== 200 || result?.structuredContent === undefined || result.isError === true)
    throw new Error(`${name} answered ${response.status}: ${text}`);
}

async function createSpace({ atrium, seed }: Bench, name: string): Promise<string> {
  const response = await fetch(`${atrium.base}/api/v1/secure/spaces`, {
    method: 'POST',
    headers: { authorization: `Bearer ${seed.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  if (response.status !== 201) throw new Error(`spaces answered ${response.status}: ${await response.text()}`);
  const { data } = (await response.json()) as { data: { id: string } };
  return data.id;
}
