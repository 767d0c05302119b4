import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** What is under way on the connections of one server. */
export type Traffic = {
  /** Requests that have begun and whose answer has not ended. */
  inFlight(): number;
  begin(response: ServerResponse): void;
  /** The answer to the youngest request of a connection, ended or not. */
  latest(socket: Duplex): ServerResponse | undefined;
};

type Connection = { open: number; latest: ServerResponse };

export function countTraffic(): Traffic {
  const connections = new WeakMap<Duplex, Connection>();
  let inFlight = 0;

  function connect(socket: Duplex, first: ServerResponse): Connection {
    const connection: Connection = { open: 0, latest: first };
    connections.set(socket, connection);
    // Pipelined answers that wait for their turn never close when the connection breaks.
    socket.once('close', () => {
      inFlight -= connection.open;
      connection.open = 0;
    });
    return connection;
  }

  return {
    inFlight: () => inFlight,
    latest: (socket) => connections.get(socket)?.latest,
    begin(response) {
      const { socket } = response.req;
      const connection = connections.get(socket) ?? connect(socket, response);
      connection.latest = response;
      connection.open += 1;
      inFlight += 1;
      response.once('close', () => {
        if (connection.open === 0) return;
        connection.open -= 1;
        inFlight -= 1;
      });
    },
  };
}
