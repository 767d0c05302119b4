import { describe, expect, it } from 'vitest';

import { quoteList } from './endpoint.ts';
import { lastComplaint, programError, systemError } from './errors.ts';
import { parsePidFile } from './postmaster.ts';
import { isPostmasterOf, parsePasswd, parseStart, processStart, servesCluster } from './processes.ts';

describe('parsePidFile', () => {
  const text = '4711\n/data/postgres\n1700000000\n5432\n/data/postgres\n\n  1234567         1\nready   \n';

  it('reads process id and readiness', () => {
    expect(parsePidFile(text)).toEqual({ pid: 4711, ready: true });
    expect(parsePidFile(text.replace('ready   ', 'starting'))).toEqual({ pid: 4711, ready: false });
  });

  it('takes half written, empty and single-user files for what they are', () => {
    expect(parsePidFile('4711\n/data')).toEqual({ pid: 4711, ready: false });
    expect(parsePidFile('')).toBeUndefined();
    expect(parsePidFile('-4711\n/data/postgres\n')).toBeUndefined();
    expect(parsePidFile('garbage')).toBeUndefined();
  });
});

describe('parsePasswd', () => {
  it('skips comments and broken lines', () => {
    expect(parsePasswd('# users\nroot:x:0:0:root:/root:/bin/sh\n\nbroken\nguest:*:-2:-2::/:/bin/false')).toEqual([
      { name: 'root', uid: 0, gid: 0 },
      { name: 'guest', uid: -2, gid: -2 },
    ]);
  });
});

describe('process identity', () => {
  it('reads the start time for any name, and undefined for a zombie', () => {
    const fields = Array.from({ length: 40 }, (_, index) => String(index + 4)).join(' ');
    expect(parseStart(`12 (a b) c) S ${fields}`)).toBe('22');
    expect(parseStart(`12 (node) Z ${fields}`)).toBeUndefined();
    expect(parseStart('')).toBeUndefined();
  });

  it('tells the living from the dead', () => {
    expect(processStart(process.pid)).toBe(processStart(process.pid));
    expect(processStart(process.pid)).toBeTypeOf('string');
    expect(processStart(2 ** 30)).toBeUndefined();
    expect(servesCluster(process.pid, '/data')).toBe(false);
  });

  it('recognises the server of exactly this folder', () => {
    expect(isPostmasterOf('/opt/my pg/bin/postgres -D /data/a b -c fsync=off', '/data/a b')).toBe(true);
    expect(isPostmasterOf('/usr/bin/postgres -D /data/a', '/data/a')).toBe(true);
    expect(isPostmasterOf('/usr/bin/postgres -D /data/ab', '/data/a')).toBe(false);
    expect(isPostmasterOf('vi -D /data/a', '/data/a')).toBe(false);
    expect(isPostmasterOf('postgres: checkpointer ')).toBe(false);
  });
});

describe('errors', () => {
  it('finds the last complaint', () => {
    expect(lastComplaint(['2026-01-01 00:00:00.000 UTC [1] FATAL:  no such thing', 'HINT: none'])).toBe(
      'no such thing',
    );
    expect(lastComplaint(['initdb: error: could not x'])).toBe('could not x');
    expect(lastComplaint(['just this', ''])).toBe('just this');
    expect(lastComplaint([])).toBe('no message');
  });

  it('tells a full disk, a read-only one and missing permissions apart from the rest', () => {
    const full = programError('INIT_FAILED', '/data', ['PANIC:  could not write to file "x": No space left on device']);
    const torn = ['FATAL:  wrote only 4096 of 8192 bytes', 'HINT:  Check free disk space.', 'PANIC:  cannot abort'];
    expect(programError('INIT_FAILED', '/data', torn).message).toBe(full.message);
    expect(full).toMatchObject({ code: 'DATA_DIR_UNUSABLE', message: expect.stringMatching(/\/data .*full disk/) });
    expect(systemError('/data', Object.assign(new Error('EROFS: read-only file system, mkdir'))).message).toMatch(
      /read-only/,
    );
    expect(systemError('/data', new Error('EACCES: permission denied')).message).toMatch(/chown/);
    expect(programError('START_FAILED', '/data', ['FATAL:  bad setting'])).toMatchObject({
      code: 'START_FAILED',
      message: expect.stringContaining('bad setting'),
    });
    expect(systemError('/data', full)).toBe(full);
  });
});

describe('quoteList', () => {
  it('keeps commas and quotes inside one item', () => {
    expect(quoteList('/a, "b"')).toBe('"/a, ""b"""');
  });
});
