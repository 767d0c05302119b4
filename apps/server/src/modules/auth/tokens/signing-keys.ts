import type { JWK } from 'jose';

import { shareRun } from '#core/base/concurrency/coalesce';
import {
  generateSigningKey,
  readSigningKey,
  signAccessToken,
  verifyAccessToken,
  type AccessTokens,
  type SigningKey,
} from '#core/base/crypto/access-tokens';
import type { Encryption } from '#core/base/crypto/encryption';
import { newId } from '#core/base/crypto/ids';
import type { Database } from '#core/data/db/database';
import { insertSigningKey, listSigningKeys } from '#modules/auth/tokens/signing-keys.queries';

type Options = { database: Database; encryption: Encryption; issuer: string; lifetimeSeconds: number; now(): Date };

const day = 86_400_000;
/** A key signs for 90 days and is accepted for one more day, far longer than a token lives. */
const signsMs = 90 * day;
const acceptedMs = signsMs + day;
/** Maximum delay until a new key of another process is known, and minimum pause between lookups of unknown keys. */
const reloadEveryMs = 5000;

type LoadedKey = SigningKey & { createdAt: number };

/** Access tokens, signed with keys that all processes share through the database; the rotation is automatic. */
export function createAccessTokens(options: Options): AccessTokens {
  const { issuer, lifetimeSeconds, now } = options;
  const keys = createKeyRing(options);
  return {
    async issue(claims) {
      const facts = { issuer, lifetimeSeconds, now: now() };
      return { accessToken: await signAccessToken(await keys.signing(), claims, facts), expiresIn: lifetimeSeconds };
    },
    verify: (token, given) => verifyAccessToken(token, keys.public, { ...given, issuer, now: now() }),
    publicKeys: async () => ({ keys: await keys.published() }),
  };
}

function createKeyRing(options: Options) {
  const { database, encryption, now } = options;
  let keys: LoadedKey[] = [];
  let missedAt = 0;
  let publishedAt = 0;

  async function load(): Promise<void> {
    const createdAfter = new Date(now().getTime() - acceptedMs).toISOString();
    const rows = await database.credential().all(listSigningKeys({ createdAfter }));
    keys = rows.map((row) => ({
      ...readSigningKey(row.id, encryption.decrypt(row.private_key, placeOf(row.id)), row.public_jwk as JWK),
      createdAt: Date.parse(row.created_at),
    }));
  }

  const reload = shareRun(load);
  const create = shareRun(async () => {
    await createKey(options);
    // Not `reload`: it may have started before the key existed.
    await load();
  });

  async function signingKey(): Promise<SigningKey> {
    const isUsable = (key: LoadedKey | undefined) => key !== undefined && key.createdAt > now().getTime() - signsMs;
    if (!isUsable(keys[0])) await reload();
    if (!isUsable(keys[0])) await create();
    return keys[0]!;
  }

  async function publicKey(id: string): Promise<JWK | undefined> {
    const find = () => keys.find((key) => key.id === id)?.publicJwk;
    const known = find();
    if (known !== undefined) return known;
    // Another process may have rotated the key; tokens with invented key ids must not cause database load.
    if (now().getTime() - missedAt > reloadEveryMs) {
      missedAt = now().getTime();
      await reload();
    } else await reload.underWay();
    return find();
  }

  async function published(): Promise<JWK[]> {
    if (now().getTime() - publishedAt > reloadEveryMs) {
      publishedAt = now().getTime();
      // Without the database, the known keys are still valid.
      await reload().catch(() => undefined);
    }
    await signingKey();
    return keys.map((key) => key.publicJwk);
  }

  return { signing: signingKey, public: publicKey, published };
}

async function createKey({ database, encryption, now }: Options): Promise<void> {
  const id = newId();
  const { privateKeyPem, publicJwk } = await generateSigningKey(id);
  const privateKey = encryption.encrypt(privateKeyPem, placeOf(id));
  const at = now().toISOString();
  await database.credential().interactive.all(insertSigningKey({ id, publicJwk, privateKey, at }));
}

function placeOf(id: string): string {
  return `signing_keys.private_key:${id}`;
}
