import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';

import { HandOver } from '#app/worker-hand-over';
import type { Config } from '#app/config';
import type { FromWorker, ToWorker } from '#app/worker-messages';
import type { Log } from '#core/log/log';
import { openConnection } from '#test/support/raw-connection';

const warn = vi.fn<(text: string) => void>();

async function listening(limits?: ConstructorParameters<typeof HandOver>[1]) {
  const handOver = new HandOver({ warn } as unknown as Log, limits);
  const port = await handOver.listen({ HOST: '127.0.0.1', PORT: 0 } as Config);
  onTestFinished(() => handOver.close());
  const connect = async () => {
    const client = await openConnection(port);
    onTestFinished(() => client.destroy());
    return client;
  };
  return { handOver, connect };
}

/** A worker that keeps what it is sent; `failing` like one whose channel is broken. */
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

const has = (count: number, { got }: ReturnType<typeof aWorker>) => vi.waitUntil(() => got.length === count);

it('gives connections out in turn, to each worker the next once it has taken the last', async () => {
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

it('a worker that can be told nothing is ended, and another gets the connection', async () => {
  const { handOver, connect } = await listening();
  const [broken, sound] = [aWorker({ failing: true }), aWorker()];
  handOver.add(broken.worker);
  handOver.add(sound.worker);
  await connect();
  await has(1, sound);
  expect(broken.child.kill).toHaveBeenCalledExactlyOnceWith('SIGKILL');
});

it('a connection that nobody takes in time is closed, whether it waits or was sent', async () => {
  warn.mockClear();
  const { handOver, connect } = await listening({ patienceMs: 1 });
  expect(await (await connect()).rest()).toEqual([]);
  const hanging = aWorker();
  handOver.add(hanging.worker);
  expect(await (await connect()).rest()).toEqual([]);
  expect(warn).toHaveBeenCalledExactlyOnceWith('connections are closed unanswered: no worker takes them');
  // It gets others all the same, and what it says at last of the first is no news.
  await connect();
  await has(2, hanging);
  hanging.say({ kind: 'taken', id: hanging.got[0]!.id });
});

it('more than may wait are closed at once', async () => {
  const { handOver, connect } = await listening({ maxWaiting: 1 });
  await connect();
  expect(await (await connect()).rest()).toEqual([]);
  const worker = aWorker();
  handOver.add(worker.worker);
  await has(1, worker);
});

it('at the end everything that waits is sent, and nothing more is accepted', async () => {
  const { handOver, connect } = await listening({ maxWaiting: 1 });
  const worker = aWorker();
  handOver.add(worker.worker);
  await connect();
  await has(1, worker);
  await connect();
  // The one too many shows that the one before it waits.
  await (await connect()).rest();
  handOver.close();
  expect(worker.got).toHaveLength(2);
  await expect(connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
