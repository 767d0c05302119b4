import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import path from 'node:path';

import { newId } from '#core/base/crypto/ids';
import { newKey } from '#core/base/crypto/secrets';

/**
 * The encryption key, generated once and stored next to the embedded database, readable only by the owner.
 * @returns undefined if the file is damaged; a new key could not open stored values.
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

// Written to a draft and linked: a crash leaves no partial file, and the second of two concurrent starts uses the first key.
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
