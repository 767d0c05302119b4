import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';

import { migrations, readMigrations } from './checks/migrations.ts';
import { scaffold, write } from './new.ts';

// It compiles a copy of the service.
vi.setConfig({ testTimeout: 120_000 });

const repository = path.resolve(import.meta.dirname, '..');

/** A copy of what scaffolds are written into. */
function copy(): string {
  const root = mkdtempSync(path.join(tmpdir(), 'atrium-new-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const name of ['src', 'test', 'migrations', 'package.json'])
    cpSync(path.join(repository, 'apps/server', name), path.join(root, 'apps/server', name), { recursive: true });
  for (const name of ['tsconfig.json', '.oxfmtrc.json', '.oxlintrc.json', 'package.json'])
    cpSync(path.join(repository, name), path.join(root, name));
  for (const name of ['node_modules', 'apps/server/node_modules'])
    if (existsSync(path.join(repository, name))) symlinkSync(path.join(repository, name), path.join(root, name));
  return root;
}

/** What the tool finds. */
function findings(root: string, tool: string, ...parameters: string[]): string {
  const { status, stdout } = spawnSync(path.join(repository, 'node_modules/.bin', tool), parameters, { cwd: root });
  return status === 0 ? '' : stdout.toString();
}

it('a module, its operation and its table are typed, formatted and free of findings as they are written', async () => {
  const root = copy();
  const scaffolds = [
    ['module', 'meeting-notes'],
    ['operation', 'meeting-notes/archiveMeetingNote'],
    ['table', 'meeting-notes/note-entries'],
    // A module without an error of its own for an unknown id.
    ['operation', 'mcp/restartMcp'],
  ] as const;
  const written = scaffolds.map(([kind, name]) => {
    const made = scaffold(root, kind, name);
    write(root, made.files);
    return made;
  });
  const files = written.flatMap((made) => Object.keys(made.files));
  const code = files.filter((file) => file.endsWith('.ts'));
  expect(files.filter((file) => !code.includes(file)).map((file) => path.basename(file))).toEqual([
    expect.stringMatching(/^\d{4}-meeting-notes\.sql$/),
    expect.stringMatching(/^\d{4}-note-entries\.sql$/),
  ]);
  expect(code).toHaveLength(24);
  writeFileSync(
    path.join(root, 'written.json'),
    JSON.stringify({
      extends: './tsconfig.json',
      include: [],
      files: [...code, 'apps/server/test/support/global-setup.ts'],
    }),
  );
  expect(findings(root, 'tsc', '-p', 'written.json')).toBe('');
  expect(findings(root, 'oxfmt', '--check', ...code)).toBe('');
  expect(findings(root, 'oxlint', '--deny-warnings', ...code)).toBe('');
  expect(await migrations.find(root)).toEqual([]);
  expect((await readMigrations(root)).at(-1)!.text).toContain("app_protect_tenant_tables('note_entries')");
  for (const { steps } of written) expect(steps.join('\n')).toContain('npm run check');
  // Nothing is overwritten.
  expect(() => scaffold(root, 'module', 'meeting-notes')).toThrow('exists already');
});

it.each([
  ['module', 'meetingNotes', 'npm run new -- module'],
  ['module', '../notes', 'npm run new -- module'],
  ['operation', 'tags', 'npm run new -- operation'],
  ['operation', 'tags/archive-tag', 'npm run new -- operation'],
  ['operation', 'nothing/archiveNothing', 'There is no module nothing. Create it: npm run new -- module nothing'],
  ['table', 'tags/Tag', 'npm run new -- table'],
  ['page', 'tags/tags', 'npm run new -- module'],
])('%s %s is refused with what to write instead', (kind, name, told) => {
  expect(() => scaffold(repository, kind, name)).toThrow(told);
});

it('every module of the service is one that a table or an operation can be added to', () => {
  const names = readdirSync(path.join(repository, 'apps/server/src/modules'));
  for (const name of names) expect(scaffold(repository, 'operation', `${name}/tryThis`).steps).not.toEqual([]);
});
