import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import type { AddressPolicy } from '#core/platform/outbound/guarded-connect';

export type SocketTarget = {
  /** A name, or an address without brackets. */
  host: string;
  port: number;
  /** True for TLS from the first byte; its certificate has to be the host's. */
  tls: boolean;
  signal?: AbortSignal | undefined;
  /** As of calls. */
  owner?: string | undefined;
  onPermit?: (() => void) | undefined;
};

/**
 * A connection to a checked address; the caller closes it.
 * @param onEnd told once, when there is no connection any more or never was
 */
export function openSocket(
  { host, port, tls, signal }: SocketTarget & { signal: AbortSignal },
  policy: AddressPolicy,
  onEnd: () => void,
): Promise<Socket> {
  const place = { host, port, lookup: policy.lookup };
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = tls ? connectTls({ ...place, ...servername }) : connectPlain(place);
  return new Promise((resolve, reject) => {
    const cancel = () => socket.destroy(signal.reason as Error);
    signal.addEventListener('abort', cancel, { once: true });
    // Stays attached: a later error reaches the user of the socket as the end of the connection.
    socket.on('error', reject);
    socket.once('close', () => {
      signal.removeEventListener('abort', cancel);
      reject(new Error('the connection was closed'));
      onEnd();
    });
    socket.once(tls ? 'secureConnect' : 'connect', () => {
      signal.removeEventListener('abort', cancel);
      resolve(socket);
    });
  });
}
