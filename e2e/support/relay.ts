import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';

/** A TCP way to a local socket on which packets can get lost. */
export class Relay {
  readonly #server: Server;
  readonly #present = new Set<{ isDead: boolean }>();

  private constructor(socketPath: string) {
    this.#server = createServer((socket) => {
      const pair = { isDead: false };
      this.#present.add(pair);
      const target = connect(socketPath);
      for (const [from, to] of [
        [socket, target],
        [target, socket],
      ] as const) {
        from.on('data', (bytes) => void (pair.isDead || to.write(bytes)));
        from.on('error', () => undefined);
        from.on('close', () => void (pair.isDead ? target.destroy() : to.destroy()));
      }
    });
  }

  static async open(socketPath: string): Promise<Relay> {
    const relay = new Relay(socketPath);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Nothing passes on the present connections any more, as behind a firewall that has forgotten them. */
  swallow(): void {
    for (const pair of this.#present) pair.isDead = true;
    this.#present.clear();
  }

  close(): void {
    this.#server.close();
  }
}
