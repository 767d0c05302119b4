import type { Verdict } from '#core/platform/health/health';
import { createOutbound, type Outbound } from '#core/platform/outbound/outbound';

/** The last report of the realtime messaging server; counts are sums over its nodes. */
export type RealtimeStatus = {
  enabled: boolean;
  status: 'ok' | 'degraded' | 'disabled';
  ready: boolean;
  checkedAt: string;
  version: string;
  message: string;
  metrics: { nodes: number; channels: number; clients: number; users: number; uptimeSeconds: number };
};

export type Realtime = {
  readonly enabled: boolean;
  /** False for an address that would be refused unseen. */
  readonly isCallable: boolean;
  /** The state at the last check; makes no call. */
  status(): RealtimeStatus;
  /** Checks the server. It never throws: an invalid answer means a degraded server. */
  check(signal: AbortSignal): Promise<Verdict>;
  close(): Promise<void>;
};

type Options = {
  /** Base address of a server with Centrifugo's HTTP API, and the key for it. Without one, realtime is disabled. */
  server: { url: string; apiKey: string } | undefined;
  now(): Date;
};

// The operator configures the address, so it may be anywhere; the size of the answer is limited all the same.
const trusted = { allowedRanges: ['0.0.0.0/0', '::/0'], ownPort: 0 };
const limits = { connectMs: 1000, headersMs: 1000, totalMs: 1000, maxBodyBytes: 262_144, maxSockets: 2 };

type Facts = Pick<RealtimeStatus, 'status' | 'version' | 'message' | 'metrics'>;

const nothing = { nodes: 0, channels: 0, clients: 0, users: 0, uptimeSeconds: 0 };
const silent: Facts = { status: 'degraded', version: '', message: 'not reachable', metrics: nothing };
const unread: Facts = { ...silent, message: 'gives no usable answer' };

export function createRealtime({ server, now }: Options): Realtime {
  const outbound = createOutbound({ ...trusted, limits });
  const present = (facts: Facts): RealtimeStatus => ({
    enabled: server !== undefined,
    ready: facts.status === 'ok',
    checkedAt: now().toISOString(),
    ...facts,
  });
  const disabled: Facts = { ...silent, status: 'disabled', message: 'no realtime server is configured' };
  let last = present({ ...silent, message: 'not looked at yet' });
  return {
    enabled: server !== undefined,
    isCallable: server !== undefined && outbound.canTarget(server.url),
    status: () => (server === undefined ? present(disabled) : last),
    async check(signal) {
      const facts = server === undefined ? disabled : await ask(server, outbound, signal);
      last = present(facts);
      return { status: facts.status === 'degraded' ? 'degraded' : 'healthy', message: facts.message };
    },
    close: () => outbound.close(),
  };
}

const maxAnswerBytes = 65_536;

async function ask(
  { url, apiKey }: { url: string; apiKey: string },
  outbound: Outbound,
  signal: AbortSignal,
): Promise<Facts> {
  try {
    const answer = await outbound.fetch(`${url.replace(/\/+$/, '')}/api/info`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
      body: '{}',
      signal,
      maxBytes: maxAnswerBytes,
    });
    if (answer.status !== 200) return unread;
    return factsOf(await answer.json().catch(() => undefined)) ?? unread;
  } catch {
    return silent;
  }
}

/** Undefined where it is not the answer of such a server. */
function factsOf(body: unknown): Facts | undefined {
  const nodes = (body as { result?: { nodes?: unknown } } | null | undefined)?.result?.nodes;
  if (!Array.isArray(nodes) || nodes.length === 0 || !nodes.every(isNode)) return undefined;
  const counts = nodes.map((node) => ({
    channels: countOf(node['num_channels']),
    clients: countOf(node['num_clients']),
    users: countOf(node['num_users']),
    uptimeSeconds: countOf(node['uptime']),
  }));
  const sum = (name: 'channels' | 'clients' | 'users') => counts.reduce((total, one) => total + one[name], 0);
  const metrics = {
    nodes: nodes.length,
    channels: sum('channels'),
    clients: sum('clients'),
    users: sum('users'),
    // A sum of times would say nothing: how long the server as a whole has been there.
    uptimeSeconds: Math.max(...counts.map((one) => one.uptimeSeconds)),
  };
  if (!Object.values(metrics).every(Number.isSafeInteger)) return undefined;
  const [version] = nodes.map((node) => node['version']);
  return { status: 'ok', version: typeof version === 'string' ? plain(version) : '', message: 'reachable', metrics };
}

function isNode(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Servers leave out a zero; any other value that is not a count invalidates the whole answer. */
function countOf(value: unknown): number {
  if (value === undefined) return 0;
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : Number.NaN;
}

function plain(version: string): string {
  return version.replaceAll(/[^\w.+-]/g, '').slice(0, 40);
}
