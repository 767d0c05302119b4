import type { Services } from '#core/platform/services';
import { findPushKeys, insertPushKeys, type PushKeysRow } from '#modules/notifications/push/push.queries';
import { newPushKeys, type PushKeys } from '#modules/notifications/push/web-push';

type Vault = Pick<Services, 'database' | 'encryption' | 'now'>;

const name = 'vapid';

/** The VAPID keys of the installation; created once, because subscriptions depend on them. */
export async function findOrCreatePushKeys(vault: Vault): Promise<PushKeys> {
  const { database, encryption, now } = vault;
  const db = database.platform();
  const known = await db.first(findPushKeys({ name }));
  if (known !== undefined) return open(vault, known);
  const { publicKey, privateKey } = newPushKeys();
  const row = {
    name,
    public_key: publicKey,
    sealed_private_key: encryption.encrypt(privateKey, place),
    created_at: now().toISOString(),
  };
  await db.interactive.all(insertPushKeys(row));
  // If several processes created keys, the first stored ones apply.
  return open(vault, (await db.interactive.first(findPushKeys({ name })))!);
}

const place = `push_keys.sealed_private_key:${name}`;

function open({ encryption }: Vault, row: PushKeysRow): PushKeys {
  return { publicKey: row.public_key, privateKey: encryption.decrypt(row.sealed_private_key, place) };
}
