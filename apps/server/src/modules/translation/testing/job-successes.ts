import { expect } from 'vitest';

import type { SampleContext, Successes } from '#test/support/samples';

const path = '/api/v1/secure/ai/translate';
const resourceType = 'translation_job';

/** Successful calls of all recorded operations on translation jobs. */
export function translationJobSuccesses({ test, tenant }: SampleContext): Successes {
  const call = (method: 'GET' | 'POST', url: string, body?: unknown) =>
    test.call(method, url, { token: tenant.admin.token, body });

  /** The id of a job that failed because no connector translates. */
  async function newFailed(): Promise<string> {
    const running = (await call('GET', `${path}/jobs?status=running`)).body.data as { id: string }[];
    // A call with an equal running job would join that job instead.
    for (const { id } of running) await call('POST', `${path}/jobs/${id}/cancel`);
    await call('POST', '/api/v1/secure/spaces', { name: 'canary' });
    const refused = await call('POST', `${path}/entity-type`, { entity_type: 'space', target_languages: ['de'] });
    expect(refused.status).toBe(503);
    return (await call('GET', `${path}/jobs?limit=1`)).body.data[0].id;
  }

  async function newRunning(): Promise<string> {
    const id = await newFailed();
    expect(await call('POST', `${path}/jobs/${id}/resume`)).toMatchObject({ status: 200 });
    return id;
  }

  return {
    translateEntityType: () => {
      // No texts to translate, so that it succeeds without a connector; the answer does not name the job.
      const body = { entity_type: 'resource', target_languages: ['en'] };
      const resourceId = expect.any(String) as string;
      return Promise.resolve({
        method: 'POST',
        url: `${path}/entity-type`,
        body,
        status: 200,
        resourceType,
        resourceId,
      });
    },
    cancelTranslationJob: async () => {
      const resourceId = await newRunning();
      return { method: 'POST', url: `${path}/jobs/${resourceId}/cancel`, status: 200, resourceType, resourceId };
    },
    resumeTranslationJob: async () => {
      const resourceId = await newFailed();
      return { method: 'POST', url: `${path}/jobs/${resourceId}/resume`, status: 200, resourceType, resourceId };
    },
  };
}
