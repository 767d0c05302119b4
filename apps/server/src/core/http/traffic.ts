import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** What is under way on the connections of one server. */
export type Traffic = {
  /** Requests that have begun and whose answer has not ended. */
  inFlight(): number;
  begin(response: ServerResponse): void;
  /** False for what came over no connection, or is over. */
  isUnderWay(response: ServerResponse): boolean;
  /** Called once for every answer that has begun and ends, or whose connection breaks. */
  onEnd(listener: (response: ServerResponse) => void): void;
  /** The answer to the youngest request of a connection, ended or not. */
  latest(socket: Duplex): ServerResponse | undefined;
};

/** In an array, as there is nearly always one: sets that change with every request keep alive whoever was in them. */
type Connection = { open: ServerResponse[]; latest: ServerResponse };

export function countTraffic(): Traffic {
  const connections = new WeakMap<Duplex, Connection>();
  const listeners: ((response: ServerResponse) => void)[] = [];
  let inFlight = 0;

  function end(connection: Connection, response: ServerResponse): void {
    const at = connection.open.indexOf(response);
    if (at === -1) return;
    if (at === connection.open.length - 1) connection.open.pop();
    else connection.open.splice(at, 1);
    inFlight -= 1;
    for (const listener of listeners) listener(response);
  }

  function connect(socket: Duplex, first: ServerResponse): Connection {
    const connection: Connection = { open: [], latest: first };
    connections.set(socket, connection);
    // Pipelined answers that wait for their turn never close when the connection breaks.
    socket.once('close', () => {
      while (connection.open.length > 0) end(connection, connection.open[0]!);
    });
    return connection;
  }

  return {
    inFlight: () => inFlight,
    latest: (socket) => connections.get(socket)?.latest,
    isUnderWay: (response) => connections.get(response.req?.socket)?.open.includes(response) ?? false,
    onEnd: (listener) => void listeners.push(listener),
    begin(response) {
      const { socket } = response.req;
      const connection = connections.get(socket) ?? connect(socket, response);
      connection.latest = response;
      connection.open.push(response);
      inFlight += 1;
      response.once('close', () => end(connection, response));
    },
  };
}
