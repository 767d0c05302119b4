import type { Module } from '#core/http/route';
import { apiKeysModule } from '#modules/api-keys/index';
import { appAccountsModule } from '#modules/app-accounts/index';
import { createAuditLogsModule } from '#modules/audit-logs/index';
import { authModule } from '#modules/auth/index';
import { createAuthorizationModule } from '#modules/authorization/index';
import { calendarModule } from '#modules/calendar/index';
import { categoriesModule } from '#modules/categories/index';
import { connectorsModule } from '#modules/connectors/index';
import { contactsModule } from '#modules/contacts/index';
import { dispatcherModule } from '#modules/dispatcher/index';
import { createDocsModule } from '#modules/docs/index';
import { feedbacksModule } from '#modules/feedbacks/index';
import { flowTasksModule } from '#modules/flow-tasks/index';
import { geoModule } from '#modules/geo/index';
import { groupsModule } from '#modules/groups/index';
import { identityProvidersModule } from '#modules/identity-providers/index';
import { integrationsModule } from '#modules/integrations/index';
import { logsModule } from '#modules/logs/index';
import { createMcpModule } from '#modules/mcp/index';
import { modelsModule } from '#modules/models/index';
import { notificationsModule } from '#modules/notifications/index';
import { qrCodesModule } from '#modules/qr-codes/index';
import { resourcesModule } from '#modules/resources/index';
import { securityModule } from '#modules/security/index';
import { spacesModule } from '#modules/spaces/index';
import { storageModule } from '#modules/storage/index';
import { systemModule } from '#modules/system/index';
import { tagsModule } from '#modules/tags/index';
import { tenantsModule } from '#modules/tenants/index';
import { translationModule } from '#modules/translation/index';
import { twoFactorModule } from '#modules/two-factor/index';
import { typeDefinitionsModule } from '#modules/type-definitions/index';
import { usersModule } from '#modules/users/index';

/** All modules of the product; routes, documentation and tests derive from this list. */
export const modules: readonly Module[] = [
  authModule,
  twoFactorModule,
  identityProvidersModule,
  tenantsModule,
  usersModule,
  groupsModule,
  apiKeysModule,
  appAccountsModule,
  createAuthorizationModule(() => modules),
  typeDefinitionsModule,
  spacesModule,
  resourcesModule,
  tagsModule,
  categoriesModule,
  qrCodesModule,
  feedbacksModule,
  calendarModule,
  flowTasksModule,
  notificationsModule,
  contactsModule,
  storageModule,
  connectorsModule,
  integrationsModule,
  modelsModule,
  geoModule,
  translationModule,
  createAuditLogsModule(() => modules),
  systemModule,
  dispatcherModule,
  logsModule,
  securityModule,
  createMcpModule(() => modules),
  createDocsModule(() => modules),
];
