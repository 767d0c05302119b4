import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';

import { useEdges } from '#test/support/edge';
import { useService } from '#test/support/harness';
import { openConnection } from '#test/support/raw-connection';

const soon = { timeout: 30_000 };

const test = useService();
const openEdge = useEdges(test);
const health = 'GET /api/v1/system/health HTTP/1.1\r\nHost: x\r\n\r\n';

/** An edge that takes its connections for those of the addresses that a test names. */
async function openBounded(maxConnectionsPerAddress: number, trustedProxies: string[] = []) {
  const { server } = await openEdge({ limits: { maxConnectionsPerAddress }, trustedProxies });
  let remoteAddress = '';
  const acceptor = createServer((socket: Socket) => {
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
    server.server.emit('connection', socket);
  });
  await new Promise<void>((resolve) => void acceptor.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void acceptor.close());
  const { port } = acceptor.address() as AddressInfo;
  return async (address: string) => {
    remoteAddress = address;
    const accepted = new Promise<void>((resolve) => void acceptor.once('connection', () => resolve()));
    const connection = await openConnection(port);
    await accepted;
    onTestFinished(() => connection.destroy());
    return connection;
  };
}

it('closes a connection above the limit of its address at once; other connections continue', async () => {
  const connectFrom = await openBounded(3);
  const first = await connectFrom('192.0.2.1');
  await connectFrom('192.0.2.1');
  await connectFrom('192.0.2.1');
  for (let at = 0; at < 50; at++) expect(await (await connectFrom('192.0.2.1')).rest()).toEqual([]);
  for (const connection of [first, await connectFrom('192.0.2.2')]) {
    connection.send(health);
    expect((await connection.next()).status).toBe(200);
  }
});

it('accepts a new connection of the address after one has ended', async () => {
  const connectFrom = await openBounded(1);
  (await connectFrom('192.0.2.1')).destroy();
  await vi.waitUntil(async () => {
    const connection = await connectFrom('192.0.2.1');
    connection.send(health);
    return connection.next().then(
      () => true,
      () => false,
    );
  }, soon);
});

it.each(['127.0.0.1', '10.1.2.3'])('has no limit for loopback and trusted proxies: %s', async (address) => {
  const connectFrom = await openBounded(1, ['10.0.0.0/8']);
  await connectFrom(address);
  for (let at = 0; at < 5; at++) {
    const connection = await connectFrom(address);
    connection.send(health);
    expect((await connection.next()).status).toBe(200);
  }
});
