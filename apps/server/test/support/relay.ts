import { connect, createServer, type Server, type Socket } from 'node:net';
import type pg from 'pg';
import { inject } from 'vitest';

/** A way to the database on which packets can get lost. */
export type Relay = {
  connection: pg.ClientConfig;
  /** From now on nothing passes on the present connections in either direction, as behind a firewall that has forgotten them. */
  swallow(): void;
  /** The same on connections that are opened from now on, until `answer`. */
  hang(): void;
  answer(): void;
  /** Connections that were opened through it. */
  opened(): number;
};

/** @param listen has the server listen on a free port and closes it behind the test */
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
