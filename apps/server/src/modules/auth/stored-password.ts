import type { Services } from '#core/services';

/** Password hashes rest encrypted: a stolen dump alone is no material for guessing. */
export async function sealPassword(
  services: Pick<Services, 'encryption' | 'passwords'>,
  accountId: string,
  password: string,
): Promise<string> {
  return services.encryption.encrypt(await services.passwords.hash(password), placeOf(accountId));
}

export function openPasswordHash(
  services: Pick<Services, 'encryption'>,
  accountId: string,
  stored: string | null,
): string | undefined {
  return stored === null ? undefined : services.encryption.decrypt(stored, placeOf(accountId));
}

function placeOf(accountId: string): string {
  return `accounts.password_hash:${accountId}`;
}
