import { createEncryption, keyIdOf, type Encryption } from '#core/base/crypto/encryption';
import { newKey } from '#core/base/crypto/secrets';
import type { Database } from '#core/data/db/database';
import {
  findAnyAccount,
  insertInstallationKey,
  listInstallationKeys,
  listSealingKeys,
  rewrapInstallationKey,
  type WrappedKey,
} from '#core/data/installation-key/installation-key.queries';

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

const root = 'root';

/**
 * Encryption under the installation's own key, which rests in the database, wrapped by ENCRYPTION_KEY. Where the key before
 * it still wraps it, it is wrapped again: nothing else has to be written again when ENCRYPTION_KEY changes, and processes
 * that run on keep working.
 * @throws WrongEncryptionKeyError when none of the given keys opens it
 */
export async function openEncryption(options: Options): Promise<Encryption> {
  const { database, keys, now } = options;
  const wrapping = createEncryption(keys);
  const stored = await findOrCreate(options, wrapping);
  const opened = stored.map((row) => ({ ...row, key: unwrap(wrapping, row) }));
  const at = now().toISOString();
  const outdated = opened.filter((row) => !wrapping.isCurrent(row.wrapped_key));
  if (outdated.length > 0) {
    const renewed = outdated.map((row) => ({ name: row.name, from: row.wrapped_key, to: wrap(wrapping, row), at }));
    await database.credential().interactive.batch(renewed.map((each) => rewrapInstallationKey(each)));
  }
  const first = opened.find(({ name }) => name === root)!.key;
  const others = [...opened.map(({ key }) => key), ...keys].filter((key) => !key.equals(first));
  return createEncryption([first, ...others]);
}

async function findOrCreate(options: Options, wrapping: Encryption): Promise<WrappedKey[]> {
  const { database, now } = options;
  const db = database.credential();
  const known = await db.all(listInstallationKeys({}));
  if (known.length > 0) return known;
  const isNew = (await db.first(findAnyAccount({}))) === undefined;
  const created = isNew ? [{ name: root, key: newKey() }] : await keysInUse(options);
  const at = now().toISOString();
  const rows = created.map((each) => ({ name: each.name, wrappedKey: wrap(wrapping, each), at }));
  await db.interactive.batch(rows.map((row) => insertInstallationKey(row)));
  return db.all(listInstallationKeys({}));
}

/**
 * An installation with data but without this key continues with the key that encrypted its data, which may be another one than the
 * first of ENCRYPTION_KEY. The others are kept, because values may be encrypted under them as well.
 */
async function keysInUse({ database, keys }: Options): Promise<{ name: string; key: Buffer }[]> {
  const sealing = (await database.credential().interactive.all(listSealingKeys({}))).map((row) => row.key_id);
  const first = sealing.length === 0 ? keys[0] : keys.find((key) => sealing.includes(keyIdOf(key)));
  if (first === undefined) throw wrongKey();
  const older = keys.filter((key) => !key.equals(first));
  return [{ name: root, key: first }, ...older.map((key, at) => ({ name: `older-${at + 1}`, key }))];
}

function wrap(wrapping: Encryption, { name, key }: { name: string; key: Buffer }): string {
  return wrapping.encrypt(key.toString('base64'), placeOf(name));
}

function unwrap(wrapping: Encryption, { name, wrapped_key: wrapped }: WrappedKey): Buffer {
  try {
    return Buffer.from(wrapping.decrypt(wrapped, placeOf(name)), 'base64');
  } catch (cause) {
    throw wrongKey(cause);
  }
}

function wrongKey(cause?: unknown): WrongEncryptionKeyError {
  return new WrongEncryptionKeyError(
    'ENCRYPTION_KEY does not open what this database holds: set it to the key that the service was started with before, or ' +
      'name that one in ENCRYPTION_KEY_PREVIOUS.',
    { cause },
  );
}

function placeOf(name: string): string {
  return `installation_keys.wrapped_key:${name}`;
}
