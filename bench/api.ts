import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Bench } from './scenario.ts';

/**
 * One request to the service, for set-up and checks in addition to the load.
 * @param operation a method and what comes after the version in the path
 */
export async function send<Answer>(
  { atrium }: Pick<Bench, 'atrium'>,
  token: string,
  operation: string,
  body?: unknown,
): Promise<Answer> {
  const [method, path] = operation.split(' ') as [string, string];
  const response = await fetch(`${atrium.base}/api/v1/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${operation} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}

export type Outside = { origin: string; stop(): Promise<void> };

/** An outside service that the service under test calls. */
export async function startOutside(listener: RequestListener): Promise<Outside> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
