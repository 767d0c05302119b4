import { connect, createServer, type Server, type Socket } from 'node:net';
import type pg from 'pg';
import { inject } from 'vitest';

/** A TCP proxy to the database that can drop packets. */
export type Relay = {
  connection: pg.ClientConfig;
  /** Drops all packets of the open connections in both directions, like a firewall that has lost their state. */
  swallow(): void;
  /** Drops all packets of later connections, until `answer`. */
  hang(): void;
  answer(): void;
  /** Number of connections opened through it. */
  opened(): number;
};

/** @param listen starts the server on a free port and closes it after the test */
export async function openRelay(listen: (server: Server) => Promise<number>): Promise<Relay> {
  const real = inject('connection');
  const present = new Set<{ isDead: boolean }>();
  let isHanging = false;
  let opened = 0;
  const server = createServer((socket) => {
    const pair = { isDead: isHanging };
    opened += 1;
    present.add(pair);
    const target = connectTo(real);
    for (const [from, to] of [
      [socket, target],
      [target, socket],
    ] as const) {
      from.on('data', (bytes) => void (pair.isDead || to.write(bytes)));
      from.on('error', () => undefined);
      // Even the end of a connection is not heard of where packets vanish.
      from.on('close', () => void (pair.isDead ? target.destroy() : to.destroy()));
    }
  });
  const port = await listen(server);
  return {
    connection: { ...real, host: '127.0.0.1', port },
    swallow: () => {
      for (const pair of present) pair.isDead = true;
      present.clear();
    },
    hang: () => void (isHanging = true),
    answer: () => void (isHanging = false),
    opened: () => opened,
  };
}

function connectTo({ host, port }: pg.ClientConfig): Socket {
  return host!.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port!, host);
}
