import { unique } from '#test/support/factories';
import type { SampleContext, Success, Successes } from '#test/support/samples';

const path = '/api/v1/secure/app-accounts';
const resourceType = 'app_account';

const newAppAccount = () => ({
  name: 'canary',
  email: `${unique('canary')}@example.com`,
  password: 'canary password',
  description: 'canary',
});

/** Successful calls of all recorded app account operations. */
export function appAccountSuccesses({ create }: SampleContext): Successes {
  const change = async (
    method: Success['method'],
    operation: string,
    rest: Pick<Success, 'body' | 'status' | 'fields'>,
  ) => {
    const resourceId = await create(path, newAppAccount());
    return { method, url: `${path}/${resourceId}${operation}`, resourceType, resourceId, ...rest };
  };
  const changes = { name: 'canary', description: 'canary', status: 'suspended', expires_at: null };
  const password = { password: 'canary password' };
  return {
    createAppAccount: () => {
      const body = newAppAccount();
      const fields = Object.keys(body);
      return Promise.resolve({ method: 'POST', url: path, status: 201, body, resourceType, fields });
    },
    updateAppAccount: () => change('PATCH', '', { body: changes, status: 200, fields: Object.keys(changes) }),
    deleteAppAccount: () => change('DELETE', '', { status: 204 }),
    setAppAccountPassword: () => change('POST', '/set-password', { body: password, status: 200 }),
    regenerateAppAccountPassword: () => change('POST', '/regenerate-password', { status: 200 }),
  };
}
