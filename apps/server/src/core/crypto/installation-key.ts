import { createEncryption, type Encryption } from '#core/crypto/encryption';
import {
  findAnyAccount,
  findInstallationKey,
  insertInstallationKey,
  rewrapInstallationKey,
} from '#core/crypto/installation-key.queries';
import { newKey } from '#core/crypto/secrets';
import type { Database } from '#core/db/database';

type Options = {
  database: Database;
  /** ENCRYPTION_KEY, then the one before it. */
  keys: readonly [Buffer, ...Buffer[]];
  now(): Date;
};

/** The keys that were given do not open this installation's own; the message is one line that says what to do. */
export class WrongEncryptionKeyError extends Error {
  override name = 'WrongEncryptionKeyError';
}

const name = 'root';
const place = 'installation_keys.wrapped_key:root';

/**
 * Encryption under the installation's own key, which rests in the database, wrapped by ENCRYPTION_KEY. Where the key before
 * it still wraps it, it is wrapped anew: nothing else has to be written again when ENCRYPTION_KEY changes, and processes
 * that run on keep working.
 * @throws WrongEncryptionKeyError when none of the given keys opens it
 */
export async function openEncryption({ database, keys, now }: Options): Promise<Encryption> {
  const wrapping = createEncryption(keys);
  const db = database.credential();
  const wrapped = await findOrCreate({ database, keys, now }, wrapping);
  const root = unwrap(wrapping, wrapped);
  if (!wrapping.isCurrent(wrapped)) {
    const to = wrapping.encrypt(root.toString('base64'), place);
    await db.slow.all(rewrapInstallationKey({ name, from: wrapped, to, at: now().toISOString() }));
  }
  return createEncryption([root, ...keys.filter((key) => !key.equals(root))]);
}

async function findOrCreate({ database, keys, now }: Options, wrapping: Encryption): Promise<string> {
  const db = database.credential();
  const known = await db.first(findInstallationKey({ name }));
  if (known !== undefined) return known.wrapped_key;
  // Installations from before there was such a key go on with the one that everything is encrypted with.
  const isNew = (await db.first(findAnyAccount({}))) === undefined;
  const wrappedKey = wrapping.encrypt((isNew ? newKey() : keys[0]).toString('base64'), place);
  await db.slow.all(insertInstallationKey({ name, wrappedKey, at: now().toISOString() }));
  return (await db.first(findInstallationKey({ name })))!.wrapped_key;
}

function unwrap(wrapping: Encryption, wrapped: string): Buffer {
  try {
    return Buffer.from(wrapping.decrypt(wrapped, place), 'base64');
  } catch (cause) {
    throw new WrongEncryptionKeyError(
      'ENCRYPTION_KEY does not open what this database holds: set it to the key that the service was started with before, or ' +
        'name that one in ENCRYPTION_KEY_PREVIOUS.',
      { cause },
    );
  }
}
