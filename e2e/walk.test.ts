import { afterAll, expect, it, vi } from 'vitest';

import { newTenant } from './support/client.ts';
import { Workplace } from './support/service.ts';
import { comeBack, walk } from './support/walk.ts';

// It starts processes.
vi.setConfig({ testTimeout: 120_000 });

const workplace = new Workplace();
afterAll(() => workplace.clear());

it('serves a tenant from registration to logout', async () => {
  const service = await workplace.start({ dataDir: workplace.dataDir() });
  await walk(service.base);

  const [mine, theirs] = [await newTenant(service.base), await newTenant(service.base)];
  const id = await mine.client.createContact('Mine');
  expect((await theirs.client.get(`/api/v1/secure/contacts/${id}`)).status).toBe(404);
  const again = await comeBack(service.base, mine.email);
  expect((await again.get(`/api/v1/secure/contacts/${id}`)).body.data.first_name).toBe('Mine');

  expect((await fetch(`${service.base}/docs`)).status).toBe(200);
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(service.stderr).toBe('');
});
