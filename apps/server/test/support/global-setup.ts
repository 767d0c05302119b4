import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import type { TestProject } from 'vitest/node';

import { migrationsDirectory } from '#app/service';
import { startEmbeddedPostgres } from '#core/data/db/embedded/index';
import { migrate } from '#core/data/db/migrate';

declare module 'vitest' {
  interface ProvidedContext {
    /** The database that all suites share, as its owner. */
    connection: pg.ClientConfig;
    /** A folder for what the suites store. */
    dataDir: string;
  }
}

/** Starts the same embedded PostgreSQL that a newcomer gets, in a folder of its own and without fsync. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-test-'));
  // Started as root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(dataDir, 0o711);
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false, settings: { max_connections: '200' } });
  await migrate(postgres.connection, migrationsDirectory);
  project.provide('connection', postgres.connection);
  project.provide('dataDir', dataDir);
  return async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}
