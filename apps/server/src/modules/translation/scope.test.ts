import { expect, it } from 'vitest';

import type { Actor } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { translateFor } from '#modules/translation/scope';
import { createTenant } from '#test/support/factories';
import { useService } from '#test/support/harness';

const test = useService();

it('a permit that is granted after the work has ended is released', async () => {
  const { services } = test.service;
  const { tenantId } = await createTenant(test);
  const db = services.database.tenant(tenantId);
  const translateWith = (work: (begun: Promise<AbortSignal>) => Promise<unknown>) => {
    const actor = { id: newId(), userId: null, tenantId, request: { id: newId() } } as unknown as Actor;
    const request = { services, db, actor, untilAbandoned: () => new AbortController().signal };
    return translateFor(request, 'translation.text', (scope) => work(scope.begin()));
  };
  // As many as there are places for one tenant.
  for (let count = 0; count < 64; count++) {
    const failed = translateWith(() => {
      throw new Error('over at once');
    });
    await expect(failed).rejects.toThrow('over at once');
  }
  await expect(translateWith((begun) => begun)).resolves.toBeInstanceOf(AbortSignal);
});
