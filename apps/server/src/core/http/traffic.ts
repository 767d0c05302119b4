import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

export type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** What is under way on the connections of one server. */
export type Traffic = {
  /** Requests that have begun and whose answer has not ended. */
  inFlight(): number;
  /** Serves the request once all before it on its connection are answered and sent. */
  begin(response: ServerResponse, serve: Serve): void;
  /** False for what came over no connection, or is over. */
  isUnderWay(response: ServerResponse): boolean;
  /** Whether the answer to a request of the connection is still being made. */
  isWorking(socket: Duplex): boolean;
  /** Called once for every answer that has begun and ends, or whose connection breaks. */
  onEnd(listener: (response: ServerResponse) => void): void;
  /** The answer to the youngest request of a connection, ended or not. */
  latest(socket: Duplex): ServerResponse | undefined;
};

/** Pipelined requests that wait for one answer; the last of them closes the connection, and later ones are not served. */
export const maxPipelined = 64;

type Waiting = { response: ServerResponse; serve: Serve };
type Connection = { open: ServerResponse | undefined; latest: ServerResponse; waiting: Waiting[]; isFull: boolean };

/**
 * One request at a time of each connection: a client that sends requests and reads no answers has at most one unsent, and not as
 * many as fit into a packet.
 */
export function countTraffic(): Traffic {
  const connections = new WeakMap<Duplex, Connection>();
  const listeners: ((response: ServerResponse) => void)[] = [];
  let inFlight = 0;

  function start(connection: Connection, response: ServerResponse, serve: Serve): void {
    connection.open = response;
    inFlight += 1;
    response.once('close', () => end(connection, response));
    serve(response.req, response);
  }

  function end(connection: Connection, response: ServerResponse): void {
    if (connection.open !== response) return;
    connection.open = undefined;
    inFlight -= 1;
    for (const listener of listeners) listener(response);
    if (connection.waiting.length > 0) startNext(connection, response.req.socket);
  }

  function startNext(connection: Connection, socket: Duplex): void {
    const next = connection.waiting.shift()!;
    // After an answer that closes the connection, the outcome of the next request could not be sent.
    if (socket.writable) start(connection, next.response, next.serve);
    else connection.waiting.length = 0;
  }

  function connect(socket: Duplex, first: ServerResponse): Connection {
    const connection: Connection = { open: undefined, latest: first, waiting: [], isFull: false };
    connections.set(socket, connection);
    socket.once('close', () => {
      connection.waiting.length = 0;
      if (connection.open !== undefined) end(connection, connection.open);
    });
    return connection;
  }

  return {
    inFlight: () => inFlight,
    latest: (socket) => connections.get(socket)?.latest,
    isUnderWay: (response) => connections.get(response.req?.socket)?.open === response,
    isWorking: (socket) => connections.get(socket)?.open?.headersSent === false,
    onEnd: (listener) => void listeners.push(listener),
    begin(response, serve) {
      const { socket } = response.req;
      const connection = connections.get(socket) ?? connect(socket, response);
      if (connection.isFull) return;
      connection.latest = response;
      if (connection.open === undefined) {
        start(connection, response, serve);
        return;
      }
      connection.isFull = connection.waiting.push({ response, serve }) >= maxPipelined;
      // Tells the client that requests sent after this one were not served (RFC 9112 section 9.6).
      if (connection.isFull) response.shouldKeepAlive = false;
    },
  };
}
