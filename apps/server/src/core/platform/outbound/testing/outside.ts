import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LookupAddress } from 'node:dns';
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';

import { OutboundError, createOutbound, type Outbound, type OutboundOptions } from '#core/platform/outbound/outbound';

/** Until the test ends. */
export async function listen(server: Server | HttpServer, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** @returns the origin of a service that answers so */
export async function serve(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createHttpServer(listener))}`;
}

/** @returns the origin of a server that sends these bytes after each request */
export async function serveBytes(answer: (socket: Socket) => void): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer((socket) => socket.once('data', () => answer(socket))))}`;
}

export function outboundToLoopback(options: Partial<OutboundOptions> = {}): Outbound {
  const outbound = createOutbound({ allowedRanges: ['127.0.0.1/32'], ownPort: 8080, ...options });
  onTestFinished(() => outbound.close());
  return outbound;
}

export async function expectFailure(call: Promise<unknown>): Promise<OutboundError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(OutboundError);
  return error as OutboundError;
}

/**
 * Counts the bytes that calls read from their sockets, until the test ends: unread bytes take no memory here.
 * @returns the bytes so far, of all calls since
 */
export function countBytesRead(): () => number {
  const sockets = new Set<Socket>();
  const onConnected = (message: unknown) => void sockets.add((message as { socket: Socket }).socket);
  subscribe('undici:client:connected', onConnected);
  onTestFinished(() => void unsubscribe('undici:client:connected', onConnected));
  return () => [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0);
}

/** A resolver that answers each time with the next line, and the last one for ever. */
export function resolver(answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const lookup: NonNullable<OutboundOptions['lookup']> = (hostname, _options, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)]!;
    asked.push(hostname);
    const found = addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }));
    process.nextTick(() => callback(null, found));
  };
  return { lookup, asked };
}
