import { unique } from '#test/support/factories';

const path = '/api/v1/secure/app-accounts';
const resourceType = 'app_account';

type Change = {
  method: 'POST' | 'PATCH' | 'DELETE';
  url: string;
  body?: unknown;
  status: number;
  resourceType: string;
  resourceId?: string;
  fields?: string[];
};

const newAppAccount = () => ({
  name: 'canary',
  email: `${unique('canary')}@example.com`,
  password: 'canary password',
  description: 'canary',
});

/** Successful calls of all recorded app account operations; `create` returns the new id. */
export function appAccountSuccesses(
  create: (url: string, body: unknown) => Promise<string>,
): Record<string, () => Promise<Change>> {
  const change = async (
    method: Change['method'],
    operation: string,
    rest: Pick<Change, 'body' | 'status' | 'fields'>,
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
