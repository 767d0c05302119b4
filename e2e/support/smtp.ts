import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A mail server that takes everything and remembers the Message-ID of each mail it took. */
export class MailServer {
  readonly taken: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async open(): Promise<MailServer> {
    const mail = new MailServer();
    mail.#server.listen(0, '127.0.0.1');
    await once(mail.#server, 'listening');
    return mail;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    let received = '';
    let isData = false;
    const answer = (text: string) => socket.write(`${text}\r\n`);
    answer('220 e2e');
    socket.setEncoding('utf8').on('error', () => undefined);
    socket.on('data', (chunk: string) => {
      received += chunk;
      for (;;) {
        const end = isData ? '\r\n.\r\n' : '\r\n';
        const at = received.indexOf(end);
        if (at < 0) return;
        const text = received.slice(0, at);
        received = received.slice(at + end.length);
        if (isData) {
          this.taken.push(/^message-id: (.*)$/im.exec(text)?.[1] ?? '');
          isData = false;
          answer('250 taken');
        } else if (/^data/i.test(text)) {
          isData = true;
          answer('354 go on');
        } else if (/^quit/i.test(text)) socket.end('221 bye\r\n');
        else answer('250 ok');
      }
    });
  }
}
