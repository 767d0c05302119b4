import type { Actor, Person } from '#core/base/access/principal';
import { AssuranceLimitedToTenant, SecondFactorRequired } from '#core/base/errors/common-errors';
import { announceRevocation } from '#core/data/db/revocation';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import {
  announceSessions,
  endOldestSessions,
  lockAssurance,
  maxSessionsPerUser,
  type Assurance,
} from '#modules/auth/index';
import { assureSession, listMethods, type MethodRow } from '#modules/two-factor/two-factor.queries';
import type { Method } from '#modules/two-factor/two-factor.schemas';

type Dependencies = Pick<Services, 'database' | 'now'>;

/** State of the second factors of an account, as seen from one of its sessions. */
export type FactorState = {
  methods: readonly MethodRow[];
  /** The session has verified a second factor of the account, for any set of tenants. */
  isAssured: boolean;
  /** The session has the assurance that the account requires in all its tenants, so it may change the factors. */
  mayChange: boolean;
  at: string;
};

export type LockedAccount = FactorState & { tx: Transaction; actor: Actor<Person> };

/**
 * Runs the work with the account locked, so that changes of its factors are serialised, and reads the state again: the
 * request was admitted with an earlier state.
 * @throws InvalidToken if the session has ended meanwhile
 */
export async function withAccount<Result>(
  services: Dependencies,
  actor: Actor<Person>,
  work: (account: LockedAccount) => Promise<Result>,
): Promise<Result> {
  const { homeTenantId: tenantId, accountId } = actor;
  return services.database.credential(tenantId).transaction(async (tx) => {
    const assurance = await lockAssurance(tx, actor);
    const methods = await tx.all(listMethods({ accountId }));
    const at = services.now().toISOString();
    return work({ ...toFactorState(methods, actor, assurance), at, tx, actor });
  });
}

/** The same without the lock, for an early refusal. */
export async function readFactorState(services: Dependencies, actor: Actor<Person>): Promise<FactorState> {
  const methods = await services.database.credential().all(listMethods({ accountId: actor.accountId }));
  const assurance = { isAssured: actor.isAssured, countsInAll: true };
  return { ...toFactorState(methods, actor, assurance), at: services.now().toISOString() };
}

function toFactorState(
  methods: readonly MethodRow[],
  { isAccountWide }: Person,
  { isAssured, countsInAll }: Assurance,
) {
  const hasFactor = activeMethods({ methods }).length > 0;
  const mayChange = isAccountWide && (!hasFactor || (isAssured && countsInAll));
  return { methods, isAssured: isAccountWide && isAssured, mayChange };
}

/** @throws SecondFactorRequired, AssuranceLimitedToTenant */
export function assertMayChange({ isAssured, mayChange }: FactorState): void {
  if (!mayChange) throw isAssured ? AssuranceLimitedToTenant() : SecondFactorRequired();
}

export function activeMethods({ methods }: Pick<FactorState, 'methods'>): MethodRow[] {
  return methods.filter((row) => row.enabled_at !== null);
}

export function activeMethod(standing: FactorState, method: Method): MethodRow | undefined {
  return activeMethods(standing).find((row) => row.method === method);
}

/** The purpose of a code: an active method, or an enrolment that waits for its first code. */
export function usableMethod(standing: FactorState, method: Method): MethodRow | undefined {
  const pending = standing.methods.find(
    (row) => row.method === method && row.enabled_at === null && row.enrolment_expires_at! > standing.at,
  );
  const mayComplete = standing.mayChange || (method === 'email' && standing.isAssured);
  return activeMethod(standing, method) ?? (mayComplete ? pending : undefined);
}

/** What a correct code proves: `accountWide` is false if a connector of the tenant could read it. */
export type Proof = { accountWide: boolean };

/**
 * Performs the step-up of the session, which may evict the oldest other sessions at that level; forget `session:<id>` after
 * the commit.
 */
export async function raiseAssurance({ tx, at, actor }: LockedAccount, { accountWide }: Proof): Promise<void> {
  const { homeTenantId: tenantId, accountId, sessionId } = actor;
  await tx.all(assureSession({ tenantId, sessionId, accountWide }));
  const raised = { tenantId, accountId, sessionId, assurance: 2, keep: maxSessionsPerUser, at } as const;
  await announceSessions(tx, await tx.all(endOldestSessions(raised)));
  await tx.all(announceRevocation(`session:${sessionId}`));
}
