import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';

import type { EmbeddedPostgresError } from './index.ts';
import { supervise } from './supervisor.ts';
import { newFolder, until } from './testing/harness.ts';

vi.setConfig({ testTimeout: 120_000 });

/** A server that starts at once, unless the file `full` lies in its folder: then it ends as PostgreSQL does. */
const program = `#!/bin/sh
if [ -e "$2/full" ]; then
  echo 'FATAL:  could not create lock file "postmaster.pid": No space left on device' >&2
  exit 1
fi
printf '%s\\n%s\\n1\\n5432\\n\\n\\n\\nready\\n' $$ "$2" > "$2/postmaster.pid"
exec sleep 1000
`;

it('never gives up a server that finds no room on the disk, and has it back once there is some', async () => {
  const dir = newFolder();
  mkdirSync(join(dir, 'pg_wal'));
  writeFileSync(join(dir, 'postgresql.auto.conf'), '');
  const postgres = join(newFolder(), 'postgres');
  writeFileSync(postgres, program, { mode: 0o755 });
  const pidFile = join(dir, 'postmaster.pid');
  const lines: string[] = [];
  const onFatal = vi.fn<(error: EmbeddedPostgresError) => void>();
  const onLine = (line: string) => void lines.push(line);
  const cluster = { dir, user: undefined };
  const stop = await supervise({ postgres, cluster, settings: {}, pidFiles: [pidFile], onLine, onFatal });
  onTestFinished(stop);

  writeFileSync(join(dir, 'full'), '');
  process.kill(Number.parseInt(readFileSync(pidFile, 'utf8'), 10), 'SIGKILL');
  rmSync(pidFile);
  // More often than any other server is started again.
  await until(() => lines.filter((line) => line.startsWith('FATAL')).length > 5);
  expect(onFatal).not.toHaveBeenCalled();
  rmSync(join(dir, 'full'));
  await until(() => existsSync(pidFile));
  expect(onFatal).not.toHaveBeenCalled();
});
