import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';

import { environment, path } from '#modules/translation/testing/tenants';
import { provideTranslator } from '#modules/translation/testing/translator';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService({ environment });

it('no provider is called after the client has left', async () => {
  const tenant = await createTenant(test);
  const slow = await provideTranslator(test, tenant, { priority: 1 });
  const next = await provideTranslator(test, tenant, { priority: 2 });
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  slow.misbehave((response) => {
    response.once('close', () => left.resolve());
    asked.resolve();
  });
  await test.service.http.listen({ port: 0, host: '127.0.0.1' });
  const { port } = test.service.http.server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${tenant.admin.token}`, 'content-type': 'application/json' };
  const request = http.request({ port, host: '127.0.0.1', method: 'POST', path: `${path}/text`, headers });
  request.on('error', () => undefined);
  request.end(JSON.stringify({ text: 'Hall', source_language: 'en', target_language: 'de' }));
  await asked.promise;
  request.destroy();
  await left.promise;
  if (!request.closed) await once(request, 'close');
  const answer = await test.call('GET', '/api/v1/secure/ai/providers', { token: tenant.admin.token });
  expect(answer.status).toBe(200);
  expect([slow.requests.length, next.requests.length]).toEqual([1, 0]);
});
