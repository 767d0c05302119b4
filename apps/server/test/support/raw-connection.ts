import { connect, type Socket } from 'node:net';

/** An answer as it came over the wire. */
export type RawAnswer = { status: number; headers: Record<string, string>; body: string };

/** A connection on which tests write any bytes they like, and read whole answers. */
export type RawConnection = {
  send(text: string | Buffer): void;
  /** The next answer; fails when the connection ends without one. */
  next(options?: { isHead?: boolean }): Promise<RawAnswer>;
  /** Everything that comes until the server closes; a server that never does fails the test by its time limit. */
  rest(): Promise<RawAnswer[]>;
  destroy(): void;
};

export async function openConnection(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1' });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  const reader = new Reader(socket);
  return {
    send: (text) => void socket.write(text),
    next: ({ isHead = false } = {}) => reader.next(isHead),
    async rest() {
      const answers: RawAnswer[] = [];
      await reader.ended;
      while (reader.hasData()) answers.push(await reader.next(false));
      return answers;
    },
    destroy: () => socket.destroy(),
  };
}

/** Sends the text on a connection of its own and reads all that is answered until the server closes. */
export async function exchange(port: number, text: string | Buffer): Promise<RawAnswer[]> {
  const connection = await openConnection(port);
  connection.send(text);
  const answers = await connection.rest();
  connection.destroy();
  return answers;
}

class Reader {
  readonly ended: Promise<void>;
  #data = Buffer.alloc(0);
  #isEnded = false;
  #wake = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.#data = Buffer.concat([this.#data, chunk]);
      this.#signal();
    });
    this.ended = new Promise((resolve) => {
      const end = () => {
        this.#isEnded = true;
        this.#signal();
        resolve();
      };
      socket.once('end', end);
      socket.once('close', end);
      // A reset is an end like any other; what was read before it still counts.
      socket.on('error', end);
    });
  }

  hasData(): boolean {
    return this.#data.length > 0;
  }

  async next(isHead: boolean): Promise<RawAnswer> {
    for (;;) {
      const answer = this.#take(isHead);
      if (answer !== undefined) return answer;
      if (this.#isEnded) throw new Error(`the connection ended within an answer: ${this.#data.toString('latin1')}`);
      await this.#wake.promise;
    }
  }

  #take(isHead: boolean): RawAnswer | undefined {
    const headEnd = this.#data.indexOf('\r\n\r\n');
    if (headEnd < 0) return undefined;
    const [statusLine, ...lines] = this.#data.subarray(0, headEnd).toString('latin1').split('\r\n');
    const match = /^HTTP\/1\.1 (\d{3}) /.exec(statusLine!);
    if (match === null) throw new Error(`not the beginning of an answer: ${statusLine}`);
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const status = Number(match[1]);
    const hasBody = !isHead && status >= 200 && status !== 204;
    const end = headEnd + 4 + (hasBody ? Number(headers['content-length'] ?? 0) : 0);
    if (this.#data.length < end) return undefined;
    const body = this.#data.subarray(headEnd + 4, end).toString('utf8');
    this.#data = this.#data.subarray(end);
    return { status, headers, body };
  }

  #signal(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
  }
}
