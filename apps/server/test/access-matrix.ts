import type { Permission } from '#core/access/permissions';

/** Every kind of caller that exists; the matrix says of each operation which of them may use it. */
export const callers = [
  'anonymous',
  'malformed token',
  'dead session',
  'plain member',
  'member with the permission',
  'member with every other permission',
  'tenant administrator',
  'system administrator',
  "another tenant's administrator, at home",
  "another tenant's administrator, naming this tenant",
  'system administrator, naming this tenant',
] as const;

export type Caller = (typeof callers)[number];

type Row = { allowed: readonly Caller[]; permission?: Permission };

const administrators = [
  'tenant administrator',
  'system administrator',
  // At home they administer what is theirs; ids of other tenants are the isolation suite's subject.
  "another tenant's administrator, at home",
  'system administrator, naming this tenant',
] as const;

const members = [
  'plain member',
  'member with the permission',
  'member with every other permission',
  ...administrators,
] as const;

const anybody: Row = { allowed: callers };
// A missing or dead session is no reason to refuse, but nobody may name a tenant that is not theirs.
const anybodyAtHome: Row = {
  allowed: callers.filter((caller) => caller !== "another tenant's administrator, naming this tenant"),
};
const anyMember: Row = { allowed: members };
const systemAdministrators: Row = {
  allowed: ['system administrator', 'system administrator, naming this tenant'],
};
const holdersOf = (permission: Permission): Row => ({
  allowed: ['member with the permission', ...administrators],
  permission,
});

/**
 * Who may call what, written down by hand from the specification and the authorization matrix, and
 * deliberately not from what the routes declare.
 */
export const accessMatrix: Readonly<Record<string, Row>> = {
  // Authentication: the public prefix, and what belongs to the person behind the session.
  login: anybody,
  selectTenant: anybody,
  register: anybody,
  refreshTokens: anybody,
  logout: anybodyAtHome,
  listIdentityProviders: anybody,
  forgotPassword: anybody,
  resetPassword: anybody,
  getJwkSet: anybody,
  getCurrentUser: anyMember,
  listOwnSessions: anyMember,
  revokeSession: anyMember,
  changePassword: anyMember,

  // System and documentation.
  getHealth: anybody,
  getSystemInfo: anybody,
  getOpenApi: anybody,
  getReferencePage: anybody,
  getReferenceAsset: anybody,
  listMailOutbox: systemAdministrators,

  listAuditLogs: holdersOf('audit_logs.read'),

  listUsers: holdersOf('users.read'),
  getUser: holdersOf('users.read'),
  createUser: holdersOf('users.manage'),
  updateUser: holdersOf('users.manage'),
  deleteUser: holdersOf('users.manage'),

  listGroups: holdersOf('groups.read'),
  getGroup: holdersOf('groups.read'),
  listGroupMembers: holdersOf('groups.read'),
  createGroup: holdersOf('groups.manage'),
  updateGroup: holdersOf('groups.manage'),
  deleteGroup: holdersOf('groups.manage'),
  addGroupMember: holdersOf('groups.manage'),
  removeGroupMember: holdersOf('groups.manage'),

  listSpaces: anyMember,
  getSpace: anyMember,
  createSpace: holdersOf('spaces.manage'),
  updateSpace: holdersOf('spaces.manage'),
  deleteSpace: holdersOf('spaces.manage'),

  // Contacts document no 403: every person of the tenant may use them.
  listContacts: anyMember,
  createContact: anyMember,
  getContact: anyMember,
  updateContact: anyMember,
  deleteContact: anyMember,
  listContactReferences: anyMember,
  listSpaceContacts: anyMember,
  addSpaceContact: anyMember,
  removeSpaceContact: anyMember,
};
