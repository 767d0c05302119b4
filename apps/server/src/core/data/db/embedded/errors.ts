export type EmbeddedPostgresErrorCode =
  | 'DATA_DIR_IN_USE'
  | 'DATA_DIR_UNUSABLE'
  | 'BINARIES_MISSING'
  | 'INIT_FAILED'
  | 'START_FAILED'
  | 'VERSION_MISMATCH';

/** Why the embedded PostgreSQL does not run; the message is one line for the operator: which folder, what to do next. */
export class EmbeddedPostgresError extends Error {
  readonly code: EmbeddedPostgresErrorCode;

  constructor(code: EmbeddedPostgresErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'EmbeddedPostgresError';
    this.code = code;
  }
}

const fullDisk = /ENOSPC|EDQUOT|No space left on device|Disk quota exceeded|Check free disk space|is on a full disk/;

/** Whether a line of the server, or of its supervisor, blames a full disk. */
export function isOutOfRoom(line: string): boolean {
  return fullDisk.test(line);
}

const obstacles: [RegExp, string][] = [
  [fullDisk, 'is on a full disk: free some space and start again'],
  [/EROFS|Read-only file system/, 'is on a read-only file system: mount it writable or choose another DATA_DIR'],
  [
    /EACCES|EPERM|Permission denied|Operation not permitted/,
    'may not be used by this user: chown it to the user that runs Atrium or choose another DATA_DIR',
  ],
  [/ENOTDIR|EEXIST|Not a directory/, 'is not a folder: remove the file there or choose another DATA_DIR'],
];

function findObstacle(folder: string, text: string, cause?: unknown): EmbeddedPostgresError | undefined {
  const obstacle = obstacles.find(([pattern]) => pattern.test(text));
  return obstacle && new EmbeddedPostgresError('DATA_DIR_UNUSABLE', `The data folder ${folder} ${obstacle[1]}.`, cause);
}

/** The error for a program that failed in `folder`, told from the last lines it wrote. */
export function programError(
  code: 'INIT_FAILED' | 'START_FAILED',
  folder: string,
  lines: readonly string[],
): EmbeddedPostgresError {
  const reason = lastComplaint(lines);
  const what = code === 'INIT_FAILED' ? 'create its database' : 'start';
  const obstacle = findObstacle(folder, lines.join('\n'));
  if (obstacle !== undefined) return obstacle;
  const advice = /could not look up effective user ID/.test(reason)
    ? 'run Atrium as a user that has an entry in /etc/passwd'
    : 'put that right and start again, or choose another DATA_DIR';
  return new EmbeddedPostgresError(code, `PostgreSQL could not ${what} in ${folder} (${reason}): ${advice}.`);
}

/** The error for a file system call that failed in `folder`; our own errors pass unchanged. */
export function systemError(folder: string, error: unknown): EmbeddedPostgresError {
  if (error instanceof EmbeddedPostgresError) return error;
  const [text = ''] = String(error instanceof Error ? error.message : error).split('\n');
  return (
    findObstacle(folder, text, error) ??
    new EmbeddedPostgresError(
      'START_FAILED',
      `PostgreSQL could not start in ${folder} (${text}): put that right and start again.`,
      error,
    )
  );
}

const complaint = /\b(FATAL|PANIC|ERROR|error):\s+/;

/** The last error of PostgreSQL or initdb, without time stamp and severity. */
export function lastComplaint(lines: readonly string[]): string {
  const line =
    lines.findLast((candidate) => complaint.test(candidate)) ?? lines.findLast((candidate) => candidate.trim() !== '');
  return line === undefined
    ? 'no message'
    : line
        .slice(line.search(complaint) === -1 ? 0 : line.search(complaint))
        .replace(complaint, '')
        .trim();
}
