import { isEmail } from '#core/http/formats';
import { findAccountProofs } from '#modules/auth/index';
import {
  activeMethod,
  activeMethods,
  assertMayChange,
  readFactorState,
  usableMethod,
  withAccount,
  type LockedAccount,
} from '#modules/two-factor/account';
import { limitOwner, sendAttempt } from '#modules/two-factor/codes/attempts';
import { newBackupCodes } from '#modules/two-factor/codes/backup-codes';
import { dispatchCode, findDelivery, issueCode } from '#modules/two-factor/codes/delivered-codes';
import type { Owner } from '#modules/two-factor/codes/guess';
import { openTarget, sealSeed, sealTarget } from '#modules/two-factor/codes/sealed';
import { newSeed, presentSeed } from '#modules/two-factor/codes/totp';
import {
  EmailTargetRefused,
  FactorEnabled,
  FactorNotEnabled,
  PhoneTargetMissing,
  PhoneTargetRefused,
} from '#modules/two-factor/two-factor.errors';
import {
  countBackupCodes,
  deleteCodesOfMethod,
  deleteCodesOfSession,
  findPhone,
  findRequirement,
  listMethods,
  upsertPendingMethod,
} from '#modules/two-factor/two-factor.queries';
import { codeLifeSeconds, enrolmentMs, maskTarget, normalisePhone } from '#modules/two-factor/two-factor.rules';
import type { DeliveredMethod, EnableBody, Method } from '#modules/two-factor/two-factor.schemas';

export async function getStatus({ services, actor }: Owner) {
  const { accountId, homeTenantId: tenantId } = actor;
  const [methods, [backup], [tenant]] = await services.database
    .credential(tenantId)
    .batch([listMethods({ accountId }), countBackupCodes({ accountId }), findRequirement({ tenantId })]);
  return {
    data: {
      enabled_methods: activeMethods({ methods }).map((row) => ({
        method: row.method,
        enabled_at: row.enabled_at,
        last_used_at: row.last_used_at,
        delivery_target_masked: row.delivery_target === null ? null : maskTarget(openTarget(services, accountId, row)),
      })),
      backup_codes_remaining: backup!.remaining,
      requires_2fa: tenant!.is_required,
    },
  };
}

/**
 * Starts an enrolment; its first code completes it.
 * @throws FactorEnabled, TooManyCodes, and the errors of the delivery
 */
export function enableMethod(owner: Owner, method: Method, body: EnableBody | undefined) {
  return method === 'totp' ? enableTotp(owner) : enableDelivery(owner, method, body?.delivery_target);
}

async function enableTotp({ services, actor }: Owner) {
  const { accountId } = actor;
  const seed = newSeed();
  const { codes, hashes } = newBackupCodes(services, accountId);
  const { uri, dataUrl } = await presentSeed(seed, actor.email);
  await withAccount(services, actor, async (account) => {
    const secret = sealSeed(services, accountId, { seed, backupCodeHashes: hashes });
    await beginEnrolment(account, { method: 'totp', secret, deliveryTarget: null });
  });
  return {
    success: true,
    message: 'Scan the QR code, then send a code of the app to /2fa/verify. The backup codes are then valid, too.',
    data: {
      method: 'totp',
      secret: seed,
      qr_code_uri: uri,
      qr_code_data_url: dataUrl,
      backup_codes: codes,
    },
  };
}

async function enableDelivery({ services, actor }: Owner, method: DeliveredMethod, given: string | undefined) {
  const { accountId, sessionId, homeTenantId: tenantId } = actor;
  const target = await readTarget({ services, actor }, method, given);
  if (activeMethod(await readFactorState(services, actor), method) !== undefined) throw FactorEnabled();
  const delivery = await findDelivery(services, tenantId, { method, enrolledIn: tenantId });
  await admitSending({ services, actor }, method, target);
  const message = await withAccount(services, actor, async (account) => {
    const deliveryTarget = sealTarget(services, accountId, { method, target });
    const isOwnAddress = method === 'email' && target === actor.email;
    await beginEnrolment(account, { method, secret: null, deliveryTarget, isOwnAddress });
    const owner = { accountId, sessionId, method, target, accountWide: delivery.accountWide };
    return issueCode(services, account.tx, owner, deleteCodesOfMethod({ accountId, method, at: account.at }));
  });
  await dispatchCode(services, delivery, message);
  return {
    success: true,
    message: 'A code has been sent. Submit it to /2fa/verify.',
    data: {
      method,
      delivery_target: maskTarget(target),
      verification_sent: true,
      expires_in_seconds: codeLifeSeconds,
    },
  };
}

type Enrolment = { method: Method; secret: string | null; deliveryTarget: string | null; isOwnAddress?: boolean };

async function beginEnrolment(account: LockedAccount, enrolment: Enrolment): Promise<void> {
  const { tx, actor, at, isAssured } = account;
  const { isOwnAddress = false, ...columns } = enrolment;
  // Its code reaches only the user, so it may be the first factor that counts in all tenants.
  if (!(isOwnAddress && isAssured)) assertMayChange(account);
  const { accountId, homeTenantId: enrolledIn } = actor;
  const expiresAt = new Date(Date.parse(at) + enrolmentMs).toISOString();
  const begun = await tx.first(upsertPendingMethod({ accountId, enrolledIn, ...columns, at, expiresAt }));
  if (begun === undefined) throw FactorEnabled();
}

/** The target of codes: the given one, or the one of the profile. */
async function readTarget(
  { services, actor }: Owner,
  method: DeliveredMethod,
  given: string | undefined,
): Promise<string> {
  if (method === 'email') {
    if (given !== undefined && !isEmail(given)) throw EmailTargetRefused();
    return given ?? actor.email;
  }
  if (given === undefined) {
    const { homeTenantId: tenantId, userId } = actor;
    const profile = await services.database.credential(tenantId).first(findPhone({ tenantId, userId }));
    if (typeof profile?.phone !== 'string') throw PhoneTargetMissing();
    return profile.phone;
  }
  const number = normalisePhone(given);
  if (number === undefined) throw PhoneTargetRefused();
  return number;
}

/**
 * A pending target may belong to another person, so it has its own limits, unless it is the verified address of the
 * account.
 */
async function admitSending(
  { services, actor }: Owner,
  method: DeliveredMethod,
  pendingTarget: string | undefined,
): Promise<void> {
  const { accountId, email } = actor;
  const proofs = await services.database.credential().first(findAccountProofs({ accountId }));
  const isOwn = method === 'email' && pendingTarget === email && proofs?.email === true;
  await sendAttempt(services, limitOwner(actor), isOwn ? undefined : pendingTarget).admit();
}

/** @throws FactorNotEnabled, TooManyCodes, and the errors of the delivery */
export async function sendCode({ services, actor }: Owner, method: DeliveredMethod) {
  const { accountId, sessionId, homeTenantId: tenantId } = actor;
  const known = usableMethod(await readFactorState(services, actor), method);
  if (known === undefined) throw FactorNotEnabled();
  const { enrolled_in: enrolledIn, delivery_target: sealed } = known;
  const delivery = await findDelivery(services, tenantId, { method, enrolledIn });
  const pendingTarget = known.enabled_at === null ? openTarget(services, accountId, known) : undefined;
  await admitSending({ services, actor }, method, pendingTarget);
  const message = await withAccount(services, actor, async (account) => {
    const row = usableMethod(account, method);
    // A new enrolment meanwhile has another target and another route than the admitted ones.
    if (row?.delivery_target !== sealed || row.enrolled_in !== enrolledIn) throw FactorNotEnabled();
    const target = openTarget(services, accountId, row);
    const owner = { accountId, sessionId, method, target, accountWide: delivery.accountWide };
    const supersede = deleteCodesOfSession({ accountId, method, sessionId, at: account.at });
    return issueCode(services, account.tx, owner, supersede);
  });
  await dispatchCode(services, delivery, message);
  return {
    success: true,
    message: 'A code has been sent.',
    data: { sent: true, expires_in_seconds: codeLifeSeconds },
  };
}
