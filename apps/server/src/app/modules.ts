import type { Module } from '#core/http/route';
import { auditLogsModule } from '#modules/audit-logs/index';
import { authModule } from '#modules/auth/index';
import { contactsModule } from '#modules/contacts/index';
import { createDocsModule } from '#modules/docs/index';
import { groupsModule } from '#modules/groups/index';
import { spacesModule } from '#modules/spaces/index';
import { systemModule } from '#modules/system/index';
import { usersModule } from '#modules/users/index';

/** The product, one line per area. Routes, documentation and tests derive from this list. */
export const modules: readonly Module[] = [
  authModule,
  usersModule,
  groupsModule,
  spacesModule,
  contactsModule,
  auditLogsModule,
  systemModule,
  createDocsModule(() => modules),
];
