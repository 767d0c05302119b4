import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';

import { nextBuild, releaseFiles } from './release.ts';

const read = async () => {
  const root = path.resolve(import.meta.dirname, '..');
  const texts = releaseFiles.map(async (name) => [name, await readFile(path.join(root, name), 'utf8')] as const);
  return Object.fromEntries(await Promise.all(texts)) as Record<string, string>;
};

it('the tree says in one way which release it is, and when it was made', async () => {
  const [root, server, lock] = Object.values(await read()).map((text) => JSON.parse(text));
  expect([server.version, lock.version, lock.packages[''].version, lock.packages['apps/server'].version]).toEqual(
    Array.from({ length: 4 }, () => root.version),
  );
  expect(new Date(server.buildDate).toISOString()).toBe(server.buildDate);
  expect(Date.parse(server.buildDate)).toBeLessThanOrEqual(Date.now());
});

it('the next build has the next number and the date of the day, and changes nothing else', async () => {
  const files = await read();
  const now = new Date('2030-01-02T03:04:05.678Z');
  const next = nextBuild(files, now);
  const [major, minor, build] = JSON.parse(files['package.json']!).version.split('.').map(Number);
  const version = `${major}.${minor}.${build + 1}`;
  const expected = (name: string) => {
    const json = JSON.parse(files[name]!);
    const own = name === 'package-lock.json' ? [json, json.packages[''], json.packages['apps/server']] : [json];
    for (const one of own) one.version = version;
    return name === 'apps/server/package.json' ? { ...json, buildDate: now.toISOString() } : json;
  };
  for (const name of releaseFiles) {
    expect(JSON.parse(next[name]!)).toEqual(expected(name));
    const before = files[name]!.split('\n');
    const changed = next[name]!.split('\n').filter((line, at) => line !== before[at]);
    expect(changed.every((line) => /"(version|buildDate)": /.test(line))).toBe(true);
  }
});
