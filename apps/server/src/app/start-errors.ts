import { ConfigError, type Config } from '#app/config';
import { WrongEncryptionKeyError } from '#core/crypto/installation-key';
import { EmbeddedPostgresError } from '#core/db/embedded/index';
import { MigrationError } from '#core/db/migrate';
import { isUnavailable } from '#core/db/sql-state';

/** A start that cannot succeed; the message is one line that says what to do. */
export class StartError extends Error {
  override name = 'StartError';
}

/** What went wrong with listening, in words of the settings where they are the reason. */
export function listenError(error: unknown, config: Config): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new StartError(`Port ${config.PORT} on ${config.HOST} is taken: stop what uses it or set PORT to another.`);
  if (code === 'EACCES')
    return new StartError(`Port ${config.PORT} needs more rights than this user has: set PORT to 1024 or above.`);
  if (code === 'EADDRNOTAVAIL') return new StartError(`HOST ${config.HOST} is no address of this machine.`);
  return error as Error;
}

/** One line for every foreseeable failure, the stack of any other. */
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

/** Says on one line why this process cannot go on. */
export function endWith(error: unknown): never {
  process.stderr.write(`atrium: ${startFailure(error)}\n`);
  process.exit(1);
}
