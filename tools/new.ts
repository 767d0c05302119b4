import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { moduleFiles } from './new/module.ts';
import { namesOf, type Names } from './new/names.ts';
import { operationFiles, operationOf } from './new/operation.ts';
import { recordFiles } from './new/records.ts';
import { migration } from './new/table.ts';

const repository = path.resolve(import.meta.dirname, '..');
const modules = 'apps/server/src/modules';
const migrations = 'apps/server/migrations';
const usage = `npm run new -- module <names>                such as meeting-notes, in the plural
npm run new -- table <module>/<names>         such as meeting-notes/note-links, in the plural
npm run new -- operation <module>/<name>      such as meeting-notes/archiveMeetingNote`;

/** Files by their path below the root, and what remains to be done by hand. */
export type Scaffold = { files: Record<string, string>; steps: string[] };

/** @throws Error that says what to write instead, for a wrong name and before a file would be overwritten */
export function scaffold(root: string, kind: string | undefined, name = ''): Scaffold {
  const made = scaffoldOf(root, kind, name);
  const existing = Object.keys(made.files).filter((file) => existsSync(path.join(root, file)));
  if (existing.length > 0) throw new Error(`${existing.join(', ')} exists already. Choose another name.`);
  return made;
}

function scaffoldOf(root: string, kind: string | undefined, name: string): Scaffold {
  const kebab = '[a-z]+(?:-[a-z]+)*';
  if (kind === 'module' && new RegExp(`^${kebab}s$`).test(name)) return newModule(root, namesOf(name));
  const [, module, item] = new RegExp(`^(${kebab})/(\\S+)$`).exec(name) ?? [];
  if (module === undefined || item === undefined) throw new Error(usage);
  if (!existsSync(path.join(root, modules, module)))
    throw new Error(`There is no module ${module}. Create it: npm run new -- module ${module}`);
  if (kind === 'table' && new RegExp(`^${kebab}s$`).test(item)) return newTable(root, module, namesOf(item));
  if (kind === 'operation' && /^[a-z]+[A-Z][A-Za-z]*$/.test(item)) return newOperation(root, item, namesOf(module));
  throw new Error(usage);
}

const lastSteps = (test: string, ...suites: string[]) => [
  `npx vitest run ${test}`,
  'npm run gen && npm run check',
  ['npm test -- access-matrix isolation bad-input test/contract rls-catalog audit-logs.trail', ...suites].join(' '),
];

function newModule(root: string, names: Names): Scaffold {
  const { kebab, camels, pascal, plural } = names;
  const folder = `${modules}/${kebab}`;
  return {
    files: { ...below(folder, moduleFiles(names)), ...newMigration(root, names) },
    steps: [
      `apps/server/src/app/modules.ts: import ${camels}Module from '#modules/${kebab}/index' and add it to the list`,
      `apps/server/test/access-matrix.ts: add create${pascal}, get${pascal} and list${plural}: anyMember, or the row that fits their access`,
      `${folder}: replace the column "name" by what the module keeps, in the migration, queries, schemas and samples`,
      ...lastSteps(`${folder}/${kebab}.test.ts`),
    ],
  };
}

function newTable(root: string, module: string, names: Names): Scaffold {
  const { kebab, camel, pascal, plural, snake } = names;
  const folder = `${modules}/${module}`;
  const url = `'/api/v1/secure/${kebab}'`;
  const success = `{ method: 'POST', url: ${url}, status: 201, body: { name: 'canary' }, resourceType: '${snake}' }`;
  return {
    files: { ...below(folder, recordFiles(names, module)), ...newMigration(root, names) },
    steps: [
      `${folder}/index.ts: add ...${camel}Routes to the routes`,
      `${folder}/testing/samples.ts: add to "bodies": create${pascal}: () => ({ name: 'Sample' })`,
      `${folder}/testing/samples.ts: add to "ids": 'get${pascal} params.id': '${camel}'`,
      `${folder}/testing/samples.ts: add to "records": const ${camel} = await create(${url}, { name: secret }), and return it`,
      `${successesIn(root, folder)}: add create${pascal}: () => Promise.resolve(${success})`,
      `apps/server/test/access-matrix.ts: add create${pascal}, get${pascal} and list${plural}: anyMember, or the row that fits their access`,
      `${folder}/${kebab}.*.ts and the migration: replace the column "name" by what the table keeps; delete operations without a use`,
      ...lastSteps(`${folder}/${kebab}.test.ts`, 'tenants/purge'),
    ],
  };
}

function newOperation(root: string, id: string, names: Names): Scaffold {
  const operation = operationOf(id, names);
  const folder = `${modules}/${names.kebab}`;
  const errors = path.join(root, folder, `${names.kebab}.errors.ts`);
  const hasOwnError = existsSync(errors) && readFileSync(errors, 'utf8').includes(`${names.pascal}NotFound =`);
  const url = operation.path.replace('{id}', '${resourceId}');
  const success = `{ method: 'POST', url: \`${url}\`, status: 200, resourceType: '${names.snake}', resourceId }`;
  return {
    files: below(folder, operationFiles(operation, names, hasOwnError)),
    steps: [
      `${folder}/index.ts: add ...${id}Routes to the routes`,
      `${folder}/testing/samples.ts: add to "ids": '${id} params.id': '${names.camel}'`,
      `${successesIn(root, folder)}: add ${id}, which creates a record and resolves to ${success}`,
      `apps/server/test/access-matrix.ts: add ${id}: anyMember, or the row that fits its access`,
      `${folder}/${operation.kebab}.*.ts: write what the operation does, and who may call it`,
      ...lastSteps(`${folder}/${operation.kebab}.test.ts`),
    ],
  };
}

/** Modules with many of them keep them in a file of their own. */
function successesIn(root: string, folder: string): string {
  const file = `${folder}/testing/successes.ts`;
  return existsSync(path.join(root, file)) ? file : `${folder}/testing/samples.ts, "successes"`;
}

function newMigration(root: string, names: Names): Record<string, string> {
  const number = readdirSync(path.join(root, migrations)).filter((name) => name.endsWith('.sql')).length + 1;
  return { [`${migrations}/${String(number).padStart(4, '0')}-${names.kebab}.sql`]: migration(names) };
}

function below(folder: string, files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([file, text]) => [`${folder}/${file}`, text]));
}

/** Writes the files and formats them. */
export function write(root: string, files: Record<string, string>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  const code = Object.keys(files).filter((file) => file.endsWith('.ts'));
  execFileSync(path.join(repository, 'node_modules/.bin/oxfmt'), code, { cwd: root });
}

if (process.argv[1] === import.meta.filename) {
  try {
    const { files, steps } = scaffold(repository, process.argv[2], process.argv[3]);
    write(repository, files);
    console.log(['Written:', ...Object.keys(files).map((file) => `  ${file}`), '', 'Next:'].join('\n'));
    console.log(steps.map((step, at) => `  ${at + 1}. ${step}`).join('\n'));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
