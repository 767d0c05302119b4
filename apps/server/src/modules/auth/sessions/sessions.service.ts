import { permissionNames } from '#core/base/access/permissions';
import type { Actor, SessionPrincipal } from '#core/base/access/principal';
import { auditEvent } from '#core/data/audit/audit.queries';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { lockAccount } from '#modules/auth/accounts/accounts.queries';
import { SessionNotFound, LoginRefused } from '#modules/auth/auth.errors';
import { announceSessions, forgetSessions } from '#modules/auth/sessions/session-start';
import {
  endAccountSessions,
  endSession,
  findSessionProfile,
  listSessions,
  lockAppAccount,
  type SessionRow,
} from '#modules/auth/sessions/sessions.queries';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'log' | 'now' | 'principals' | 'queue' | 'tokens'>;

/** The current user of the session (specification, "Current user"), with permissions on request. */
export async function getCurrentUser(
  services: Dependencies,
  actor: Actor<SessionPrincipal>,
  include: 'permissions' | undefined,
) {
  if (actor.kind === 'app_account') {
    const { id, email, homeTenantId, name } = actor;
    const permissions = include === undefined ? {} : presentPermissions(actor, [...actor.flags]);
    return { data: { id, email, tenantId: homeTenantId, groups: [], displayName: name, locale: 'en', ...permissions } };
  }
  const { homeTenantId: tenantId, accountId } = actor;
  const profile = await services.database.credential(tenantId).first(findSessionProfile({ tenantId, accountId }));
  if (profile === undefined) throw LoginRefused();
  const held = actor.isTenantAdmin ? permissionNames : profile.groups.flatMap((group) => group.permissions);
  return {
    data: {
      id: profile.user_id,
      email: profile.email,
      tenantId,
      groups: profile.groups.map((group) => group.name),
      displayName: profile.display_name,
      locale: profile.locale,
      ...(include === undefined ? {} : presentPermissions(actor, held)),
    },
  };
}

function presentPermissions({ isTenantAdmin, isSystemAdmin }: SessionPrincipal, held: readonly string[]) {
  return { permissions: [...new Set(held)].toSorted(), isTenantAdmin, isSystemAdmin };
}

export async function listOwnSessions(services: Dependencies, actor: Actor<SessionPrincipal>) {
  const { homeTenantId: tenantId, id: userId, sessionId } = actor;
  const now = services.now().toISOString();
  const rows = await services.database.credential(tenantId).all(listSessions({ tenantId, userId, now }));
  return { data: rows.map((row) => presentSession(row, sessionId)) };
}

/** @throws SessionNotFound for ended and unknown sessions, and those of other users, with the same answer */
export async function revokeSession(
  services: Dependencies,
  actor: Actor<SessionPrincipal>,
  sessionId: string,
): Promise<void> {
  const { homeTenantId: tenantId, id: userId } = actor;
  const at = services.now().toISOString();
  const ended = await services.database.credential(tenantId).transaction(async (tx) => {
    const session = await tx.first(endSession({ tenantId, sessionId, userId, at }));
    if (session === undefined) throw SessionNotFound();
    const event = { action: 'auth.session_revoked', resourceType: 'session', resourceId: sessionId };
    await tx.all(auditEvent({ ...actor, tenantId }, at, event));
    await announceSessions(tx, [session]);
    return session;
  });
  forgetSessions(services, [ended]);
}

/**
 * Ends the session of the caller, or all sessions of the caller in this tenant. Without an active session it does
 * nothing.
 * @returns whether other sessions continue because this one may not end them
 */
export async function logout(
  services: Dependencies,
  actor: Actor<SessionPrincipal> | undefined,
  scope: 'all' | undefined,
): Promise<{ othersContinue: boolean }> {
  if (actor === undefined) return { othersContinue: false };
  const isForAll = scope === 'all' && mayRevokeOthers(actor);
  const { homeTenantId: tenantId, id: userId, sessionId } = actor;
  const at = services.now().toISOString();
  const ended = await services.database.credential(tenantId).transaction(async (tx) => {
    const sessions = isForAll
      ? await endAll(tx, actor, at)
      : await tx.all(endSession({ tenantId, sessionId, userId, at }));
    if (sessions.length === 0) return sessions;
    const event = {
      action: 'auth.logout',
      resourceType: 'session',
      resourceId: sessionId,
      details: { sessions: sessions.length },
    };
    await tx.all(auditEvent({ ...actor, tenantId }, at, event));
    await announceSessions(tx, sessions);
    return sessions;
  });
  forgetSessions(services, ended);
  return { othersContinue: scope === 'all' && !isForAll };
}

/** Neither an expired access token nor the password alone may end sessions with more assurance. */
function mayRevokeOthers(actor: SessionPrincipal): boolean {
  return actor.isExpired !== true && (actor.kind === 'app_account' || actor.missingFactor !== 'second_factor');
}

/** Locks the account first: a session that starts meanwhile is seen, or finds that its predecessor has ended. */
async function endAll(tx: Transaction, actor: SessionPrincipal, at: string): Promise<{ id: string }[]> {
  const { homeTenantId: tenantId } = actor;
  const accountId = actor.kind === 'user' ? actor.accountId : actor.id;
  if (actor.kind === 'user') await tx.all(lockAccount({ accountId, provenAt: null }));
  else await tx.all(lockAppAccount({ tenantId, accountId }));
  return tx.all(endAccountSessions({ tenantId, accountId, exceptSessionId: null, at }));
}

function presentSession(row: SessionRow, currentId: string) {
  return {
    id: row.id,
    current: row.id === currentId,
    ip_address: row.ip_address,
    user_agent: row.user_agent,
    created_at: row.created_at,
    last_used_at: row.last_used_at,
    expires_at: row.expires_at,
  };
}
