import { readFileSync } from 'node:fs';

import { type EmbeddedPostgresError, startEmbeddedPostgres } from '../index.ts';

// Run as a process of its own: starts the server, reports the outcome in one line, and stays until it is killed or told to stop.
const [dataDir = '', andThen = 'stay'] = process.argv.slice(2);
try {
  const server = await startEmbeddedPostgres({ dataDir, durable: false });
  const postmaster = Number(readFileSync(`${dataDir}/postgres/postmaster.pid`, 'utf8').split('\n')[0]);
  console.log(JSON.stringify({ connection: server.connection, postmaster }));
  if (andThen === 'exit') process.exit(0);
  process.stdin.once('data', () => void server.stop().then(() => process.exit(0)));
} catch (error) {
  const { code, message } = error as EmbeddedPostgresError;
  console.log(JSON.stringify({ code, message }));
}
