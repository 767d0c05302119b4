import { expect } from 'vitest';

import { storageSuccesses } from '#modules/storage/testing/successes';
import { storeFile } from '#modules/storage/testing/uploads';
import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  bodies: {
    updateFile: ({ spaceId }) => ({ name: 'plan.pdf', entity_type: 'space', entity_id: spaceId }),
    updateDefaultTenantStorage: () => ({ enabled: true, quota_bytes: 5_000_000_000 }),
    updateSystemTenantStorage: () => ({ enabled: true, quota_bytes: 5_000_000_000 }),
  },
  ids: {
    'listFiles query.entity_id': 'space',
    'uploadFile query.entity_id': 'space',
    'getFile params.id': 'file',
    'updateFile params.id': 'file',
    'updateFile body.entity_id': 'space',
    'deleteFile params.id': 'file',
    'getFileContent params.id': 'file',
    'listSpaceFiles params.id': 'space',
    'uploadSpaceFile params.id': 'space',
    'getSpaceFileContent params.id': 'space',
    'getSpaceFileContent params.fileId': 'file',
    'deleteSpaceFile params.id': 'space',
    'deleteSpaceFile params.fileId': 'file',
    'listResourceFiles params.id': 'resource',
    'uploadResourceFile params.id': 'resource',
    'getResourceFileContent params.id': 'resource',
    'getResourceFileContent params.fileId': 'resourceFile',
    'deleteResourceFile params.id': 'resource',
    'deleteResourceFile params.fileId': 'resourceFile',
    'listContactFiles params.id': 'contact',
    'uploadContactFile params.id': 'contact',
    'getContactFileContent params.id': 'contact',
    'getContactFileContent params.fileId': 'contactFile',
    'deleteContactFile params.id': 'contact',
    'deleteContactFile params.fileId': 'contactFile',
    'saveAvatar params.id': 'user',
    'getAvatar params.id': 'user',
    'deleteAvatar params.id': 'user',
    'updateDefaultTenantStorage params.id': 'tenant',
    'updateSystemTenantStorage params.id': 'tenant',
    'getTenantStorage params.id': 'tenant',
  },
  queries: {
    uploadFile: '&name=plan&entity_type=space',
  },
  records: async ({ test, tenant: { admin }, create, ids, secret }) => {
    const avatar = { body: 'RIFF....WEBPVP8 ', headers: { 'content-type': 'image/webp' } };
    const saved = await test.call('PUT', `/api/v1/secure/users/${admin.userId}/avatar`, {
      token: admin.token,
      ...avatar,
    });
    expect(saved.status).toBe(200);
    return {
      file: await create(`/api/v1/secure/spaces/${ids.space}/files?name=plan`, { secret }),
      resourceFile: await create(`/api/v1/secure/resources/${ids.resource}/files?name=plan`, { secret }),
      contactFile: await create(`/api/v1/secure/contacts/${ids.contact}/files?name=plan`, { secret }),
    };
  },
  tools: ({ test, tenant, create, of }) => ({
    listFiles: () => Promise.resolve({}),
    getFile: async () => ({ id: await storeFile(test, 'text', { token: tenant.admin.token }) }),
    listSpaceFiles: of('spaces'),
    listResourceFiles: of('resources'),
    listContactFiles: async () => ({ id: await create('/api/v1/secure/contacts') }),
  }),
  successes: storageSuccesses,
};
