import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { files, type Gate } from './run.ts';

const folder = 'apps/server/migrations';

export type Migration = { name: string; text: string };

export async function readMigrations(root: string): Promise<Migration[]> {
  const names = await files(root, `${folder}/*.sql`);
  const read = async (file: string) => ({
    name: path.basename(file),
    text: await readFile(path.join(root, file), 'utf8'),
  });
  return Promise.all(names.map(read));
}

/** Rules about the text of migrations. `apps/server/test/rls-catalog.ts` reads from the catalog what they result in. */
export const migrations: Gate = {
  name: 'migrations',
  find: async (root) => findInMigrations(await readMigrations(root)),
};

export function findInMigrations(list: readonly Migration[]): string[] {
  if (list.length === 0) return [`${folder} holds no migration`];
  return list.flatMap((migration, at) => [...nameProblems(migration, at + 1), ...textProblems(migration)]);
}

function nameProblems({ name }: Migration, number: number): string[] {
  const wanted = String(number).padStart(4, '0');
  const fits = /^\d{4}(-[a-z0-9]+)+\.sql$/.test(name) && name.startsWith(`${wanted}-`);
  return fits ? [] : [`${name}: call it ${wanted}-what-it-does.sql`];
}

const refused: [RegExp, string][] = [
  [/\bmerge\s+into\b/i, 'no MERGE: a distributed database does not support it'],
  [/\bset_config\s*\(/i, 'no set_config(): it does not reach the workers of a distributed database'],
  [/\bset\s+(session\s+)?app\./i, 'the tenant is SET LOCAL, or it leaks through a pooler'],
  [/\bon\s+all\s+\w+\s+in\s+schema\b|\balter\s+default\s+privileges\b/i, 'grants name one table each'],
  [
    /^alter\s+table\b[^;]*\badd\b[^;]*,\s*add\b[^;]*\bforeign\s+key\b|^alter\s+table\b[^;]*\badd\s+column\b[^;]*\breferences\b/im,
    'a column and its foreign key are two statements: a distributed database takes no other form',
  ],
  [
    /(?<!^--.*\n)^(drop|alter\b[^;]*\bdrop)\b/im,
    'a comment directly before a DROP says why no reader needs it any more',
  ],
];

function textProblems({ name, text }: Migration): string[] {
  return refused.flatMap(([pattern, message]) => {
    // Comments stay in place as empty comments, so that lines keep their numbers.
    const bare = text.replaceAll(/^--.*$/gm, '--');
    const match = pattern.exec(bare);
    return match === null ? [] : [`${name}:${bare.slice(0, match.index).split('\n').length}: ${message}`];
  });
}
