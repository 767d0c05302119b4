import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Counts a connection as open from now on; what it returns begins to read it. Undefined once the server closes. */
export type Adopt = (socket: Socket) => (() => void) | undefined;

/** Has a server that listens nowhere serve connections that were accepted elsewhere, with its limits and until its end. */
export function adoptConnections(server: Server): Adopt {
  const open = new Set<Socket>();
  const closed = Promise.withResolvers<void>();
  const close = server.close.bind(server);
  let isClosing = false;
  const settle = () => {
    if (isClosing && open.size === 0) closed.resolve();
  };
  // Node counts only what it has accepted itself, and would be closed at once.
  server.close = (callback) => {
    isClosing = true;
    settle();
    void closed.promise.then(() => close(callback));
    return server;
  };
  // Otherwise it looks neither for slow senders nor for idle connections.
  server.emit('listening');
  return (socket) => {
    if (isClosing) return undefined;
    open.add(socket);
    // Until it is read there is nobody else to hear that the client is gone.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      open.delete(socket);
      settle();
    });
    return () => {
      if (open.size > (server.maxConnections ?? Number.POSITIVE_INFINITY)) socket.destroy();
      if (socket.destroyed) return;
      // As accepted by the server itself, for whom ending is up to it when the client has ended.
      socket.allowHalfOpen = true;
      server.emit('connection', socket);
    };
  };
}
