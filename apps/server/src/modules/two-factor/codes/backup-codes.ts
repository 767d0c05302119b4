import { keyedHash, newBytes } from '#core/base/crypto/secrets';
import type { Transaction } from '#core/data/db/scopes';
import type { Services } from '#core/platform/services';
import { consumeBackupCode, deleteBackupCodes, insertBackupCodes } from '#modules/two-factor/two-factor.queries';
import { backupCodeCount, readBackupCode, writeBackupCode } from '#modules/two-factor/two-factor.rules';

const codeBytes = 5;
const purpose = 'two-factor-backup-codes';

type Hashing = Pick<Services, 'encryption'>;

/** A new set: the codes to show, and their stored form. */
export function newBackupCodes({ encryption }: Hashing, accountId: string): { codes: string[]; hashes: string[] } {
  const codes = new Set<string>();
  while (codes.size < backupCodeCount) codes.add(writeBackupCode(newBytes(codeBytes)));
  const key = encryption.keyFor(purpose);
  return { codes: [...codes], hashes: [...codes].map((code) => keyedHash(key, `${accountId}:${code}`)) };
}

/** A new set invalidates the previous one. */
export async function replaceBackupCodes(
  tx: Transaction,
  set: { accountId: string; hashes: readonly string[]; at: string },
): Promise<void> {
  const { accountId, hashes: codeHashes, at } = set;
  await tx.all(deleteBackupCodes({ accountId }));
  await tx.all(insertBackupCodes({ accountId, codeHashes, at }));
}

/** Consumes the code if it belongs to the account. */
export async function useBackupCode(
  { encryption }: Hashing,
  tx: Transaction,
  { accountId, code, at }: { accountId: string; code: string; at: string },
): Promise<boolean> {
  const known = readBackupCode(code);
  if (known === undefined) return false;
  const codeHash = keyedHash(encryption.keyFor(purpose), `${accountId}:${known}`);
  return (await tx.first(consumeBackupCode({ accountId, codeHash, at }))) !== undefined;
}
