import { connect, type Socket } from 'node:net';
import Type from 'typebox';
import { beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';

import { access } from '#core/base/access/access';
import { closed } from '#core/base/schemas';
import { defineModule, defineRoute } from '#core/http/route';
import { maxPipelined } from '#core/http/traffic';
import { useEdges } from '#test/support/edge';
import { useService } from '#test/support/harness';
import { openConnection } from '#test/support/raw-connection';

const test = useService();
const openEdge = useEdges(test);

const text = 'x'.repeat(1_000_000);
const held: (() => void)[] = [];
let begun = 0;
let port: number;
/** The server's ends of the connections. */
let sockets: Socket[] = [];

const route = (path: `/${string}`, handler: () => { text: string } | Promise<{ text: string }>) =>
  defineRoute({
    method: 'GET',
    path,
    operationId: path.slice(1),
    summary: '',
    access: access.public('planted'),
    schema: { response: { 200: closed({ text: Type.String() }) } },
    handler: () => {
      begun += 1;
      return handler();
    },
  });

const planted = defineModule({
  name: 'planted',
  description: '',
  routes: [
    route('/large', () => ({ text })),
    route('/small', () => ({ text: 'x' })),
    route('/held', () => new Promise((resolve) => held.push(() => resolve({ text: 'x' })))),
  ],
});

beforeAll(async () => {
  const edge = await openEdge({ planted, limits: { idleMs: 1000 } });
  edge.server.server.on('connection', (socket: Socket) => sockets.push(socket));
  ({ port } = edge);
});

beforeEach(() => {
  begun = 0;
  sockets = [];
});

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
const soon = { timeout: 20_000 };

/** Sends requests and reads nothing. */
async function deafClient(requests: string): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.pause();
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await new Promise<void>((resolve) => void socket.write(requests, () => resolve()));
}

it('buffers one answer for a client that does not read, and disconnects it after no progress', async () => {
  await deafClient(get('/large').repeat(60));
  await vi.waitUntil(() => (sockets[0]?.writableLength ?? 0) > 0, soon);
  let maxUnsent = 0;
  await vi.waitUntil(() => {
    maxUnsent = Math.max(maxUnsent, sockets[0]!.writableLength);
    return sockets[0]!.destroyed;
  }, soon);
  expect(maxUnsent).toBeLessThan(1.1 * text.length);
  // The others fit into what the system keeps for a connection.
  expect(begun).toBeLessThan(30);
});

it('buffers at most one answer for each of 50 such clients', async () => {
  await Promise.all(Array.from({ length: 50 }, () => deafClient(get('/large').repeat(20))));
  let maxUnsent = 0;
  await vi.waitUntil(() => {
    maxUnsent = Math.max(
      maxUnsent,
      sockets.reduce((sum, socket) => sum + socket.writableLength, 0),
    );
    return sockets.length === 50 && sockets.every((socket) => socket.destroyed);
  }, soon);
  expect(maxUnsent).toBeLessThan(50 * 1.1 * text.length);
});

it('waits for a running answer, even without progress', async () => {
  const connection = await openConnection(port);
  connection.send(get('/held'));
  await vi.waitUntil(() => held.length === 1, soon);
  await new Promise<void>((resolve) => sockets[0]!.once('timeout', resolve));
  held.shift()!();
  expect((await connection.next()).status).toBe(200);
  connection.destroy();
});

it('serves pipelined requests one after the other', async () => {
  const connection = await openConnection(port);
  connection.send(get('/held') + get('/small').repeat(10));
  await vi.waitUntil(() => held.length === 1, soon);
  expect(begun).toBe(1);
  held.shift()!();
  for (let at = 0; at < 11; at++) expect((await connection.next()).headers.connection).toBe('keep-alive');
  connection.destroy();
});

it('serves a limited number of pipelined requests and closes the connection with the last answer', async () => {
  const connection = await openConnection(port);
  connection.send(get('/small').repeat(500));
  const answers = await connection.rest();
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: maxPipelined + 1 }, () => 200));
  expect(answers.map(({ headers }) => headers.connection).lastIndexOf('keep-alive')).toBe(maxPipelined - 1);
  expect(answers.at(-1)!.headers.connection).toBe('close');
  expect(begun).toBe(maxPipelined + 1);
});

it('starts no request of a disconnected client', async () => {
  const connection = await openConnection(port);
  connection.send(get('/held') + get('/small').repeat(10));
  await vi.waitUntil(() => held.length === 1, soon);
  connection.destroy();
  await vi.waitUntil(() => sockets[0]!.destroyed, soon);
  held.shift()!();
  const next = await openConnection(port);
  next.send(get('/small'));
  expect((await next.next()).status).toBe(200);
  expect(begun).toBe(2);
  next.destroy();
});
