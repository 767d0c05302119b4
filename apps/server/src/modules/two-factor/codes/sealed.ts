import type { Services } from '#core/platform/services';
import type { MethodRow } from '#modules/two-factor/two-factor.queries';

type Vault = Pick<Services, 'encryption'>;

/** The seed, encrypted together with its backup codes, so that neither can be exchanged before the first code. */
export type SealedSeed = { seed: string; backupCodeHashes: readonly string[] };

const seedPlace = (accountId: string) => `two_factor_methods.secret:${accountId}:totp`;
const targetPlace = (accountId: string, method: string) => `two_factor_methods.delivery_target:${accountId}:${method}`;

export function sealSeed({ encryption }: Vault, accountId: string, content: SealedSeed): string {
  return encryption.encrypt(JSON.stringify(content), seedPlace(accountId));
}

export function openSeed({ encryption }: Vault, accountId: string, { secret }: MethodRow): SealedSeed {
  return JSON.parse(encryption.decrypt(secret!, seedPlace(accountId))) as SealedSeed;
}

export function sealTarget(
  { encryption }: Vault,
  accountId: string,
  { method, target }: { method: string; target: string },
): string {
  return encryption.encrypt(target, targetPlace(accountId, method));
}

export function openTarget({ encryption }: Vault, accountId: string, row: MethodRow): string {
  return encryption.decrypt(row.delivery_target!, targetPlace(accountId, row.method));
}
