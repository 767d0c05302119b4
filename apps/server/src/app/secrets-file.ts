import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import path from 'node:path';

import { newId } from '#core/crypto/ids';
import { newKey } from '#core/crypto/secrets';

/**
 * The encryption key, generated once and kept beside the embedded database, readable by the owner only.
 * @returns undefined when the file is there but damaged; a new key would open nothing of what is stored.
 */
export async function readOrCreateKey(dataDir: string): Promise<string | undefined> {
  const file = path.join(dataDir, 'secrets.json');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  if (!(await exists(file))) await create(file);
  try {
    const secrets = JSON.parse(await readFile(file, 'utf8')) as { encryptionKey?: string };
    return secrets.encryptionKey;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function exists(file: string): Promise<boolean> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  await handle?.close();
  return handle !== undefined;
}

// Written aside and linked: a crash leaves no half file, and of two starts at once the second takes the first one's key.
async function create(file: string): Promise<void> {
  const draft = `${file}.${newId()}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify({ encryptionKey: newKey().toString('base64') }, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
