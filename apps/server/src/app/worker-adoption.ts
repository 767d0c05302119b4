import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Counts a connection as open and returns a function that begins to read it; undefined if the server is closing. */
export type Adopt = (socket: Socket) => (() => void) | undefined;

/** Lets a server that does not listen serve connections that another process accepted, within its limits and until its end. */
export function adoptConnections(server: Server): Adopt {
  const open = new Set<Socket>();
  const closed = Promise.withResolvers<void>();
  const close = server.close.bind(server);
  let isClosing = false;
  const settle = () => {
    if (isClosing && open.size === 0) closed.resolve();
  };
  // Node counts only connections that it accepted itself, so it would close at once.
  server.close = (callback) => {
    isClosing = true;
    settle();
    void closed.promise.then(() => close(callback));
    return server;
  };
  // Without this event, Node checks neither slow senders nor idle connections.
  server.emit('listening');
  return (socket) => {
    if (isClosing) return undefined;
    open.add(socket);
    // Before the socket is read, no other listener handles an error of the client.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      open.delete(socket);
      settle();
    });
    return () => {
      if (open.size > (server.maxConnections ?? Number.POSITIVE_INFINITY)) {
        // Node emits the same event for connections that it accepts itself.
        server.emit('drop');
        socket.destroy();
      }
      if (socket.destroyed) return;
      // As for accepted sockets: the server decides when to end after the client has ended.
      socket.allowHalfOpen = true;
      server.emit('connection', socket);
    };
  };
}
