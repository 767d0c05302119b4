import type { Services } from '#core/services';

/** Where the hash of an account's password rests. */
export const accountPlace = (accountId: string) => `accounts.password_hash:${accountId}`;
/** Where the hash of an app account's password rests. */
export const appAccountPlace = (appAccountId: string) => `app_accounts.password_hash:${appAccountId}`;

/** Password hashes rest encrypted: a stolen dump alone is no material for guessing. */
export async function sealPassword(
  services: Pick<Services, 'encryption' | 'passwords'>,
  place: string,
  password: string,
): Promise<string> {
  return services.encryption.encrypt(await services.passwords.hash(password), place);
}

export function openPasswordHash(
  services: Pick<Services, 'encryption'>,
  place: string,
  stored: string | null,
): string | undefined {
  return stored === null ? undefined : services.encryption.decrypt(stored, place);
}
