import type { SampleContext, Success, Successes } from '#test/support/samples';

const base = '/api/v1/secure';

/** Successful calls of all recorded operations on files and avatars. */
export function storageSuccesses({ test, tenant, create }: SampleContext): Successes {
  const records = {
    Space: async () => `${base}/spaces/${await create(`${base}/spaces`, { name: 'Hall' })}`,
    Resource: async () => `${base}/resources/${await create(`${base}/resources`, { name: 'Projector' })}`,
    Contact: async () => `${base}/contacts/${await create(`${base}/contacts`, {})}`,
  };
  const stored = (url: string): Success => ({
    method: 'POST',
    url: `${url}/files?name=canary`,
    body: 'canary',
    status: 201,
    resourceType: 'file',
  });
  const deleted = async (url: string): Promise<Success> => {
    const resourceId = await create(`${url}/files?name=canary`, 'canary');
    return { method: 'DELETE', url: `${url}/files/${resourceId}`, status: 204, resourceType: 'file', resourceId };
  };
  const picture = { body: 'RIFF....WEBPVP8 canary', type: 'image/webp' };
  const avatar = () => `${base}/users/${tenant.admin.userId}/avatar`;
  const person = () => ({ resourceType: 'user', resourceId: tenant.admin.userId });
  const ofRecords = Object.entries(records).flatMap(([name, url]) => [
    [`upload${name}File`, async () => stored(await url())] as const,
    [`delete${name}File`, async () => deleted(await url())] as const,
  ]);
  return {
    ...Object.fromEntries(ofRecords),
    uploadFile: () => Promise.resolve(stored(base)),
    deleteFile: () => deleted(base),
    updateFile: async () => {
      const resourceId = await create(`${base}/files?name=canary`, 'canary');
      const body = { name: 'canary' };
      const what = { resourceType: 'file', resourceId, fields: ['name'] };
      return { method: 'PATCH', url: `${base}/files/${resourceId}`, body, status: 200, ...what };
    },
    saveAvatar: () => Promise.resolve({ method: 'PUT', url: avatar(), ...picture, status: 200, ...person() }),
    deleteAvatar: async () => {
      const { admin } = tenant;
      const headers = { 'content-type': picture.type };
      await test.call('PUT', avatar(), { token: admin.token, body: picture.body, headers });
      return { method: 'DELETE', url: avatar(), status: 204, ...person() };
    },
  };
}
