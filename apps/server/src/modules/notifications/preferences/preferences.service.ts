import { access, decide as decideAccess } from '#core/base/access/access';
import type { Actor, Person } from '#core/base/access/principal';
import { newId } from '#core/base/crypto/ids';
import { auditEvent, auditParams } from '#core/data/audit/audit.queries';
import type { TenantDb, Transaction } from '#core/data/db/scopes';
import { createCheck } from '#core/http/validation';
import type { Services } from '#core/platform/services';
import { channels, type Channel, type QuietHours } from '#modules/notifications/notifications.types';
import { decide, neverEnd, timeOf, type Layers } from '#modules/notifications/preferences/decision.rules';
import { explain } from '#modules/notifications/preferences/explanation.rules';
import {
  CategoryLocked,
  UserNotAllowed,
  InvalidPreference,
  MembershipRequired,
  PersonNotFound,
  PreferenceNotFound,
  TooManyPreferences,
  UserRequired,
} from '#modules/notifications/preferences/preferences.errors';
import {
  deletePreference,
  deletePreferencesOf,
  findPerson,
  listDefaults,
  listPreferences,
  listPreferencesOf,
  lockPreferences,
  lockPreferencesOf,
  putPreferences,
  sharePerson,
  type Owner,
  type PreferenceRow,
} from '#modules/notifications/preferences/preferences.queries';
import * as schemas from '#modules/notifications/preferences/preferences.schemas';
import type {
  EffectiveQuery,
  GivenPreference,
  ListPreferencesQuery,
  UpdatePreferencesBody,
} from '#modules/notifications/preferences/preferences.schemas';

type Scope = { services: Pick<Services, 'database' | 'now'>; db: TenantDb; actor: Actor<Person> };
type OwnScope = Omit<Scope, 'db'>;
type Given<Query> = { [Name in keyof Query]: Query[Name] | undefined };

/** Limit for the tenant, and for each user. */
const maxPreferences = 500;

const others = access.permission('notifications.manage');

/** A user who acts for another tenant has preferences only in the home tenant. */
export function atHome({ services, actor }: OwnScope): Scope {
  const { homeTenantId: tenantId } = actor;
  return { services, db: services.database.tenant(tenantId), actor: { ...actor, tenantId } };
}

/**
 * Lists defaults of the tenant and overrides of one user, or only one of them with a scope. The default user is the caller.
 * @throws NotPermitted, MembershipRequired, PersonNotFound
 */
export async function listNotificationPreferences({ db, actor }: Scope, query: Given<ListPreferencesQuery>) {
  const { tenantId } = db;
  const { scope, category, channel } = query;
  if (scope !== 'user_override') assertMayDecideForOthers(actor);
  const userId = scope === 'user_override' ? personOf(actor, query.userId) : query.userId;
  if (userId !== undefined && (await db.first(findPerson({ tenantId, id: userId }))) === undefined) {
    throw PersonNotFound();
  }
  const owners = [
    ...(scope === 'user_override' ? [] : [null]),
    ...(scope === 'tenant_default' || userId === undefined ? [] : [userId]),
  ];
  const rows = await db.interactive.all(listPreferences({ tenantId, owners, category, channel }));
  return { data: rows.map(presentPreference) };
}

/**
 * Stores all preferences or none; the last duplicate applies. Without scope and user they belong to the caller.
 * @throws NotPermitted, UserNotAllowed, UserRequired, MembershipRequired, PersonNotFound, InvalidPreference, CategoryLocked,
 * TooManyPreferences
 */
export async function updatePreferences({ services, db, actor }: Scope, body: UpdatePreferencesBody) {
  const { tenantId } = db;
  const owner = ownerOf(actor, body);
  assertMeaning(body.preferences, owner);
  const preferences = withoutDuplicates(body.preferences);
  const at = services.now().toISOString();
  const rows = await db.transaction(async (tx) => {
    const before = await lockAll(tx, tenantId, owner);
    if (owner.userId !== null) await assertUnlocked(tx, tenantId, preferences);
    const added = preferences.filter((given) => !before.has(keyOf(given))).length;
    if (before.size + added > maxPreferences) throw TooManyPreferences();
    const next = preferences.map((given) => toRow(given, before.get(keyOf(given)), { tenantId, ...owner, at }));
    const put = await tx.all(putPreferences({ tenantId, rows: JSON.stringify(next) }));
    await tx.all(auditEvent(actor, at, eventOf(owner, preferences)));
    return new Map(put.map((row) => [keyOf(row), row]));
  });
  return { data: preferences.map((given) => presentPreference(rows.get(keyOf(given))!)) };
}

/** Deletes a preference of the caller, or of any owner with the permission. @throws PreferenceNotFound */
export async function deleteNotificationPreference({ services, db, actor }: Scope, id: string): Promise<void> {
  const isAtHome = actor.tenantId === actor.homeTenantId;
  const whose = { userId: isAtHome ? actor.userId : null, includesOthers: decideAccess(others, actor).allowed };
  await deleteOne({ services, db, actor }, id, whose);
}

/** @throws PreferenceNotFound */
export async function deleteOwnPreference(scope: OwnScope, id: string): Promise<void> {
  await deleteOne(atHome(scope), id, { userId: scope.actor.userId, includesOthers: false });
}

/** Part of the deletion of a user. */
export async function removePreferencesOf(tx: Transaction, tenantId: string, userId: string): Promise<void> {
  await tx.all(deletePreferencesOf({ tenantId, userId }));
}

/** Explains the current settings of a user on each channel. @throws NotPermitted, MembershipRequired, PersonNotFound */
export async function explainPreferences(
  { services, db, actor }: Scope,
  { userId, category = '*' }: Given<EffectiveQuery>,
) {
  const { tenantId } = db;
  const id = personOf(actor, userId);
  const [[person], defaults, overrides] = await db.interactive.batch([
    findPerson({ tenantId, id }),
    listDefaults({ tenantId }),
    listPreferencesOf({ tenantId, userId: id }),
  ]);
  if (person === undefined) throw PersonNotFound();
  const at = { now: services.now(), timezone: person.timezone, isCritical: false };
  return { data: channels.map((channel) => effective({ category, channel }, { defaults, overrides }, at)) };
}

function effective(wanted: { category: string; channel: Channel }, layers: Layers, at: Parameters<typeof timeOf>[1]) {
  const { channel } = wanted;
  const decision = decide(wanted, layers);
  const { isEnabled, layer, preferenceId, category, quietHours, quietHoursLayer } = decision;
  const time = timeOf(decision, at);
  const outcomes = { now: 'sent', later: 'delayed', dropped: 'dropped' } as const;
  return {
    channel,
    enabled: isEnabled,
    layer,
    preferenceId,
    category,
    quietHours,
    quietHoursLayer,
    timezone: quietHours && (quietHours.timezone ?? at.timezone ?? 'UTC'),
    outcome: isEnabled ? outcomes[time.kind] : 'turned_off',
    until: isEnabled && time.kind === 'later' ? time.at.toISOString() : null,
    because: explain(decision, channel, time),
  };
}

/** @throws NotPermitted, UserNotAllowed, UserRequired, MembershipRequired */
function ownerOf(actor: Actor<Person>, { scope, userId }: Pick<UpdatePreferencesBody, 'scope' | 'userId'>): Owner {
  if (scope === 'user_override' && userId === undefined) throw UserRequired();
  if (scope !== 'tenant_default') return { userId: personOf(actor, userId) };
  assertMayDecideForOthers(actor);
  if (userId !== undefined) throw UserNotAllowed();
  return { userId: null };
}

/** The given user, or the caller. @throws NotPermitted, MembershipRequired */
function personOf(actor: Actor<Person>, userId: string | undefined): string {
  const own = actor.tenantId === actor.homeTenantId ? actor.userId : undefined;
  const id = userId ?? own;
  if (id === undefined) throw MembershipRequired();
  if (id !== own) assertMayDecideForOthers(actor);
  return id;
}

/** @throws NotPermitted */
function assertMayDecideForOthers(actor: Actor<Person>): void {
  const decision = decideAccess(others, actor);
  if (!decision.allowed) throw decision.error;
}

/** All preferences of the owner, locked until the end of the transaction. @throws PersonNotFound */
async function lockAll(tx: Transaction, tenantId: string, { userId }: Owner): Promise<Map<string, PreferenceRow>> {
  if (userId !== null && (await tx.first(sharePerson({ tenantId, id: userId }))) === undefined) throw PersonNotFound();
  await tx.all(lockPreferences({ tenantId, userId }));
  const rows = await tx.all(lockPreferencesOf({ tenantId, userId }));
  return new Map(rows.map((row) => [keyOf(row), row]));
}

/** @throws CategoryLocked */
async function assertUnlocked(tx: Transaction, tenantId: string, given: readonly GivenPreference[]): Promise<void> {
  const layers = { defaults: await tx.all(listDefaults({ tenantId })), overrides: [] };
  for (const { category, channel } of given) {
    const decision = decide({ category, channel }, layers);
    if (decision.layer === 'locked')
      throw CategoryLocked({ details: { category, channel, lockedBy: decision.category } });
  }
}

const checks = { quietHours: createCheck(schemas.QuietHours), rules: createCheck(schemas.Rules) };

/** @throws InvalidPreference */
function assertMeaning(given: readonly GivenPreference[], owner: Owner): void {
  for (const [at, { quietHours = {}, rules = {} }] of given.entries()) {
    const problem =
      misfit('quietHours', quietHours) ??
      problemOf(quietHours) ??
      misfit('rules', rules) ??
      (owner.userId !== null && 'locked' in rules ? 'rules.locked is for tenant_default only' : undefined);
    if (problem !== undefined) throw InvalidPreference({ details: { problem: `preferences.${at}.${problem}` } });
  }
}

function misfit(name: keyof typeof checks, value: unknown): string | undefined {
  const found = checks[name](value);
  return found && `${name}${found.path} ${found.message}`;
}

function problemOf(quietHours: QuietHours): string | undefined {
  if ((quietHours.start === undefined) !== (quietHours.end === undefined)) {
    return 'quietHours needs both start and end, or neither';
  }
  return neverEnd(quietHours) ? 'quietHours would never end: turn the channel off instead' : undefined;
}

/** Keeps the last preference of each category and channel. */
function withoutDuplicates(given: readonly GivenPreference[]): GivenPreference[] {
  return [...new Map(given.map((preference) => [keyOf(preference), preference])).values()];
}

function keyOf({ category, channel }: { category: string; channel: Channel }): string {
  return `${channel} ${category}`;
}

/** Omitted properties keep their values. */
function toRow(
  { category, channel, enabled, quietHours, rules }: GivenPreference,
  before: PreferenceRow | undefined,
  { tenantId, userId, at }: { tenantId: string; userId: string | null; at: string },
): PreferenceRow {
  return {
    tenant_id: tenantId,
    id: before?.id ?? newId(),
    user_id: userId,
    scope: userId === null ? 'tenant_default' : 'user_override',
    category,
    channel,
    enabled,
    quiet_hours: quietHours ?? before?.quiet_hours ?? {},
    rules: rules ?? before?.rules ?? {},
    created_at: before?.created_at ?? at,
    updated_at: at,
  };
}

function eventOf({ userId }: Owner, given: readonly GivenPreference[]) {
  const scope = userId === null ? 'tenant_default' : 'user_override';
  const preferences = given.map(({ category, channel, enabled }) => ({ category, channel, enabled }));
  return {
    action: 'notification_preference.updated',
    resourceType: 'notification_preference',
    details: { scope, userId, preferences },
  };
}

async function deleteOne(
  { services, db, actor }: Scope,
  id: string,
  whose: { userId: string | null; includesOthers: boolean },
): Promise<void> {
  const audit = auditParams(actor, services.now().toISOString());
  if ((await db.interactive.first(deletePreference({ id, ...whose, ...audit }))) === undefined)
    throw PreferenceNotFound();
}

function presentPreference(row: PreferenceRow) {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    userId: row.user_id,
    scope: row.scope,
    category: row.category,
    channel: row.channel,
    enabled: row.enabled,
    quietHours: row.quiet_hours,
    rules: row.rules,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
