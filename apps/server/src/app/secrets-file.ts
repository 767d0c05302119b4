import { mkdir, open, readFile } from 'node:fs/promises';
import path from 'node:path';

import { newKey } from '#core/crypto/secrets';

type Secrets = { encryptionKey: string };

/** Secrets generated once and kept beside the embedded database, readable by the owner only. */
export async function readOrCreateSecrets(dataDir: string): Promise<Secrets> {
  const file = path.join(dataDir, 'secrets.json');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const existing = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (existing !== undefined) return JSON.parse(existing) as Secrets;
  const secrets: Secrets = { encryptionKey: newKey().toString('base64') };
  // Exclusive creation: of two starts at once one writes, the other fails instead of replacing the key.
  const handle = await open(file, 'wx', 0o600);
  await handle.writeFile(`${JSON.stringify(secrets, null, 2)}\n`);
  await handle.sync();
  await handle.close();
  return secrets;
}
