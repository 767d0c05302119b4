import { auditEvent } from '#core/data/audit/audit.queries';
import type { Reads } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { accountChanged, auditInEach, listMemberships } from '#modules/auth/index';
import { securityNotice, wakeNotices } from '#modules/notifications/index';
import {
  activeMethod,
  activeMethods,
  assertMayChange,
  raiseAssurance,
  readFactorState,
  usableMethod,
  withAccount,
  type LockedAccount,
  type FactorState,
} from '#modules/two-factor/account';
import { newBackupCodes, replaceBackupCodes } from '#modules/two-factor/codes/backup-codes';
import { challengeOf, nameOf, withCode, type Guess, type Owner } from '#modules/two-factor/codes/guess';
import { openSeed } from '#modules/two-factor/codes/sealed';
import { FactorNotEnabled, LastFactorRequired, NoFactorEnabled } from '#modules/two-factor/two-factor.errors';
import {
  activateMethod,
  countBackupCodes,
  deleteBackupCodes,
  deleteCodesOfMethod,
  deleteMethod,
  findRequirement,
  touchMethod,
  type MethodRow,
} from '#modules/two-factor/two-factor.queries';
import { readBackupCode } from '#modules/two-factor/two-factor.rules';
import type { CodeBody, Method } from '#modules/two-factor/two-factor.schemas';

type Dependencies = Pick<Services, 'database' | 'encryption' | 'log' | 'now' | 'principals' | 'queue'>;

/**
 * Performs the step-up of the session with a code of an enabled method, or completes an enrolment with its first code.
 * @throws FactorNotEnabled, CodeRefused, TooManyGuesses
 */
export async function verifyCode(owner: Owner, { method, code }: CodeBody) {
  const { services, actor } = owner;
  if (usableMethod(await readFactorState(services, actor), method) === undefined) throw FactorNotEnabled();
  const guess = { challenge: await challengeOf(owner, method), code };
  const isFirst = await withCode(owner, guess, async (account, proof) => {
    const row = usableMethod(account, method)!;
    await raiseAssurance(account, proof);
    if (row.enabled_at === null) await activate(services, account, row);
    else await confirm(account, method);
    return row.enabled_at === null;
  });
  services.principals.forget(`session:${actor.sessionId}`);
  services.principals.forget(`account:${actor.accountId}`);
  if (isFirst) await wakeNotices(services, actor.homeTenantId);
  return {
    success: true,
    message: 'The second factor is verified.',
    data: { method, verified: true, enabled: true },
  };
}

/** Every session of the account now needs a factor, so sessions without one are revoked. */
async function activate(services: Dependencies, { tx, at, actor }: LockedAccount, row: MethodRow): Promise<void> {
  const { accountId, request, sessionId } = actor;
  await tx.all(activateMethod({ accountId, method: row.method, at }));
  if (row.method === 'totp') {
    const { backupCodeHashes: hashes } = openSeed(services, accountId, row);
    await replaceBackupCodes(tx, { accountId, hashes, at });
  }
  await tellOwner({ tx, at, actor }, 'factor_enabled', row.method);
  const details = { method: row.method };
  await accountChanged(tx, accountId, {
    action: 'two_factor.enabled',
    at,
    details,
    request,
    keepSessionId: sessionId,
  });
}

/** Records in the tenant of the session first, before the audit trails of the others. */
async function tellOwner(
  { tx, at, actor }: Pick<LockedAccount, 'tx' | 'at' | 'actor'>,
  event: 'factor_enabled' | 'factor_disabled' | 'backup_codes_replaced',
  subject?: Method,
): Promise<void> {
  const { homeTenantId: tenantId, userId, request } = actor;
  await tx.all(securityNotice({ tenantId, userId, event, request, ...(subject === undefined ? {} : { subject }) }, at));
}

async function confirm({ tx, at, actor }: LockedAccount, method: Method): Promise<void> {
  const { accountId, homeTenantId: tenantId, sessionId } = actor;
  await tx.all(touchMethod({ accountId, method, at }));
  const event = { action: 'two_factor.verified', resourceType: 'session', resourceId: sessionId, details: { method } };
  await tx.all(auditEvent({ ...actor, tenantId }, at, event));
}

/**
 * Performs the step-up of the session with a backup code.
 * @throws FactorNotEnabled, CodeRefused, TooManyGuesses
 */
export async function useBackupCode(owner: Owner, code: string) {
  const { services, actor } = owner;
  const { accountId, request, sessionId } = actor;
  if (activeMethods(await readFactorState(services, actor)).length === 0) throw FactorNotEnabled();
  const guess: Guess = { challenge: { kind: 'backup' }, code };
  const remaining = await withCode(owner, guess, async (account, proof) => {
    const { tx, at } = account;
    const memberships = await tx.all(listMemberships({ accountId }));
    await raiseAssurance(account, proof);
    await auditInEach(tx, memberships, request, { action: 'two_factor.backup_code_used', at });
    return (await tx.first(countBackupCodes({ accountId })))!.remaining;
  });
  services.principals.forget(`session:${sessionId}`);
  return {
    success: true,
    message: `The second factor is verified. Backup codes left: ${remaining}.`,
    data: { used: true, remaining },
  };
}

/**
 * Disables a method with one of its codes or a backup code; revokes the other sessions of the account.
 * @throws FactorNotEnabled, LastFactorRequired, CodeRefused, TooManyGuesses
 */
export async function disableMethod(owner: Owner, { method, code }: CodeBody): Promise<void> {
  const { services, actor } = owner;
  const { accountId, homeTenantId: tenantId, request, sessionId } = actor;
  const assertDispensable = async (standing: FactorState, db: Pick<Reads, 'first'>) => {
    if (activeMethod(standing, method) === undefined) throw FactorNotEnabled();
    if (activeMethods(standing).length > 1) return;
    if ((await db.first(findRequirement({ tenantId })))!.is_required) throw LastFactorRequired();
  };
  await assertDispensable(await readFactorState(services, actor), services.database.credential(tenantId));
  const isBackupCode = readBackupCode(code) !== undefined;
  const challenge = isBackupCode ? ({ kind: 'backup' } as const) : await challengeOf(owner, method);
  const revoked = await withCode(owner, { challenge, code }, async (account) => {
    const { tx, at } = account;
    await assertDispensable(account, tx);
    assertMayChange(account);
    await tx.all(deleteMethod({ accountId, method }));
    const codes = await tx.all(deleteCodesOfMethod({ accountId, method, at }));
    if (activeMethods(account).length === 1) await tx.all(deleteBackupCodes({ accountId }));
    await tellOwner(account, 'factor_disabled', method);
    const details = { method, provenBy: nameOf(challenge) };
    await accountChanged(tx, accountId, {
      action: 'two_factor.disabled',
      at,
      details,
      request,
      keepSessionId: sessionId,
    });
    return codes.map(({ id }) => id);
  });
  services.principals.forget(`account:${accountId}`);
  await services.mail.cancel(revoked);
  await wakeNotices(services, tenantId);
}

/** Replaces all backup codes. @throws NoFactorEnabled */
export async function regenerateBackupCodes({ services, actor }: Owner) {
  const { accountId, request } = actor;
  const { codes, hashes } = newBackupCodes(services, accountId);
  await withAccount(services, actor, async (account) => {
    const { tx, at } = account;
    if (activeMethods(account).length === 0) throw NoFactorEnabled();
    assertMayChange(account);
    await replaceBackupCodes(tx, { accountId, hashes, at });
    await tellOwner(account, 'backup_codes_replaced');
    const memberships = await tx.all(listMemberships({ accountId }));
    await auditInEach(tx, memberships, request, { action: 'two_factor.backup_codes_regenerated', at });
  });
  await wakeNotices(services, actor.homeTenantId);
  return {
    success: true,
    message: 'Keep these codes now: they are not shown again. Earlier codes are no longer valid.',
    data: { backup_codes: codes, count: codes.length },
  };
}
