import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

type Json = Record<string, unknown>;

/** The files that say which release this is, with the next build in them. Major and minor are changed by hand. */
export function nextBuild(files: Readonly<Record<string, string>>, now: Date): Record<string, string> {
  const parsed = Object.entries(files).map(([name, text]) => [name, JSON.parse(text) as Json] as const);
  const { version: current } = Object.fromEntries(parsed)['apps/server/package.json'] as { version: string };
  const [major, minor, build] = current.split('.').map(Number) as [number, number, number];
  const version = `${major}.${minor}.${build + 1}`;
  for (const [name, json] of parsed) {
    json['version'] = version;
    if (name === 'apps/server/package.json') json['buildDate'] = now.toISOString();
    const packages = json['packages'] as Record<string, Json> | undefined;
    for (const own of ['', 'apps/server']) if (packages?.[own] !== undefined) packages[own]['version'] = version;
  }
  return Object.fromEntries(parsed.map(([name, json]) => [name, `${JSON.stringify(json, null, 2)}\n`]));
}

export const releaseFiles = ['package.json', 'apps/server/package.json', 'package-lock.json'];

async function main(): Promise<void> {
  const root = path.resolve(import.meta.dirname, '..');
  const texts = releaseFiles.map(async (name) => [name, await readFile(path.join(root, name), 'utf8')] as const);
  const next = nextBuild(Object.fromEntries(await Promise.all(texts)), new Date());
  for (const [name, text] of Object.entries(next)) await writeFile(path.join(root, name), text);
  const { version } = JSON.parse(next['package.json']!) as { version: string };
  process.stdout.write(`${version}: commit the result, and build from that commit\n`);
}

if (import.meta.main) await main();
