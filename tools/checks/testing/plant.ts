import { copyFile, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

const repository = path.join(import.meta.dirname, '../../..');
const configurations = ['.oxlintrc.json', '.oxfmtrc.json', '.dependency-cruiser.mjs', 'knip.json', 'tsconfig.json'];
const packages = ['@fastify/cors', 'fastify', 'kysely', 'nodemailer', 'pg', 'pg-protocol', 'undici'];

/** A tree of its own with the configuration of this one, these files, and nothing else. */
export async function plant(files: Record<string, string>): Promise<string> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'atrium-check-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const write = async (file: string, content: string | object) => {
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`;
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), text);
  };
  await Promise.all(configurations.map((file) => copyFile(path.join(repository, file), path.join(root, file))));
  const server = JSON.parse(await readFile(path.join(repository, 'apps/server/package.json'), 'utf8')) as object;
  const imports = 'imports' in server ? server.imports : undefined;
  await write('package.json', { name: 'planted', private: true, workspaces: ['apps/*'], type: 'module' });
  await write('apps/server/package.json', { name: 'planted-server', private: true, type: 'module', imports });
  for (const name of packages) {
    await write(`node_modules/${name}/package.json`, { name, main: 'index.js' });
    await write(`node_modules/${name}/index.js`, 'module.exports = {};\n');
  }
  // Only the types: a link to all of node_modules would let a tool that writes reach the real one.
  await symlink(path.join(repository, 'node_modules/@types'), path.join(root, 'node_modules/@types'));
  for (const [file, text] of Object.entries(files)) await write(file, text);
  return root;
}
