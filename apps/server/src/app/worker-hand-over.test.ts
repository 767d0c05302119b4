import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import type { Config } from '#app/config';
import { HandOver } from '#app/worker-hand-over';
import type { FromWorker, ToWorker } from '#app/worker-messages';
import type { Log } from '#core/data/log/log';
import { createConnectionBounds, type ConnectionBounds } from '#core/http/connection-bounds';
import { openConnection } from '#test/support/raw-connection';

const warn = vi.fn<(text: string) => void>();

const unbounded: ConnectionBounds = { take: () => () => undefined, refused: () => 0 };
const log = { warn } as unknown as Log;

async function listening(limits?: ConstructorParameters<typeof HandOver>[2], bounds = unbounded) {
  const handOver = new HandOver(log, bounds, limits);
  const port = await handOver.listen({ HOST: '127.0.0.1', PORT: 0 } as Config);
  onTestFinished(() => handOver.close());
  const connect = async () => {
    const client = await openConnection(port);
    onTestFinished(() => client.destroy());
    return client;
  };
  return { handOver, connect };
}

/** A worker that records its messages; `failing` has a broken channel. */
function aWorker({ failing = false } = {}) {
  const got: { id: number; socket: Socket }[] = [];
  const kill = vi.fn<(signal: string) => void>(() => void child.emit('close'));
  const child = Object.assign(new EventEmitter(), { kill });
  const send = (message: ToWorker, socket: Socket, _options: object, callback: (error: Error | null) => void) => {
    if (message.kind === 'connection' && !failing) got.push({ id: message.id, socket });
    queueMicrotask(() => callback(failing ? new Error('write EPIPE') : null));
  };
  const worker = Object.assign(new EventEmitter(), { process: child, send }) as unknown as Worker;
  const say = (message: FromWorker) => void worker.emit('message', message);
  return { worker, got, say, child };
}

const has = (count: number, { got }: ReturnType<typeof aWorker>) =>
  vi.waitUntil(() => got.length === count, { timeout: 30_000 });

it('distributes connections in turn; a worker gets the next one after it confirmed the last one', async () => {
  const { handOver, connect } = await listening();
  const [first, second] = [aWorker(), aWorker()];
  handOver.add(first.worker);
  handOver.add(second.worker);
  for (let number = 0; number < 3; number++) await connect();
  await Promise.all([has(1, first), has(1, second)]);
  second.say({ kind: 'taken', id: second.got[0]!.id });
  await has(2, second);
  expect(second.got[0]!.socket.destroyed).toBe(true);
  expect(first.got).toHaveLength(1);
  expect(first.got[0]!.socket.destroyed).toBe(false);
});

it.each([
  ['ends', ({ child }: ReturnType<typeof aWorker>) => child.emit('close')],
  ['declines it', ({ say, got }: ReturnType<typeof aWorker>) => say({ kind: 'declined', id: got[0]!.id })],
])('a connection goes to another worker, before later ones, when the first %s', async (_how, leave) => {
  const { handOver, connect } = await listening();
  const [first, second] = [aWorker(), aWorker()];
  handOver.add(first.worker);
  await connect();
  await has(1, first);
  await connect();
  leave(first);
  handOver.add(second.worker);
  await has(1, second);
  expect(second.got[0]!.id).toBe(first.got[0]!.id);
  second.say({ kind: 'taken', id: second.got[0]!.id });
  await has(2, second);
  expect(first.got).toHaveLength(1);
});

it('a worker with a broken channel is killed, and another one gets the connection', async () => {
  const { handOver, connect } = await listening();
  const [broken, sound] = [aWorker({ failing: true }), aWorker()];
  handOver.add(broken.worker);
  handOver.add(sound.worker);
  await connect();
  await has(1, sound);
  expect(broken.child.kill).toHaveBeenCalledExactlyOnceWith('SIGKILL');
});

it('a connection that is not confirmed in time is closed, waiting or sent', async () => {
  warn.mockClear();
  const { handOver, connect } = await listening({ timeoutMs: 1 });
  expect(await (await connect()).rest()).toEqual([]);
  const hanging = aWorker();
  handOver.add(hanging.worker);
  expect(await (await connect()).rest()).toEqual([]);
  expect(warn).toHaveBeenCalledExactlyOnceWith('connections are closed without an answer: no worker accepts them');
  // The worker gets further connections, and its late confirmation is ignored.
  await connect();
  await has(2, hanging);
  hanging.say({ kind: 'taken', id: hanging.got[0]!.id });
});

it('connections above the maximum are closed at once', async () => {
  const { handOver, connect } = await listening({ maxWaiting: 1 });
  await connect();
  expect(await (await connect()).rest()).toEqual([]);
  const worker = aWorker();
  handOver.add(worker.worker);
  await has(1, worker);
});

it('close sends all waiting connections and accepts no more', async () => {
  const { handOver, connect } = await listening({ maxWaiting: 1 });
  const worker = aWorker();
  handOver.add(worker.worker);
  await connect();
  await has(1, worker);
  await connect();
  // The refused connection shows that the previous one waits.
  await (await connect()).rest();
  handOver.close();
  expect(worker.got).toHaveLength(2);
  await expect(connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

describe('the limit of connections per address applies to all workers together', () => {
  async function bounded() {
    const bounds = createConnectionBounds({ maxPerAddress: 2, trustedProxies: [], log, now: () => 0 });
    const from = '192.0.2.1';
    const { handOver, connect } = await listening({}, { ...bounds, take: () => bounds.take(from) });
    const [first, second] = [aWorker(), aWorker()];
    handOver.add(first.worker);
    handOver.add(second.worker);
    await connect();
    await has(1, first);
    first.say({ kind: 'taken', id: first.got[0]!.id });
    await connect();
    await has(1, second);
    second.say({ kind: 'taken', id: second.got[0]!.id });
    return { connect, first, second };
  }

  it('a connection above the limit is closed at once, and no worker gets it', async () => {
    const { connect, first, second } = await bounded();
    expect(await (await connect()).rest()).toEqual([]);
    expect([first.got.length, second.got.length]).toEqual([1, 1]);
  });

  it('a connection is possible again after a worker reports a closed one', async () => {
    const { connect, first, second } = await bounded();
    second.say({ kind: 'closed', id: second.got[0]!.id });
    await connect();
    await has(2, first);
    expect(second.got).toHaveLength(1);
  });

  it('a connection is possible again after a worker ends', async () => {
    const { connect, first, second } = await bounded();
    first.child.emit('close');
    await connect();
    await has(2, second);
    expect(first.got).toHaveLength(1);
  });
});
