import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { files, run, type Gate } from './run.ts';

type Dependency = { resolved: string };
type Cruise = {
  modules: { source: string; dependencies: Dependency[] }[];
  summary: { violations: { from: string; to: string; rule: { name: string }; cycle?: { name: string }[] }[] };
};

const folders = ['apps', 'bench', 'e2e', 'tools'];

/**
 * The imports that `.dependency-cruiser.mjs` forbids, cycles among modules and among folders of core, folders of core
 * without their sentence, and folders that would become heaps.
 * @param minimum how many files there are at least: reading few of them is a failure, not a success.
 */
export function architecture(minimum: number): Gate {
  return {
    name: 'architecture',
    async find(root) {
      const onDisk = await files(root, `{${folders.join(',')}}/**/*.ts`);
      const present = folders.filter((folder) => onDisk.some((file) => file.startsWith(`${folder}/`)));
      const options = ['--config', '.dependency-cruiser.mjs', '--output-type', 'json'];
      const { stdout, all } = await run(root, 'depcruise', [...options, ...present]);
      if (!stdout.startsWith('{')) return [all];
      const cruise = JSON.parse(stdout) as Cruise;
      return [
        ...unread(cruise, onDisk, minimum),
        ...cruise.summary.violations.map(describe),
        ...folderCycles(cruise),
        ...(await withoutSentence(root, onDisk)),
        ...onDisk.filter((file) => heap.test(file)).map((file) => `${file} names no concern: put it where it belongs`),
      ];
    },
  };
}

const heap = /^apps\/server\/(.*\/)?(utils?|helpers?|common|lib)(\/|\.ts$)/;

function unread(cruise: Cruise, onDisk: readonly string[], minimum: number): string[] {
  const read = new Set(cruise.modules.map((module) => module.source));
  const missing = onDisk.filter((file) => !read.has(file));
  if (onDisk.length < minimum) return [`${onDisk.length} files found, but there should be ${minimum} at least`];
  return missing.length === 0 ? [] : [`${missing.length} of ${onDisk.length} files were not read: ${missing[0]}, …`];
}

function describe({ from, to, rule, cycle }: Cruise['summary']['violations'][number]): string {
  const way = cycle === undefined ? to : cycle.map((step) => step.name).join(' -> ');
  return `${rule.name}: ${from} -> ${way}`;
}

/** Modules, or folders of core, that import each other through any of their files; tests may. */
function folderCycles(cruise: Cruise): string[] {
  const needs = new Map<string, Set<string>>();
  for (const { source, dependencies } of cruise.modules) {
    const from = folderOf(source);
    if (from === undefined || source.endsWith('.test.ts')) continue;
    for (const { resolved } of dependencies) {
      const to = folderOf(resolved);
      if (to !== undefined && to !== from) needs.set(from, (needs.get(from) ?? new Set()).add(to));
    }
  }
  return [...needs.keys()]
    .filter((name) => reaches(needs, name))
    .map((name) => `no-folder-cycle: ${name} imports itself through other folders`);
}

function folderOf(file: string): string | undefined {
  return /^apps\/server\/src\/(modules\/[^/]+|core\/http|core\/[^/]+\/[^/]+)\//.exec(file)?.[1];
}

/** Each folder of core says in the one sentence of its README.md what it is for. */
async function withoutSentence(root: string, onDisk: readonly string[]): Promise<string[]> {
  const ofCore = new Set(onDisk.map(folderOf).filter((folder) => folder?.startsWith('core/') === true));
  const found = await Promise.all(
    [...ofCore].map(async (folder) => {
      const file = `apps/server/src/${folder}/README.md`;
      const text = await readFile(path.join(root, file), 'utf8').catch(() => '');
      return /^[A-Z][^\n]+\.\n$/.test(text) ? [] : [`${file} must be one sentence that says what the folder is for`];
    }),
  );
  return found.flat();
}

function reaches(needs: ReadonlyMap<string, ReadonlySet<string>>, goal: string): boolean {
  const seen = new Set<string>();
  const open = [...(needs.get(goal) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === goal) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(needs.get(next) ?? []));
  }
  return false;
}
