import { ConfigError, type Config } from '#app/config';
import { EmbeddedPostgresError } from '#core/data/db/embedded/index';
import { MigrationError } from '#core/data/db/migrate';
import { isUnavailable } from '#core/data/db/sql-state';
import { WrongEncryptionKeyError } from '#core/data/installation-key/installation-key';

/** A start that cannot succeed; the message is one line with the remedy. */
export class StartError extends Error {
  override name = 'StartError';
}

/** The error of listening, in terms of the settings if they are the cause. */
export function listenError(error: unknown, config: Config): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new StartError(
      `Port ${config.PORT} on ${config.HOST} is already in use. Stop the other process or set another PORT.`,
    );
  if (code === 'EACCES')
    return new StartError(
      `Port ${config.PORT} requires more privileges than this user has. Set PORT to 1024 or above.`,
    );
  if (code === 'EADDRNOTAVAIL')
    return new StartError(`HOST ${config.HOST} is not an address of this machine. Set HOST to a local address.`);
  return error as Error;
}

/** One line for every foreseeable failure, the stack for all others. */
export function startFailure(error: unknown): string {
  const foreseen = [ConfigError, StartError, MigrationError, EmbeddedPostgresError, WrongEncryptionKeyError].some(
    (type) => error instanceof type,
  );
  if (foreseen) return (error as Error).message;
  const { code, message } = error as NodeJS.ErrnoException;
  if (isUnavailable(error) || /^(28|3D)/.test(code ?? '')) {
    return `Cannot use the database of DATABASE_URL or DATABASE_DIRECT_URL: ${message}`;
  }
  return (error as Error).stack ?? String(error);
}

/** Prints on one line why this process cannot continue, and ends it. */
export function endWith(error: unknown): never {
  process.stderr.write(`atrium: ${startFailure(error)}\n`);
  process.exit(1);
}
