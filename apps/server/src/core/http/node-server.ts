import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';

import type { ConnectionBounds } from '#core/http/connection-bounds';
import type { ErrorForm } from '#core/http/error-forms';
import { refuseExtensions } from '#core/http/raw-answers';
import type { Serve, Traffic } from '#core/http/traffic';
import type { Metric } from '#core/platform/metrics/metric';

type Options = {
  limits: {
    headersTimeoutMs: number;
    requestTimeoutMs: number;
    timeoutCheckMs: number;
    keepAliveTimeoutMs: number;
    idleMs: number;
    maxConnections: number;
  };
  traffic: Traffic;
  bounds: ConnectionBounds;
  errorFormOf: (url: string) => ErrorForm;
};

const maxRequestsPerSocket = 10_000;

/** The server below the routes: how long it waits for clients, and how much it keeps for those that do not read. */
export function createNodeServer(serve: Serve, { limits, traffic, bounds, errorFormOf }: Options): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckMs,
      maxHeaderSize: 16_384,
      requireHostHeader: false,
    },
    (_request, response) => traffic.begin(response, serve),
  );
  server.keepAliveTimeout = limits.keepAliveTimeoutMs;
  server.requestTimeout = limits.requestTimeoutMs;
  server.maxRequestsPerSocket = maxRequestsPerSocket;
  server.maxConnections = limits.maxConnections;
  // Nothing moves: an answer that is being made may go on, but one that is not read would be kept in memory for good.
  server.setTimeout(limits.idleMs, (socket) => {
    if (!traffic.isWorking(socket)) socket.destroy();
  });
  refuseExtensions(server, traffic, errorFormOf);
  boundConnections(server, bounds);
  return server;
}

/** Before anything is allocated or read for a connection: one too many is closed at once. */
function boundConnections(server: Server, bounds: ConnectionBounds): void {
  const accept = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const release = bounds.take(socket.remoteAddress);
    if (release === undefined) {
      socket.destroy();
      return;
    }
    socket.once('close', release);
    for (const listener of accept) listener.call(server, socket);
  });
}

/** Number of connections that were closed on arrival: above the limit of an address, or of the process. */
export function refusedConnections(server: Server, bounds: ConnectionBounds): Metric {
  let dropped = 0;
  server.on('drop', () => void (dropped += 1));
  return {
    name: 'atrium_connections_refused_total',
    help: 'Connections closed at once, by the bound that they exceeded.',
    type: 'counter',
    read: () => [
      { labels: { reason: 'address' }, value: bounds.refused() },
      { labels: { reason: 'process' }, value: dropped },
    ],
  };
}
