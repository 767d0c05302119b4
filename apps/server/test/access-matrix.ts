import type { Flag } from '#core/base/access/flags';
import type { Permission } from '#core/base/access/permissions';

/** All kinds of callers; the matrix lists for each operation which of them may use it. */
export const callers = [
  'anonymous',
  'malformed token',
  'dead session',
  'suspended member',
  'plain member',
  'member with the permission',
  'member with every other permission',
  'tenant administrator',
  'system administrator',
  "another tenant's administrator, at home",
  "another tenant's administrator, naming this tenant",
  'system administrator, naming this tenant',
  // Sessions of tenant administrators: only the state of the session restricts them.
  'session without its second factor',
  'session that has to enrol a second factor',
  'session vouched for by one tenant only',
  'API key without flags',
  'API key with the flag',
  'API key with every other flag',
  'API key with every flag',
  'app account without flags',
  'app account with the flag',
  'app account with every other flag',
  'app account with every flag',
] as const;

/** Callers without valid credentials: they get 401, all others get 403. */
export const strangers: readonly Caller[] = ['anonymous', 'malformed token', 'dead session', 'suspended member'];

export type Caller = (typeof callers)[number];

/** One of several flags is sufficient. */
type Row = {
  allowed: readonly Caller[];
  permission?: Permission;
  flags?: readonly Flag[];
  /** A secret admits callers; every caller without it gets 401. */
  needsSecret?: boolean;
};

const administrators = [
  'tenant administrator',
  'system administrator',
  // It acts on its own tenant here; the isolation suite tests ids of other tenants.
  "another tenant's administrator, at home",
  'system administrator, naming this tenant',
  'session vouched for by one tenant only',
] as const;

const members = [
  'plain member',
  'member with the permission',
  'member with every other permission',
  ...administrators,
] as const;

const appAccounts = callers.filter((caller) => caller.startsWith('app account'));

/** Keys and app accounts with one of the flags; the specification defines five sections of flags for app accounts. */
function flagged(flags: readonly Flag[]): Caller[] {
  if (flags.length === 0) return [];
  const isForAppAccounts = flags.some((flag) => /^(resources|spaces|geo|calendar|users)\./.test(flag));
  const keys = ['API key with the flag', 'API key with every flag'] as const;
  return isForAppAccounts ? [...keys, 'app account with the flag', 'app account with every flag'] : [...keys];
}

const everyCaller: Row = { allowed: callers };
// Callers with a missing or ended session are admitted. Naming a foreign tenant is refused, and keys have no session.
const publicOwnTenant: Row = {
  allowed: callers.filter(
    (caller) => caller !== "another tenant's administrator, naming this tenant" && !caller.startsWith('API key'),
  ),
};
// Keys are admitted, but credentials that are sent must be valid.
const publicIfValid: Row = {
  allowed: callers.filter(
    (caller) =>
      !['malformed token', 'dead session', 'suspended member'].includes(caller) &&
      caller !== "another tenant's administrator, naming this tenant",
  ),
};
const anyMember: Row = { allowed: members };
const membersOr = (...flags: Flag[]): Row => ({ allowed: [...members, ...flagged(flags)], flags });
/** Every complete session, including those of app accounts. */
const anySession: Row = { allowed: [...members, ...appAccounts] };
const anySessionBeforeStepUp: Row = {
  allowed: [...anySession.allowed, 'session without its second factor', 'session that has to enrol a second factor'],
};
/** Users about their own account: a login by the identity provider of one tenant is not sufficient. */
const ownAccount: Row = { allowed: members.filter((caller) => caller !== 'session vouched for by one tenant only') };
const ownAccountEvenEnrolling: Row = { allowed: [...ownAccount.allowed, 'session that has to enrol a second factor'] };
const ownFactorsBeforeStepUp: Row = {
  allowed: [...members, 'session without its second factor', 'session that has to enrol a second factor'],
};
const systemAdministrators: Row = {
  allowed: ['system administrator', 'system administrator, naming this tenant'],
};
const holdersOfTheSecret: Row = { allowed: [], needsSecret: true };
const holdersOf = (permission: Permission, ...flags: Flag[]): Row => ({
  allowed: ['member with the permission', ...administrators, ...flagged(flags)],
  permission,
  flags,
});

/**
 * Who may call each operation, written by hand from the specification and the authorization matrix and deliberately not
 * derived from the routes.
 */
export const accessMatrix: Readonly<Record<string, Row>> = {
  // Authentication: the public prefix, and what belongs to the person behind the session.
  login: everyCaller,
  selectTenant: everyCaller,
  register: everyCaller,
  refreshTokens: everyCaller,
  logout: publicOwnTenant,
  listIdentityProviders: everyCaller,
  startProviderLogin: everyCaller,
  finishProviderLogin: everyCaller,
  finishProviderLoginByForm: everyCaller,
  finishTenantProviderLogin: everyCaller,
  finishTenantProviderLoginByForm: everyCaller,
  exchangeProviderCode: everyCaller,
  forgotPassword: everyCaller,
  resetPassword: everyCaller,
  acceptInvitation: everyCaller,
  verifyEmail: everyCaller,
  disownAccount: everyCaller,
  getJwkSet: everyCaller,
  getCurrentUser: anySessionBeforeStepUp,
  listOwnSessions: anySession,
  revokeSession: anySession,
  changePassword: ownAccount,
  resendVerification: ownAccount,
  listOwnInvitations: ownAccount,
  acceptOwnInvitation: ownAccount,
  declineOwnInvitation: ownAccount,
  listOwnTenants: ownAccount,
  switchTenant: ownAccount,
  listOwnIdentities: ownAccount,
  beginIdentityLink: ownAccount,
  linkIdentity: ownAccount,
  unlinkIdentity: ownAccount,

  // Second factors: the first operations complete a session, the others require a complete one.
  getTwoFactorStatus: ownFactorsBeforeStepUp,
  sendTwoFactorCode: ownFactorsBeforeStepUp,
  verifyTwoFactor: ownFactorsBeforeStepUp,
  useBackupCode: ownFactorsBeforeStepUp,
  enableTwoFactor: ownAccountEvenEnrolling,
  regenerateBackupCodes: ownAccount,
  disableTwoFactor: ownAccount,
  disableTwoFactorByPost: ownAccount,
  resetTwoFactor: holdersOf('users.manage'),

  // System and documentation.
  getHealth: everyCaller,
  getSystemInfo: everyCaller,
  getDispatcherHealth: everyCaller,
  runDispatcher: holdersOfTheSecret,
  getDispatcherStatus: holdersOfTheSecret,
  acknowledgeDispatcherAlert: { ...systemAdministrators, needsSecret: true },
  listScheduledJobs: systemAdministrators,
  listScheduledJobRuns: systemAdministrators,
  runScheduledJob: systemAdministrators,
  updateScheduledJob: systemAdministrators,
  getMetrics: systemAdministrators,
  getOpenApi: everyCaller,
  getReferencePage: everyCaller,
  getReferenceAsset: everyCaller,
  getMcpInfo: everyCaller,
  exchangeMcpMessage: publicIfValid,
  getMcpSetup: everyCaller,
  listMailOutbox: systemAdministrators,
  listSecurityAudit: systemAdministrators,
  getSecurityConfig: systemAdministrators,
  updateSecurityConfig: systemAdministrators,
  listIpRules: systemAdministrators,
  createIpRule: systemAdministrators,
  getIpRule: systemAdministrators,
  updateIpRule: systemAdministrators,
  deleteIpRule: systemAdministrators,
  listLogs: systemAdministrators,
  getLogAnalytics: systemAdministrators,
  getLogConfig: systemAdministrators,
  updateLogConfig: systemAdministrators,
  previewLogConfig: systemAdministrators,
  resetLogConfig: systemAdministrators,
  validateLogConfig: systemAdministrators,
  getLogConfigSection: systemAdministrators,
  updateLogConfigSection: systemAdministrators,
  exportLogs: systemAdministrators,
  listLogExports: systemAdministrators,
  getLogExport: systemAdministrators,
  deleteLogExport: systemAdministrators,
  listLogArchives: systemAdministrators,
  getLogArchive: systemAdministrators,
  searchLogArchive: systemAdministrators,
  deleteLogArchive: systemAdministrators,

  explainAccess: holdersOf('authorization.read'),
  listPermissions: anyMember,

  listAuditLogs: holdersOf('audit_logs.read'),
  listAuditActions: holdersOf('audit_logs.read'),
  exportAuditLogs: holdersOf('audit_logs.read'),
  verifyAuditLogs: holdersOf('audit_logs.read'),

  listUsers: holdersOf('users.read', 'users.read'),
  getUser: holdersOf('users.read', 'users.read'),
  createUser: holdersOf('users.manage'),
  updateUser: holdersOf('users.manage'),
  deleteUser: holdersOf('users.manage'),
  inviteUser: holdersOf('users.manage'),
  resendInvitation: holdersOf('users.manage'),

  listTenants: systemAdministrators,
  getTenant: anyMember,
  updateTenant: { allowed: administrators },
  deleteTenant: systemAdministrators,
  restoreTenant: systemAdministrators,
  suspendTenant: systemAdministrators,
  activateTenant: systemAdministrators,
  getProfile: anyMember,
  updateProfile: anyMember,

  listGroups: holdersOf('groups.read'),
  getGroup: holdersOf('groups.read'),
  listGroupMembers: holdersOf('groups.read'),
  createGroup: holdersOf('groups.manage'),
  updateGroup: holdersOf('groups.manage'),
  deleteGroup: holdersOf('groups.manage'),
  addGroupMember: holdersOf('groups.manage'),
  removeGroupMember: holdersOf('groups.manage'),

  listAppAccounts: holdersOf('app_accounts.read'),
  getAppAccount: holdersOf('app_accounts.read'),
  getAppAccountUsage: holdersOf('app_accounts.read'),
  createAppAccount: holdersOf('app_accounts.manage'),
  updateAppAccount: holdersOf('app_accounts.manage'),
  deleteAppAccount: holdersOf('app_accounts.manage'),
  regenerateAppAccountPassword: holdersOf('app_accounts.manage'),
  setAppAccountPassword: holdersOf('app_accounts.manage'),

  listApiKeys: holdersOf('api_keys.read'),
  listApiKeyTemplates: holdersOf('api_keys.read'),
  getApiKey: holdersOf('api_keys.read'),
  getApiKeyUsage: holdersOf('api_keys.read'),
  createApiKey: holdersOf('api_keys.manage'),
  updateApiKey: holdersOf('api_keys.manage'),
  deleteApiKey: holdersOf('api_keys.manage'),
  rotateApiKey: holdersOf('api_keys.manage'),
  deletePreviousSecret: holdersOf('api_keys.manage'),

  listIdentityProviderRegistrations: { allowed: administrators },
  getIdentityProviderRegistration: { allowed: administrators },
  saveIdentityProviderRegistration: { allowed: administrators },
  deleteIdentityProviderRegistration: { allowed: administrators },

  listConnectors: holdersOf('providers.read'),
  getConnector: holdersOf('providers.read'),
  createConnector: holdersOf('providers.manage'),
  updateConnector: holdersOf('providers.manage'),
  deleteConnector: holdersOf('providers.manage'),
  enableConnector: holdersOf('providers.manage'),
  disableConnector: holdersOf('providers.manage'),
  testConnector: holdersOf('providers.manage'),
  getConnectorDashboard: holdersOf('providers.read'),

  // Integrations.
  translateText: anyMember,
  translateI18n: anyMember,
  // The service checks the permission to change the record after it knows the record.
  translateEntity: membersOr('spaces.write', 'resources.write'),
  listTranslationMarks: anyMember,
  translateEntityType: holdersOf('translations.manage'),
  listTranslationJobs: holdersOf('translations.manage'),
  getTranslationJob: holdersOf('translations.manage'),
  cancelTranslationJob: holdersOf('translations.manage'),
  resumeTranslationJob: holdersOf('translations.manage'),
  listOperations: holdersOf('integrations.read'),
  getOperation: holdersOf('integrations.read'),
  getIntegrationOverview: holdersOf('integrations.read'),
  listProviderMetrics: holdersOf('integrations.read'),
  listProviderCalls: holdersOf('integrations.read'),
  getIntegrationDiagnostics: holdersOf('integrations.read'),
  listTenantOverrides: holdersOf('integrations.read'),
  explainProviderRoute: holdersOf('integrations.read'),
  saveTenantOverride: holdersOf('integrations.manage'),
  deleteTenantOverride: holdersOf('integrations.manage'),

  listModels: holdersOf('integrations.read'),
  estimateModelCost: holdersOf('integrations.read'),

  searchPlaces: membersOr('geo.geocode'),
  findPlaceAt: membersOr('geo.reverse_geocode'),

  listTypeDefinitions: membersOr('typeDefinitions.read'),
  getTypeDefinition: membersOr('typeDefinitions.read'),
  createTypeDefinition: holdersOf('type_definitions.manage'),
  updateTypeDefinition: holdersOf('type_definitions.manage'),
  deleteTypeDefinition: holdersOf('type_definitions.manage'),

  listResources: membersOr('resources.read'),
  getResource: membersOr('resources.read'),
  createResource: holdersOf('resources.manage', 'resources.write'),
  updateResource: holdersOf('resources.manage', 'resources.write'),
  deleteResource: holdersOf('resources.manage', 'resources.delete'),

  listTags: membersOr('tags.read'),
  getTag: membersOr('tags.read'),
  createTag: holdersOf('tags.manage'),
  updateTag: holdersOf('tags.manage'),
  deleteTag: holdersOf('tags.manage'),
  // Tags of a record belong to the record.
  listSpaceTags: membersOr('spaces.read'),
  tagSpace: holdersOf('spaces.manage', 'spaces.write'),
  untagSpace: holdersOf('spaces.manage', 'spaces.write'),
  listResourceTags: membersOr('resources.read'),
  tagResource: holdersOf('resources.manage', 'resources.write'),
  untagResource: holdersOf('resources.manage', 'resources.write'),

  listFlowTasks: holdersOf('flow_tasks.read'),
  reportFlowTask: holdersOf('flow_tasks.read'),
  listFlowTaskCompletions: holdersOf('flow_tasks.read'),
  createFlowTask: holdersOf('flow_tasks.manage'),
  updateFlowTask: holdersOf('flow_tasks.manage'),
  deleteFlowTask: holdersOf('flow_tasks.manage'),
  resetFlowTask: holdersOf('flow_tasks.manage'),
  reorderFlowTasks: holdersOf('flow_tasks.manage'),
  listPendingFlowTasks: anyMember,
  listOwnFlowTaskCompletions: anyMember,
  completeFlowTask: anyMember,
  skipFlowTask: anyMember,

  // The service requires notifications.manage if they concern another user.
  listNotificationPreferences: anyMember,
  updateNotificationPreferences: anyMember,
  explainNotificationPreferences: anyMember,
  deleteNotificationPreference: anyMember,
  listOwnNotificationPreferences: anyMember,
  updateOwnNotificationPreferences: anyMember,
  explainOwnNotificationPreferences: anyMember,
  deleteOwnNotificationPreference: anyMember,
  listNotifications: anyMember,
  getUnreadNotificationCount: anyMember,
  readAllNotifications: anyMember,
  readNotification: anyMember,
  unreadNotification: anyMember,
  dismissNotification: anyMember,
  createNotice: holdersOf('notifications.manage'),
  listNotices: holdersOf('notifications.manage'),
  getNotice: holdersOf('notifications.manage'),
  cancelNotice: holdersOf('notifications.manage'),
  listNotificationDeliveries: holdersOf('notifications.manage'),
  listOwnNotificationDeliveries: anyMember,
  getPushKey: anyMember,
  listPushSubscriptions: anyMember,
  subscribePush: anyMember,
  unsubscribePush: anyMember,

  listFeedbacks: holdersOf('feedbacks.read', 'feedbacks.read'),
  getFeedback: holdersOf('feedbacks.read', 'feedbacks.read'),
  createFeedback: anyMember,
  updateFeedback: holdersOf('feedbacks.manage'),

  listCategories: membersOr('categories.read'),
  getCategory: membersOr('categories.read'),
  getCategoryTranslations: membersOr('categories.read'),
  listEntityCategories: membersOr('categories.read'),
  listCategoryLinks: membersOr('categories.read'),
  createCategory: { allowed: administrators },
  updateCategory: { allowed: administrators },
  deleteCategory: { allowed: administrators },
  linkCategory: holdersOf('categories.link'),
  unlinkCategory: holdersOf('categories.link'),

  listFiles: anyMember,
  uploadFile: anyMember,
  getFile: anyMember,
  updateFile: anyMember,
  deleteFile: anyMember,
  getFileContent: anyMember,
  // Files of a record belong to it; contacts have no flags.
  listSpaceFiles: membersOr('spaces.read'),
  uploadSpaceFile: membersOr('spaces.write'),
  getSpaceFileContent: membersOr('spaces.read'),
  deleteSpaceFile: membersOr('spaces.write'),
  listResourceFiles: membersOr('resources.read'),
  uploadResourceFile: membersOr('resources.write'),
  getResourceFileContent: membersOr('resources.read'),
  deleteResourceFile: membersOr('resources.write'),
  listContactFiles: anyMember,
  uploadContactFile: anyMember,
  getContactFileContent: anyMember,
  deleteContactFile: anyMember,
  saveAvatar: anyMember,
  getAvatar: anyMember,
  deleteAvatar: anyMember,
  getDefaultStorageStats: systemAdministrators,
  getSystemStorageStats: systemAdministrators,
  updateDefaultTenantStorage: systemAdministrators,
  updateSystemTenantStorage: systemAdministrators,
  getTenantStorage: { allowed: administrators },

  listQrCodes: membersOr('qrCodes.read'),
  getQrCode: membersOr('qrCodes.read'),
  getQrCodeImage: membersOr('qrCodes.read'),
  resolveQrCode: membersOr('qrCodes.read'),
  createQrCode: holdersOf('resources.manage', 'qrCodes.write'),
  assignQrCode: holdersOf('resources.manage', 'qrCodes.assign'),
  deleteQrCode: holdersOf('resources.manage', 'qrCodes.delete'),

  listSpaces: membersOr('spaces.read'),
  getSpace: membersOr('spaces.read'),
  createSpace: holdersOf('spaces.manage', 'spaces.write'),
  updateSpace: holdersOf('spaces.manage', 'spaces.write'),
  deleteSpace: holdersOf('spaces.manage', 'spaces.delete'),

  // The service decides, and its tests check, which events a caller sees and whose time it may book.
  listCalendars: membersOr('calendar.events', 'calendar.free_busy'),
  findFreeBusy: membersOr('calendar.events', 'calendar.free_busy'),
  listEvents: membersOr('calendar.events'),
  createEvent: membersOr('calendar.events'),
  getEvent: membersOr('calendar.events'),
  updateEvent: membersOr('calendar.events'),
  deleteEvent: membersOr('calendar.events'),

  // Contacts document no 403: every person of the tenant may use them.
  listContacts: anyMember,
  createContact: anyMember,
  getContact: anyMember,
  updateContact: anyMember,
  deleteContact: anyMember,
  listContactReferences: anyMember,
  listSpaceContacts: membersOr('spaces.read'),
  addSpaceContact: membersOr('spaces.write'),
  removeSpaceContact: membersOr('spaces.write'),
  listResourceContacts: membersOr('resources.read'),
  addResourceContact: membersOr('resources.write'),
  removeResourceContact: membersOr('resources.write'),
  // Own contacts; for other users the service requires users.read or users.manage, which its tests check.
  listUserContacts: membersOr('users.read'),
  addUserContact: anyMember,
  removeUserContact: anyMember,
};
