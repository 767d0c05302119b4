import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';

import type { Service } from '#app/service';
import { withClient } from '#test/support/database';
import { expectRefusal } from '#test/support/edge';
import { createMember, createTenant } from '#test/support/factories';
import { startService, testServiceOf } from '#test/support/harness';
import { openConnection } from '#test/support/raw-connection';

async function listening(): Promise<{ service: Service; port: number }> {
  const service = await startService();
  await service.http.listen({ port: 0, host: '127.0.0.1' });
  const address = service.http.server.address();
  return { service, port: typeof address === 'object' ? address!.port : 0 };
}

const health = 'GET /api/v1/system/health HTTP/1.1\r\nHost: atrium.test\r\n\r\n';
const login =
  'POST /api/v1/public/auth/login HTTP/1.1\r\nHost: atrium.test\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n';

describe('a service that stops', () => {
  it('closes the connection with its last answer, also if the request arrived before the stop', async () => {
    const { service, port } = await listening();
    const connection = await openConnection(port);
    connection.send(health);
    expect((await connection.next()).headers.connection).toBe('keep-alive');
    const begun = once(service.http.server, 'request');
    connection.send(`${login}{`);
    await begun;
    const closed = service.close();
    connection.send('}');
    const answer = await connection.next();
    expect([answer.status, answer.headers.connection]).toEqual([400, 'close']);
    expect(await connection.rest()).toEqual([]);
    await closed;
    await expect(openConnection(port)).rejects.toThrow('ECONNREFUSED');
  });

  it('answers a slow upload and closes the connection although the client continues to send', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { service, port } = await listening();
    const tenant = await createTenant(testServiceOf(service, inject('connection')));
    const connection = await openConnection(port);
    const begun = once(service.http.server, 'request');
    connection.send(
      `POST /api/v1/secure/files?name=a.txt HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.admin.token}\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\nab`,
    );
    await begun;
    const sending = setInterval(() => connection.send('ab'), 5);
    const closed = service.close().finally(() => clearInterval(sending));
    await vi.advanceTimersByTimeAsync(10_000);
    const answer = await connection.next();
    expectRefusal(answer, 'SERVICE_UNAVAILABLE');
    expect(answer.headers.connection).toBe('close');
    await vi.advanceTimersByTimeAsync(2000);
    await closed;
  });

  it('cuts a download that takes too long, and closes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { service, port } = await listening();
    const test = testServiceOf(service, inject('connection'));
    const { token } = (await createTenant(test)).admin;
    const url = '/api/v1/secure/files';
    const headers = { 'content-type': 'text/plain', authorization: `Bearer ${token}` };
    const stored = await test.raw({ method: 'POST', url: `${url}?name=a.txt`, headers, payload: 'content' });
    const { id } = stored.json<{ data: { id: string } }>().data;
    const source = new Readable({ read: () => undefined });
    const opened = vi.spyOn(service.services.files, 'get').mockImplementation(() => Promise.resolve(source));
    const connection = await openConnection(port);
    connection.send(`GET ${url}/${id}/content HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    source.push('con');
    await vi.waitUntil(() => source.readableLength === 0 && opened.mock.calls.length > 0, {
      timeout: 30_000,
    });
    const reading = connection.next().catch((error: Error) => error.message);
    const closed = service.close();
    await vi.advanceTimersByTimeAsync(10_500);
    expect(await reading).toMatch(/ended within an answer: HTTP\/1.1 200 [^]*con/);
    await closed;
  });

  it('writes security events first', async () => {
    const { service } = await listening();
    const test = testServiceOf(service, inject('connection'));
    const tenant = await createTenant(test);
    const member = await createMember(test, tenant);
    const refused = await test.call('GET', '/api/v1/secure/users', { token: member.token });
    expect(refused.status).toBe(403);
    await service.close();
    const rows = await withClient(inject('connection'), async (client) => {
      const text = `select event_type, user_id from security_events where details ->> 'requestId' = $1`;
      return (await client.query(text, [refused.headers['x-request-id']])).rows as unknown[];
    });
    expect(rows).toEqual([{ event_type: 'permission_denied', user_id: member.userId }]);
  });
});
