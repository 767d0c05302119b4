import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach } from 'vitest';

/** What each test of a file opens: closed behind it, the last first. */
export function useOpened() {
  const open: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of open.splice(0).toReversed()) await close();
  });

  /** Has the server listen on a free port of this machine; closing it breaks its connections. */
  async function listen(server: Server): Promise<number> {
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
    return (server.address() as AddressInfo).port;
  }

  return { open, listen };
}
