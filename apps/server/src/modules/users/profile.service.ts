import type { Actor, Person } from '#core/base/access/principal';
import { auditParams } from '#core/data/audit/audit.queries';
import type { Services } from '#core/platform/services';
import { zoneName } from '#modules/calendar/index';
import { UserNotFound } from '#modules/users/users.errors';
import { findTenant, findUser, updateUser, type UserChanges, type UserRow } from '#modules/users/users.queries';
import { assertLocaleOffered, readPhone } from '#modules/users/users.rules';
import type { UpdateProfileBody } from '#modules/users/users.schemas';

/** An actor in another tenant has no profile there; the profile is the one of the home tenant. */
type Scope = { services: Pick<Services, 'database' | 'now'>; actor: Actor<Person> };

/** @throws UserNotFound */
export async function getProfile({ services, actor }: Scope) {
  const { homeTenantId: tenantId, userId: id } = actor;
  const row = await services.database.tenant(tenantId).first(findUser({ tenantId, id }));
  if (row === undefined) throw UserNotFound();
  return { data: presentProfile(row) };
}

/**
 * The delivery target of a second factor stays as enrolled when the phone number changes.
 * @throws UserNotFound, LocaleNotOffered
 */
export async function updateProfile(scope: Scope, body: UpdateProfileBody) {
  const fields = Object.keys(body);
  if (fields.length === 0) return getProfile(scope);
  const { services, actor } = scope;
  const { homeTenantId: tenantId, userId: id } = actor;
  const db = services.database.tenant(tenantId);
  const [[user], [tenant]] = await db.batch([findUser({ tenantId, id }), findTenant({ tenantId })]);
  if (user === undefined) throw UserNotFound();
  assertLocaleOffered(body.locale, tenant!.languages, user.locale);
  const at = services.now().toISOString();
  const audit = auditParams({ ...actor, tenantId }, at, { fields });
  const change = updateUser(id, { ...toColumns(body), updated_at: at }, audit, 'profile.updated');
  const [changed, [row]] = await db.interactive.batch([change, findUser({ tenantId, id })]);
  if (changed.length === 0) throw UserNotFound();
  return { data: presentProfile(row!) };
}

function toColumns({ displayName, fullName, locale, phone, timezone }: UpdateProfileBody): UserChanges {
  const columns = {
    display_name: displayName,
    full_name: fullName,
    locale,
    phone: readPhone(phone),
    timezone: timezone ? zoneName(timezone) : timezone,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined)) as UserChanges;
}

function presentProfile(row: UserRow) {
  return {
    displayName: row.display_name,
    fullName: row.full_name,
    locale: row.locale,
    phone: row.phone,
    timezone: row.timezone,
  };
}
