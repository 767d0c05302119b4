import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { migrationsDirectory } from '#app/service';
import { createEncryption } from '#core/base/crypto/encryption';
import { newId } from '#core/base/crypto/ids';
import { migrate } from '#core/data/db/migrate';
import { WrongEncryptionKeyError } from '#core/data/installation-key/installation-key';
import { createKey, rotateKey, statusOfKey, toIssuedKey } from '#modules/api-keys/testing/keys';
import { createClock } from '#modules/auth/testing/steps';
import { createConnector, credentialsOf } from '#modules/connectors/testing/connectors';
import { enrolTotp, freshCode, logInAgain, twoFactor } from '#modules/two-factor/testing/steps';
import { createDatabase, withClient } from '#test/support/database';
import { createMember, createTenant, logIn } from '#test/support/factories';
import { startService, testServiceOf, type TestService } from '#test/support/harness';

type Keys = [Buffer, ...Buffer[]];
type Running = TestService & { close(): Promise<void> };

const clock = createClock();
const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
let connection: Awaited<ReturnType<typeof createDatabase>>['connection'];

beforeAll(async () => {
  const created = await createDatabase();
  ({ connection } = created);
  return async () => {
    await created.drop();
  };
});

async function startWith(...encryptionKeys: Keys): Promise<Running> {
  const service = await startService({ connection, encryptionKeys, now: clock.now });
  const closed = () => service.close();
  onTestFinished(closed);
  return { ...testServiceOf(service, connection), close: closed };
}

/** Everything that rests encrypted, or hashed with a key of the installation. */
async function createSecrets(test: TestService) {
  const tenant = await createTenant(test);
  const person = await createMember(test, tenant);
  const [key, rotated] = [await createKey(test, tenant.admin), await createKey(test, tenant.admin)];
  const successor = toIssuedKey(await rotateKey(test, tenant, rotated.id, 3600));
  const credentials = { token: 'of the provider' };
  const connector = await createConnector(test, tenant.admin.token, { auth_config: credentials });
  const factor = await enrolTotp(test, clock, person);
  return { tenant, person, factor, keys: [key, rotated, successor], credentials, connector };
}

type Secrets = Awaited<ReturnType<typeof createSecrets>>;

/** What still opens, each thing by its use. */
async function use(test: TestService, { tenant, person, factor, keys, connector }: Secrets) {
  const [withCode, withBackupCode] = [await logInAgain(test, person), await logInAgain(test, person)];
  return {
    keys: await Promise.all(keys.map(({ fullKey }) => statusOfKey(test, fullKey))),
    code: (await twoFactor(test, 'verify', withCode, { method: 'totp', code: freshCode(factor.secret, clock) })).status,
    backupCode: (await twoFactor(test, 'use-backup', withBackupCode, { code: factor.backupCodes.pop()! })).status,
    credentials: await credentialsOf(test, tenant.tenantId, connector['id']),
  };
}

const allOf = ({ credentials }: Secrets) => ({ keys: [200, 200, 200], code: 200, backupCode: 200, credentials });

describe('a change of ENCRYPTION_KEY', () => {
  it('keeps all secrets readable: with both keys, then with the new one only', async () => {
    const before = await startWith(oldKey);
    const secrets = await createSecrets(before);
    expect(await use(before, secrets)).toEqual(allOf(secrets));
    const during = await startWith(newKey, oldKey);
    const made = await createSecrets(during);
    for (const test of [before, during]) {
      expect(await use(test, secrets)).toEqual(allOf(secrets));
      expect(await use(test, made)).toEqual(allOf(made));
    }
    await Promise.all([before.close(), during.close()]);
    const after = await startWith(newKey);
    for (const kept of [secrets, made]) expect(await use(after, kept)).toEqual(allOf(kept));
    await after.close();
    await expect(startService({ connection, encryptionKeys: [oldKey] })).rejects.toBeInstanceOf(
      WrongEncryptionKeyError,
    );
    // As it was, for the tests that follow.
    await (await startWith(oldKey, newKey)).close();
  });

  it('fails no concurrent request', async () => {
    const before = await startWith(oldKey);
    const secrets = await createSecrets(before);
    const failures: unknown[] = [];
    let serving: readonly Running[] = [before];
    let rounds = 0;
    let isOver = false;
    const load = async (at: number) => {
      for (; !isOver; rounds++) {
        const test = serving[(at + rounds) % serving.length]!;
        const { token } = await logIn(test, secrets.tenant.admin);
        const { fullKey } = secrets.keys[0]!;
        const own = await createConnector(test, token, { auth_config: secrets.credentials });
        const seen = {
          key: await statusOfKey(test, fullKey),
          credentials: await credentialsOf(test, secrets.tenant.tenantId, own['id']),
        };
        if (seen.key !== 200 || JSON.stringify(seen.credentials) !== JSON.stringify(secrets.credentials))
          failures.push(seen);
      }
    };
    const running = Array.from({ length: 4 }, (_, at) => load(at));
    const atLeast = async (more: number) => {
      for (const from = rounds; rounds < from + more;) await Promise.race([nextTurn(), ...running]);
    };
    await atLeast(5);
    serving = [before, await startWith(newKey, oldKey)];
    await atLeast(10);
    serving = serving.slice(1);
    await atLeast(5);
    serving = [...serving, await startWith(newKey)];
    await atLeast(10);
    isOver = true;
    await Promise.all(running);
    expect(failures).toEqual([]);
    expect(await use(serving[1]!, secrets)).toEqual(allOf(secrets));
    await (await startWith(oldKey, newKey)).close();
  });

  it('refuses to start with a key that the installation never had, and changes nothing', async () => {
    const stored = () =>
      withClient(connection, async (client) => (await client.query('select * from installation_keys')).rows);
    await (await startWith(oldKey)).close();
    const known = await stored();
    for (const keys of [[randomBytes(32)], [randomBytes(32), newKey]] as Keys[]) {
      await expect(startService({ connection, encryptionKeys: keys })).rejects.toThrow('ENCRYPTION_KEY_PREVIOUS');
    }
    expect(await stored()).toEqual(known);
  });

  it('stores no key in the database in plain text', async () => {
    await (await startWith(oldKey)).close();
    const text = JSON.stringify(
      await withClient(connection, async (client) => (await client.query('select * from installation_keys')).rows),
    );
    for (const key of [oldKey, newKey])
      for (const form of ['hex', 'base64', 'base64url'] as const) expect(text).not.toContain(key.toString(form));
  });
});

describe('an older installation without an installation key', () => {
  it('continues with the key under which everything is encrypted', async () => {
    const { connection: older, drop } = await createDatabase();
    onTestFinished(() => void drop());
    await migrate(older, migrationsDirectory);
    await withClient(older, (client) =>
      client.query(
        `insert into accounts (id, email, created_at, updated_at) values ($1, 'a@older.test', now(), now())`,
        [newId()],
      ),
    );
    const written = createEncryption([oldKey]);
    const sealed = written.encrypt('sealed long ago', 'here');
    for (const encryptionKeys of [[oldKey], [newKey, oldKey], [newKey]] as Keys[]) {
      const service = await startService({ connection: older, encryptionKeys });
      const { encryption } = service.services;
      expect(encryption.decrypt(sealed, 'here')).toBe('sealed long ago');
      expect(encryption.keyFor('hashes')).toEqual(written.keyFor('hashes'));
      await service.close();
    }
  });

  /** Filled by the release before, which encrypted with `keys[0]` of that time. */
  async function fillOlder(written: Buffer) {
    const { connection: at, drop } = await createDatabase();
    onTestFinished(() => void drop());
    await migrate(at, migrationsDirectory);
    const id = newId();
    const sealed = createEncryption([written]).encrypt('a private key', `signing_keys.private_key:${id}`);
    await withClient(at, async (client) => {
      await client.query(
        `insert into accounts (id, email, created_at, updated_at) values ($1, 'a@older.test', now(), now())`,
        [newId()],
      );
      await client.query(
        `insert into signing_keys (id, public_jwk, private_key, created_at) values ($1, '{}', $2, now())`,
        [id, sealed],
      );
    });
    const open = async (...encryptionKeys: Keys) => {
      const service = await startService({ connection: at, encryptionKeys });
      onTestFinished(() => service.close());
      const { encryption } = service.services;
      await service.close();
      return encryption;
    };
    return { at, open };
  }

  it('decrypts values under every key that was configured at the first start, also after its removal', async () => {
    const { open } = await fillOlder(oldKey);
    const before = randomBytes(32);
    const values = [oldKey, before].map((key) => createEncryption([key]).encrypt('sealed long ago', 'here'));
    for (const keys of [[oldKey, before], [oldKey], [newKey, oldKey], [newKey]] as Keys[]) {
      const encryption = await open(...keys);
      expect(values.map((value) => encryption.decrypt(value, 'here'))).toEqual(values.map(() => 'sealed long ago'));
      expect(encryption.keyFor('hashes')).toEqual(createEncryption([oldKey]).keyFor('hashes'));
    }
    await expect(open(oldKey)).rejects.toBeInstanceOf(WrongEncryptionKeyError);
  });

  it('also continues if ENCRYPTION_KEY changes together with the release', async () => {
    const { open } = await fillOlder(oldKey);
    const written = createEncryption([oldKey]);
    const sealed = written.encrypt('sealed long ago', 'here');
    for (const keys of [[newKey, oldKey], [newKey]] as Keys[]) {
      const encryption = await open(...keys);
      expect(encryption.decrypt(sealed, 'here')).toBe('sealed long ago');
      expect(encryption.keyFor('hashes')).toEqual(written.keyFor('hashes'));
    }
  });

  it('refuses to start with a key that encrypted none of its values, and changes nothing', async () => {
    const { at, open } = await fillOlder(oldKey);
    await expect(open(newKey)).rejects.toBeInstanceOf(WrongEncryptionKeyError);
    expect(
      await withClient(at, async (client) => (await client.query('select * from installation_keys')).rows),
    ).toEqual([]);
  });
});
