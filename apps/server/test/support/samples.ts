import { newId } from '#core/crypto/ids';
import { defaultSecurityConfig } from '#core/limits/config';
import { newBrowser } from '#modules/notifications/push/testing/browser';
import type { Tenant } from '#test/support/factories';
import { unique, uniqueAddress } from '#test/support/factories';

/** What a body may refer to; the records belong to the tenant that sends it. */
export type OwnRecords = { tenant: Tenant; spaceId: string; contactId: string; flowTaskId: string };

type Body = Record<string, unknown>;

/** One complete, valid body for every operation that takes one, with all of its properties. */
export const validBodies: Readonly<Record<string, (own: OwnRecords) => Body>> = {
  login: ({ tenant }) => ({
    email: tenant.admin.email,
    password: tenant.admin.password,
    rememberMe: false,
    tenantId: tenant.tenantId,
  }),
  selectTenant: ({ tenant }) => ({ selectionToken: 'x'.repeat(43), tenantId: tenant.tenantId }),
  register: () => ({
    email: `${unique('person')}@sample.example`,
    password: 'correct horse',
    tenantName: 'Sample',
    tenantDomain: unique('sample'),
    displayName: 'Sam Ple',
    locale: 'en',
  }),
  refreshTokens: () => ({ refreshToken: `rt1_${'x'.repeat(43)}` }),
  forgotPassword: () => ({ email: `${unique('unknown')}@sample.example` }),
  resetPassword: () => ({ token: 'x'.repeat(43), password: 'correct horse' }),
  acceptInvitation: () => ({ token: 'x'.repeat(43), password: 'correct horse' }),
  verifyEmail: () => ({ token: 'x'.repeat(43) }),
  disownAccount: () => ({ token: 'x'.repeat(43) }),
  switchTenant: ({ tenant }) => ({ tenantId: tenant.tenantId }),
  updateTenant: () => ({
    name: 'Sample',
    default_language: 'de',
    languages: ['en', 'de'],
    settings: { requires2fa: false, twoFactorGraceDays: 7 },
  }),
  exchangeMcpMessage: () => ({
    jsonrpc: '2.0',
    id: 'first',
    method: 'tools/call',
    params: { name: 'get_health', arguments: { level: 'basic' } },
  }),
  updateProfile: () => ({
    displayName: 'Sam Ple',
    fullName: 'Sam Ple',
    locale: 'de',
    phone: '+43 (660) 123-456',
    timezone: 'Europe/Vienna',
  }),
  enableTwoFactor: () => ({ delivery_target: 'ada@example.com' }),
  verifyTwoFactor: () => ({ method: 'totp', code: '123456' }),
  sendTwoFactorCode: () => ({ method: 'email' }),
  useBackupCode: () => ({ code: 'ABCD2345' }),
  disableTwoFactor: () => ({ method: 'totp', code: '123456' }),
  disableTwoFactorByPost: () => ({ method: 'totp', code: '123456' }),
  changePassword: () => ({ currentPassword: 'not the password', newPassword: 'correct horse' }),
  createUser: () => ({
    email: `${unique('person')}@sample.example`,
    password: 'correct horse',
    displayName: 'Sam Ple',
    fullName: 'Sam Ple',
    locale: 'de',
    isTenantAdmin: false,
  }),
  inviteUser: () => ({
    email: `${unique('person')}@sample.example`,
    displayName: 'Sam Ple',
    fullName: 'Sam Ple',
    locale: 'de',
    isTenantAdmin: false,
    groupIds: [],
  }),
  updateUser: () => ({
    displayName: 'Sam Ple',
    fullName: 'Sam Ple',
    locale: 'de',
    phone: '+43 660 123 456',
    status: 'active',
    isTenantAdmin: false,
  }),
  createGroup: () => ({ name: unique('group'), description: 'Ground floor', permissions: ['users.read'] }),
  updateGroup: () => ({ name: unique('group'), description: null, permissions: [] }),
  addGroupMember: ({ tenant }) => ({ userId: tenant.admin.userId }),
  explainAccess: ({ tenant }) => ({ principal: { type: 'user', id: tenant.admin.userId }, operation: 'listUsers' }),
  createAppAccount: () => ({
    name: 'Door display',
    email: `${unique('app')}@sample.example`,
    password: 'correct horse battery',
    description: 'Shows what is booked',
    permissions: appAccountPermissions,
    expires_at: '2100-01-01T00:00:00Z',
  }),
  updateAppAccount: () => ({
    name: 'Door display',
    description: 'Shows what is booked',
    permissions: appAccountPermissions,
    status: 'active',
    expires_at: '2100-01-01T00:00:00Z',
  }),
  setAppAccountPassword: () => ({ password: 'correct horse battery' }),
  createApiKey: () => ({ ...apiKeyFields(), expires_at: '2999-01-01T00:00:00Z' }),
  updateApiKey: () => ({ ...apiKeyFields(), expires_at: null, enabled: true, mcp_write_enabled: true }),
  rotateApiKey: () => ({}),
  saveIdentityProviderRegistration: () => ({
    client_id: 'our-client',
    client_secret: 'not a secret',
    enabled: true,
    redirect_uris: ['https://app.example.com/done', 'http://localhost:3000/done'],
    issuer: null,
    settings: { directory_id: newId() },
  }),
  exchangeProviderCode: () => ({ code: 'x'.repeat(43), code_verifier: 'x'.repeat(43) }),
  beginIdentityLink: () => ({
    redirect_uri: 'https://app.example.com/done',
    state: 'mine',
    code_challenge: 'x'.repeat(43),
  }),
  linkIdentity: () => ({ code: 'x'.repeat(43), code_verifier: 'x'.repeat(43) }),
  createSpace: ({ spaceId }) => ({ name: 'Room', ...spaceFields(spaceId) }),
  updateSpace: () => ({ name: 'Room', ...spaceFields(null) }),
  createConnector: () => ({ api_key: unique('api'), ...connectorFields() }),
  updateConnector: () => connectorFields(),
  estimateModelCost: () => ({
    model_id: 'sample/model',
    task: 'text',
    characters: 1000,
    expected_output_characters: 200,
  }),
  translateText: () => ({ text: 'Hall', source_language: 'en', target_language: 'de', preserve_html: true }),
  translateI18n: () => ({
    i18n_data: { en: { name: 'Hall', description: 'For many' }, de: { name: null } },
    source_language: 'en',
    target_languages: ['de'],
  }),
  translateEntity: ({ spaceId }) => ({
    entity_type: 'space',
    entity_id: spaceId,
    source_language: 'en',
    target_languages: ['de'],
  }),
  translateEntityType: ({ spaceId }) => ({
    entity_type: 'space',
    entity_ids: [spaceId],
    source_language: 'en',
    target_languages: ['de'],
  }),
  explainProviderRoute: ({ tenant }) => ({ operation_key: 'translation.text', tenantId: tenant.tenantId }),
  saveTenantOverride: ({ tenant }) => ({
    tenantId: tenant.tenantId,
    operation_key: 'translation.text',
    enabled: true,
    preferred_provider_order: ['openai', 'deepl'],
    quota_ceiling: { requests_per_day: 1000, characters_per_month: 500_000 },
    override_config: { note: 'as agreed' },
    customer_credentials: { openai: { token: 'not a secret' } },
  }),
  createTypeDefinition: () => ({ entity_type: 'space', ...typeFields() }),
  updateTypeDefinition: typeFields,
  createResource: ({ spaceId }) => ({ name: 'Projector', ...resourceFields(spaceId) }),
  updateResource: () => ({ name: 'Projector', ...resourceFields(null) }),
  createTag: tagFields,
  updateTag: tagFields,
  createCategory: () => ({ ...categoryFields(), parent_id: null }),
  updateCategory: () => ({ ...categoryFields(), parent_id: null }),
  linkCategory: ({ spaceId }) => ({ entity_type: 'space', entity_id: spaceId }),
  unlinkCategory: ({ spaceId }) => ({ entity_type: 'space', entity_id: spaceId }),
  createFeedback: ({ spaceId }) => ({ entity_type: 'space', entity_id: spaceId, rating: 4, message: 'Too warm' }),
  updateFeedback: () => ({ status: 'resolved' }),
  createFlowTask: () => ({ type: 'custom', ...flowTaskFields() }),
  updateFlowTask: flowTaskFields,
  reorderFlowTasks: ({ flowTaskId }) => ({ taskIds: [flowTaskId] }),
  completeFlowTask: () => ({ version: '1', answers: { newsletter: false } }),
  subscribePush: () => ({ ...newBrowser().subscription, expirationTime: Date.parse('2040-01-01T00:00:00Z') }),
  updateNotificationPreferences: ({ tenant }) => ({
    preferences: [notificationPreferenceFields()],
    scope: 'user_override',
    userId: tenant.admin.userId,
  }),
  updateOwnNotificationPreferences: () => ({ preferences: [notificationPreferenceFields()] }),
  readAllNotifications: () => ({ before: '2026-06-01T00:00:00Z' }),
  createNotice: ({ tenant }) => ({
    key: unique('notice'),
    category: 'news.office',
    title: 'Closed',
    body: 'On Monday.',
    i18n: { de: { title: 'Zu', body: 'Am Montag.' } },
    link: '/news',
    data: { number: 1 },
    isCritical: false,
    channels: ['in_app', 'email'],
    audience: { userIds: [tenant.admin.userId], groupIds: [] },
  }),
  createQrCode: () => ({ label: 'Sheet 1' }),
  updateFile: ({ spaceId }) => ({ name: 'plan.pdf', entity_type: 'space', entity_id: spaceId }),
  updateDefaultTenantStorage: () => ({ enabled: true, quota_bytes: 5_000_000_000 }),
  updateSecurityConfig: () => ({ ...defaultSecurityConfig }),
  createIpRule: () => ({
    range: uniqueAddress(),
    action: 'allow',
    reason: 'Sample',
    expires_at: '2046-01-01T00:00:00Z',
  }),
  updateScheduledJob: () => ({ enabled: true, schedule: '* * * * *', timezone: 'UTC', catch_up: 'skip' }),
  updateIpRule: () => ({ action: 'allow', reason: null, expires_at: null }),
  updateLogConfig: () => ({
    logLevels: { sample: 'warn' },
    console: {
      enabled: true,
      format: 'json',
      colorize: false,
      timestamp: true,
      levels: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
    },
    database: {
      enabled: true,
      table: 'application_logs',
      batchSize: 500,
      flushInterval: 1000,
      levels: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
    },
    formatting: {
      format: 'json',
      includeTimestamp: true,
      includeService: true,
      includeContext: true,
      redactSensitive: true,
    },
    cleanup: {
      enabled: true,
      retentionDays: 60,
      archiveEnabled: true,
      archiveLocation: 'logs/sample',
      cleanupSchedule: '30 2 1,15 * MON-FRI',
    },
  }),
  updateLogConfigSection: () => ({}),
  previewLogConfig: () => ({ logLevels: { http: 'warn' }, cleanup: { retentionDays: 30 } }),
  validateLogConfig: () => ({ section: 'console', config: { enabled: true } }),
  exportLogs: () => ({
    startTime: '2026-01-01T00:00:00Z',
    endTime: '2026-01-02T00:00:00Z',
    tenantId: newId(),
    level: 'error',
    format: 'csv',
  }),
  updateSystemTenantStorage: () => ({ enabled: true, quota_bytes: 5_000_000_000 }),
  assignQrCode: ({ spaceId }) => ({ entity_type: 'space', entity_id: spaceId }),
  findFreeBusy: ({ spaceId }) => ({
    entities: [{ entity_type: 'space', entity_id: spaceId }],
    from: '2026-06-01T00:00:00Z',
    to: '2026-06-08T00:00:00Z',
  }),
  createEvent: ({ spaceId }) => eventFields(spaceId),
  updateEvent: ({ spaceId }) => eventFields(spaceId),
  createContact: () => contactFields(),
  updateContact: () => contactFields(),
  addSpaceContact: ({ contactId }) => ({ contactId, isPrimary: true }),
  addResourceContact: ({ contactId }) => ({ contactId, isPrimary: true }),
  addUserContact: ({ contactId }) => ({ contactId, isPrimary: true }),
};

const appAccountPermissions: Body = {
  resources: { read: true, write: true, delete: true, properties: ['serial'] },
  spaces: { read: true, write: true, delete: true },
  geo: { geocode: true, reverse_geocode: true },
  calendar: { free_busy: true, events: true },
  users: { read: true },
};

function apiKeyFields(): Body {
  return {
    name: 'Door',
    description: 'The reader at the front door',
    permissions: {
      resources: { read: true, write: false, delete: false, properties: ['serial'] },
      users: { read: true },
    },
    ip_whitelist: ['192.0.2.7', '2001:db8::/32'],
    device_fingerprint: 'reader 7',
  };
}

function spaceFields(parentId: string | null): Body {
  return {
    parent_id: parentId,
    type_id: null,
    description: 'On the first floor',
    translations_i18n: { de: { name: 'Raum', description: null } },
    capacity: 12,
    address: { street: 'Main Street', street_number: '1', city: 'Vienna', country_code: 'AT', floor: '1' },
    geo: { lat: 48.2, lng: 16.4 },
    timezone: 'Europe/Vienna',
    status: 'active',
    properties: { projector: true, seats: { fixed: 12 } },
  };
}

function resourceFields(spaceId: string | null): Body {
  return { ...spaceFields(null), space_id: spaceId, serial: 'SN-0001' };
}

function typeFields(): Body {
  return {
    key: unique('type'),
    name: 'Meeting room',
    description: 'With a table',
    json_schema: { type: 'object', properties: { seats: { type: 'integer' } } },
  };
}

function tagFields(): Body {
  return { name: unique('tag'), color: '#00aaff', translations_i18n: { de: { name: 'Leihe' } } };
}

function categoryFields(): Body {
  return {
    key: unique('category'),
    translations: { en: { name: 'Room', description: 'With walls' }, de: { name: 'Raum' } },
    filter_id: 'rooms',
  };
}

function connectorFields(): Body {
  return {
    api_name: 'Messages',
    api_base_url: 'https://messages.example.com/v1',
    config: { adapter: 'webhook', channels: ['sms'] },
    auth_config: { header: 'X-Token', token: 'not a secret', secret: 'nor this' },
    enabled: true,
    priority: 10,
    description: 'Carries codes',
    tags: ['codes'],
    category: 'communication',
  };
}

/** Takes no time, so that there can be any number of them. */
export function eventFields(spaceId: string): Body {
  return {
    title: 'Review',
    description: 'Of everything',
    location: 'First floor',
    visibility: 'default',
    busy: false,
    local_start: '2026-06-01T09:00',
    local_end: '2026-06-01T10:00:00',
    timezone: 'Europe/Vienna',
    fold: 'earlier',
    entities: [{ entity_type: 'space', entity_id: spaceId }],
  };
}

function notificationPreferenceFields(): Body {
  return {
    category: 'news.*',
    channel: 'email',
    enabled: true,
    quietHours: { timezone: 'Europe/Vienna', start: '22:00', end: '07:00', days: ['sat', 'sun'], mode: 'delay' },
    rules: { digest: 'daily' },
  };
}

function flowTaskFields(): Body {
  return {
    name: 'House rules',
    targetRoute: '/rules',
    priority: 1,
    isMandatory: false,
    isActive: true,
    version: '1',
    config: { from: '2026-01-01T00:00:00Z', repeatEveryDays: 365, section: 'rules' },
    i18n: { en: { title: 'House rules', description: 'Please read them', buttonText: 'Accept' }, de: {} },
  };
}

function contactFields(): Body {
  return {
    firstName: 'Ada',
    middleName: 'King',
    lastName: 'Lovelace',
    email: 'ada@example.com',
    phone: '+44 20 7946 0958',
    url: 'https://example.com/ada',
    address: { street: 'St James Square', city: 'London', floor: '2' },
    notes: `Noted ${newId()}`,
  };
}
