import { onTestFinished } from 'vitest';

import { path } from '#modules/translation/testing/tenants';
import { provideTranslator } from '#modules/translation/testing/translator';
import type { SampleContext, Successes } from '#test/support/samples';

/** Successful calls of the translation of one record. */
export function translationSuccesses({ test, tenant, create }: SampleContext): Successes {
  return {
    translateEntity: async () => {
      const { connectorId } = await provideTranslator(test, tenant);
      const { token } = tenant.admin;
      // Other tests rely on the absence of translation connectors.
      onTestFinished(async () => {
        await test.call('DELETE', `/api/v1/secure/ai/providers/${connectorId}`, { token });
      });
      const resourceId = await create('/api/v1/secure/spaces', { name: 'canary' });
      const body = { entity_type: 'space', entity_id: resourceId, target_languages: ['de'] };
      return { method: 'POST', url: `${path}/entity`, body, status: 200, resourceType: 'space', resourceId };
    },
  };
}
