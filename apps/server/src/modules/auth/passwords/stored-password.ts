import type { Flow } from '#core/base/concurrency/fair-queue';
import type { Services } from '#core/platform/services';

/** Encryption context of the password hash of an account. */
export const accountPlace = (accountId: string) => `accounts.password_hash:${accountId}`;
/** Encryption context of the password hash of an app account. */
export const appAccountPlace = (appAccountId: string) => `app_accounts.password_hash:${appAccountId}`;

/** Password hashes are encrypted at rest, so that a stolen dump alone does not permit offline guesses. */
export async function sealPassword(
  services: Pick<Services, 'encryption' | 'passwords'>,
  place: string,
  password: string,
  flow: Flow,
): Promise<string> {
  return services.encryption.encrypt(await services.passwords.hash(password, flow), place);
}

export function openPasswordHash(
  services: Pick<Services, 'encryption'>,
  place: string,
  stored: string | null,
): string | undefined {
  return stored === null ? undefined : services.encryption.decrypt(stored, place);
}
