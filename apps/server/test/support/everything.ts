import { storeFile } from '#modules/storage/testing/uploads';
import { withClient } from '#test/support/database';
import { createDirectory } from '#test/support/directory';
import { createAppAccount, createMember, createTenant, logInSystemAdmin, uniqueAddress } from '#test/support/factories';
import type { TestService } from '#test/support/harness';
import { insertNotificationRows } from '#test/support/notification-rows';
import type { OwnRecords } from '#test/support/samples';

export type Everything = { own: OwnRecords; ids: Record<string, string>; systemAdmin: string };

/** A tenant with one record of each kind, and the ids by which the parts of paths name them. */
export async function createEverything(test: TestService): Promise<Everything> {
  const tenant = await createTenant(test);
  const { token } = tenant.admin;
  const systemAdmin = (await logInSystemAdmin(test)).token;
  const space = await test.call('POST', '/api/v1/secure/spaces', { token, body: { name: 'Room' } });
  const contact = await test.call('POST', '/api/v1/secure/contacts', { token, body: { firstName: 'Ada' } });
  const group = await test.call('POST', '/api/v1/secure/groups', { token, body: { name: 'Porters' } });
  const apiKey = await test.call('POST', '/api/v1/secure/api-keys', { token, body: { name: 'Door' } });
  const connector = await test.call('POST', '/api/v1/secure/ai/providers', {
    token,
    body: { api_key: 'api', api_name: 'API', api_base_url: 'https://api.example.com' },
  });
  const override = await test.call('PUT', '/api/v1/secure/admin/external-apis/control-plane/tenant-overrides', {
    token,
    body: { tenantId: tenant.tenantId, operation_key: 'translation.i18n', enabled: true },
  });
  const appAccount = await createAppAccount(test, tenant);
  const { userId } = await createMember(test, tenant);
  const directory = await createDirectory(test, tenant.admin, space.body.data.id);
  const own: OwnRecords = {
    tenant,
    spaceId: space.body.data.id,
    contactId: contact.body.data.id,
    flowTaskId: directory['flow-tasks']!,
  };
  const { notification, notificationPreference } = await withClient(test.connection, (client) =>
    insertNotificationRows(client, { tenantId: tenant.tenantId, userId: tenant.admin.userId }),
  );
  const rule = { range: uniqueAddress(), action: 'allow' };
  const ipRule = await test.call('POST', '/api/v1/system/security/ip-rules', { token: systemAdmin, body: rule });
  const ids = {
    ...directory,
    'api-keys': apiKey.body.data.id,
    'app-accounts': appAccount.id,
    notifications: notification,
    preferences: notificationPreference,
    config: 'console',
    files: await storeFile(test, 'text', tenant.admin),
    enable: 'totp',
    identities: 'google',
    jobs: 'storage-sweep',
    'identity-providers': 'microsoft',
    'ip-rules': ipRule.body.data.id,
    oauth: 'google',
    providers: connector.body.data.id,
    'tenant-overrides': override.body.data.id,
    tenants: tenant.tenantId,
    users: userId,
    groups: group.body.data.id,
    spaces: own.spaceId,
    contacts: own.contactId,
  };
  return { own, ids, systemAdmin };
}
