import { announceRevocation } from '#core/access/revocation';
import type { Actor, Person } from '#core/access/principal';
import { InvalidToken } from '#core/errors/common-errors';
import type { Transaction } from '#core/db/scopes';
import type { Services } from '#core/services';
import { assureSession, lockAccount } from '#modules/auth/index';
import { findLiveSession, listMethods, type MethodRow } from '#modules/two-factor/two-factor.queries';
import type { Method } from '#modules/two-factor/two-factor.schemas';

/** How things stand with the factors of an account, seen from one of its sessions. */
export type Standing = {
  methods: readonly MethodRow[];
  /** The session has given what the account asks for, so it may change what the account asks for. */
  mayChange: boolean;
  at: string;
};

export type LockedAccount = Standing & { tx: Transaction; actor: Actor<Person> };

/**
 * Runs the work with the account locked, so that what happens to its factors happens one after the other, and looks at
 * everything anew: the request was let in by what was known before.
 * @throws InvalidToken when the session has ended meanwhile
 */
export async function withAccount<Result>(
  services: Services,
  actor: Actor<Person>,
  work: (account: LockedAccount) => Promise<Result>,
): Promise<Result> {
  const { homeTenantId: tenantId, accountId, sessionId } = actor;
  return services.database.credential(tenantId).transaction(async (tx) => {
    await tx.all(lockAccount({ accountId, provenAt: null }));
    const session = await tx.first(findLiveSession({ tenantId, sessionId }));
    if (session === undefined) throw InvalidToken();
    const methods = await tx.all(listMethods({ accountId }));
    const at = services.now().toISOString();
    return work({ ...toStanding(methods, actor, session.assurance === 2), at, tx, actor });
  });
}

/** The same without the lock, for what can be refused beforehand. */
export async function readStanding(services: Services, actor: Actor<Person>): Promise<Standing> {
  const methods = await services.database.credential().all(listMethods({ accountId: actor.accountId }));
  return { ...toStanding(methods, actor, actor.isAssured), at: services.now().toISOString() };
}

function toStanding(methods: readonly MethodRow[], { isAccountWide }: Person, isAssured: boolean) {
  return { methods, mayChange: isAccountWide && (isAssured || activeMethods({ methods }).length === 0) };
}

export function activeMethods({ methods }: Pick<Standing, 'methods'>): MethodRow[] {
  return methods.filter((row) => row.enabled_at !== null);
}

export function activeMethod(standing: Standing, method: Method): MethodRow | undefined {
  return activeMethods(standing).find((row) => row.method === method);
}

/** What a code may be given for: an active method, or an enrolment that waits for its first code. */
export function usableMethod(standing: Standing, method: Method): MethodRow | undefined {
  const pending = standing.methods.find(
    (row) => row.method === method && row.enabled_at === null && row.enrolment_expires_at! > standing.at,
  );
  return activeMethod(standing, method) ?? (standing.mayChange ? pending : undefined);
}

/** Lifts the session; forget `session:<id>` after the commit. */
export async function liftSession({ tx, actor }: LockedAccount): Promise<void> {
  const { homeTenantId: tenantId, sessionId } = actor;
  await tx.all(assureSession({ tenantId, sessionId }));
  await tx.all(announceRevocation(`session:${sessionId}`));
}
