import type { Actor, Person } from '#core/base/access/principal';
import type { Services } from '#core/platform/services';
import { auditInEach, listMemberships } from '#modules/auth/index';
import { activeMethods, usableMethod, withAccount, type LockedAccount, type Proof } from '#modules/two-factor/account';
import { limitOwner, guessAttempt, type Challenge } from '#modules/two-factor/codes/attempts';
import { useBackupCode } from '#modules/two-factor/codes/backup-codes';
import { useDeliveredCode } from '#modules/two-factor/codes/delivered-codes';
import { openSeed } from '#modules/two-factor/codes/sealed';
import { stepOf } from '#modules/two-factor/codes/totp';
import { CodeRefused, FactorNotEnabled } from '#modules/two-factor/two-factor.errors';
import { acceptStep, findNewestCode } from '#modules/two-factor/two-factor.queries';
import { withoutGaps } from '#modules/two-factor/two-factor.rules';
import type { Method } from '#modules/two-factor/two-factor.schemas';

type Dependencies = Pick<
  Services,
  | 'callLog'
  | 'database'
  | 'encryption'
  | 'log'
  | 'mail'
  | 'now'
  | 'outbound'
  | 'principals'
  | 'queue'
  | 'securityEvents'
>;

export type Owner = { services: Dependencies; actor: Actor<Person> };

/** A submitted code and the target that it is compared with. */
export type Guess = { challenge: Challenge; code: string };

/** The current target for a code of the method. */
export async function challengeOf({ services, actor }: Owner, method: Method): Promise<Challenge> {
  const { accountId, sessionId } = actor;
  if (method === 'totp') return { kind: 'totp' };
  const newest = await services.database.credential().first(findNewestCode({ accountId, method, sessionId }));
  // Without a sent code, the same limits apply, and every guess fails.
  return { kind: 'delivered', method, codeId: newest?.id ?? sessionId };
}

/**
 * Counts a guess, compares it and performs its action, in one transaction that also consumes the code. A wrong guess is
 * recorded instead.
 * @throws CodeRefused, TooManyGuesses, FactorNotEnabled
 */
export async function withCode<Result>(
  { services, actor }: Owner,
  guess: Guess,
  work: (account: LockedAccount, proof: Proof) => Promise<Result>,
): Promise<Result> {
  const attempt = guessAttempt(services, limitOwner(actor), guess.challenge);
  await attempt.admit();
  const done = await withAccount(services, actor, async (account) => {
    const proof = await prove(services, account, guess);
    if (proof === undefined) {
      await recordFailure(account, guess.challenge);
      return undefined;
    }
    for (const query of attempt.refund()) await account.tx.all(query);
    return { result: await work(account, proof) };
  });
  // A mail that was delivered without a confirmation of the server would be sent again.
  if (done !== undefined && guess.challenge.kind === 'delivered') await services.mail.cancel([guess.challenge.codeId]);
  if (done !== undefined) return done.result;
  const { homeTenantId: tenantId, userId, request } = actor;
  const details = { ip: request.ip, requestId: request.id, secondFactor: nameOf(guess.challenge) };
  services.securityEvents.record({ type: 'login_failed', tenantId, userId, details });
  throw CodeRefused();
}

/** Codes of an authenticator app and backup codes belong to the account and count in all its tenants. */
const ofAccount: Proof = { accountWide: true };

/** What the code proves; undefined if it is wrong. */
async function prove(
  services: Dependencies,
  account: LockedAccount,
  { challenge, code }: Guess,
): Promise<Proof | undefined> {
  const { tx, at, actor } = account;
  switch (challenge.kind) {
    case 'totp':
      return (await isRightTotp(services, account, code)) ? ofAccount : undefined;
    case 'delivered':
      if (usableMethod(account, challenge.method) === undefined) throw FactorNotEnabled();
      return useDeliveredCode(services, tx, { codeId: challenge.codeId, code, at });
    case 'backup':
      if (activeMethods(account).length === 0) throw FactorNotEnabled();
      return (await useBackupCode(services, tx, { accountId: actor.accountId, code, at })) ? ofAccount : undefined;
  }
}

async function isRightTotp(services: Dependencies, account: LockedAccount, code: string): Promise<boolean> {
  const { tx, at, actor } = account;
  const { accountId } = actor;
  const row = usableMethod(account, 'totp');
  if (row === undefined) throw FactorNotEnabled();
  const step = stepOf(openSeed(services, accountId, row).seed, withoutGaps(code), new Date(at));
  return step !== undefined && (await tx.first(acceptStep({ accountId, step }))) !== undefined;
}

async function recordFailure({ tx, actor, at }: LockedAccount, challenge: Challenge): Promise<void> {
  const memberships = await tx.all(listMemberships({ accountId: actor.accountId }));
  const details = { method: nameOf(challenge) };
  await auditInEach(tx, memberships, actor.request, { action: 'two_factor.failed', at, details });
}

/** Name of the kind of code in the audit trail. */
export function nameOf(challenge: Challenge): Method | 'backup_code' {
  if (challenge.kind === 'delivered') return challenge.method;
  return challenge.kind === 'totp' ? 'totp' : 'backup_code';
}
