import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { newId } from '#core/base/crypto/ids';
import { ObjectMissing } from '#core/data/files/object-store';
import { archiveDays } from '#modules/logs/archiving.service';
import { keepLogs } from '#modules/logs/logs.jobs';
import { withClient } from '#test/support/database';
import { logInSystemAdmin, unique } from '#test/support/factories';
import { expectError, useService } from '#test/support/harness';
import { plantLogLines } from '#test/support/log-lines';

const test = useService({ ownDatabase: true });
const dayMs = 24 * 60 * 60_000;
const base = '/api/v1/system/logs';
const { signal } = new AbortController();
let token: string;
let location: string;
/** Each test uses a separate day in the past. */
let day = Date.parse('2021-01-01T00:00:00Z');

beforeAll(async () => {
  ({ token } = await logInSystemAdmin(test));
});
beforeEach(async () => {
  day += 10 * dayMs;
  location = `tests/${unique('logs')}`;
  await configure({ archiveEnabled: true, archiveLocation: location });
  for (const { name } of await archives()) await test.call('DELETE', `${base}/archives/${name}`, { token });
});

const configure = async (cleanup: object) => {
  const answer = await test.call('PATCH', `${base}/config`, { token, body: { cleanup } });
  expect(answer).toMatchObject({ status: 200 });
};
const services = () => test.service.services;
const clean = (given = services()) => keepLogs(given, { connection: test.connection, signal });
const archives = async () => (await test.call('GET', `${base}/archives?limit=200`, { token })).body.data;
const nameOf = (at: number, part = '') => `logs-${new Date(at).toISOString().slice(0, 10)}${part}.ndjson.gz`;
const search = (name: string, query = '') => test.call('GET', `${base}/archives/${name}/lines${query}`, { token });
const messagesOf = async (name: string, query = '') =>
  (await search(name, query)).body.data.map(({ message }: { message: string }) => message);
const left = () =>
  withClient(test.connection, async (client) => {
    const to = new Date(day + 5 * dayMs);
    return (await client.query('select from application_logs where logged_at < $1', [to])).rowCount;
  });

/** Three batches whose lines overlap in time, the last of them an error at the end of the day. */
async function plant(at = day): Promise<void> {
  const say = (ms: number, message: string, level = 30) => ({ at: new Date(at + ms), service: 'shop', message, level });
  await plantLogLines(test.connection, [say(1000, 'first'), say(50_000, 'fourth')]);
  await plantLogLines(test.connection, [say(2000, 'second', 40), say(3000, 'third Door', 40)]);
  await plantLogLines(test.connection, [say(dayMs - 1, 'last', 50)]);
}
const all = ['first', 'second', 'third Door', 'fourth', 'last'];

describe('archiving', () => {
  it('writes a day to a compressed file before it is purged, in order of time', async () => {
    await plant();
    await clean();
    expect(await left()).toBe(0);
    const [archive, ...others] = await archives();
    expect(others).toEqual([]);
    expect(archive).toEqual({
      name: nameOf(day),
      path: `${base}/archives/${nameOf(day)}`,
      day: new Date(day).toISOString().slice(0, 10),
      size: expect.any(Number),
      recordCount: 5,
      createdAt: expect.any(String),
    });
    const file = await test.raw({ method: 'GET', url: archive.path, headers: { authorization: `Bearer ${token}` } });
    expect([file.statusCode, file.headers['content-type'], file.rawPayload.length]).toEqual([
      200,
      'application/gzip',
      archive.size,
    ]);
    const lines = gunzipSync(file.rawPayload).toString().trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(all);
    const stored = await services().files.get(`archives/${location}/${nameOf(day)}`);
    expect(Buffer.concat(await stored.toArray())).toEqual(file.rawPayload);
  });

  it('keeps recent days, and archives nothing while archives are disabled', async () => {
    await configure({ archiveEnabled: false });
    await plant();
    await clean();
    expect([await left(), await archives()]).toEqual([0, []]);
    await configure({ archiveEnabled: true });
    await plantLogLines(test.connection, [
      { at: new Date(Date.now() - 29 * dayMs), service: 'shop', message: 'young' },
    ]);
    await clean();
    expect(await archives()).toEqual([]);
  });

  it('a kill between write and purge loses nothing, and leaves one file', async () => {
    await plant();
    const before = new Date(day + 2 * dayMs);
    expect(await archiveDays(services(), { before, location, signal })).toEqual({ before });
    const [written] = await archives();
    expect(await left()).toBe(5);
    await clean();
    expect([await archives(), await left()]).toEqual([[written], 0]);
    expect(await messagesOf(written.name)).toEqual(all);
  });

  it('writes the file again if lines arrived between write and purge', async () => {
    await plant();
    await archiveDays(services(), { before: new Date(day + 2 * dayMs), location, signal });
    await plantLogLines(test.connection, [{ at: new Date(day + 60_000), service: 'shop', message: 'late' }]);
    await clean();
    expect((await archives()).map(({ name }: { name: string }) => name)).toEqual([nameOf(day)]);
    expect(await messagesOf(nameOf(day))).toEqual([...all.slice(0, 4), 'late', 'last']);
  });

  it('after a kill during the write, lists no partial file and writes it again from the start', async () => {
    await plant();
    const key = `archives/${location}/${nameOf(day)}`;
    await services().files.put(key, Readable.from([Buffer.from('torn')]), 4);
    await services()
      .database.platform()
      .interactive.all({
        kind: 'write',
        text: `insert into log_archives (name, id, day, object_key, created_at) values ($1, $2, $3, $4, now())`,
        values: [nameOf(day), newId(), new Date(day).toISOString().slice(0, 10), key],
        prepare: false,
      });
    expect(await archives()).toEqual([]);
    expectError(await search(nameOf(day)), 404, 'NOT_FOUND');
    await clean();
    expect(await messagesOf(nameOf(day))).toEqual(all);
  });

  it('does not purge a day that could not be written, and fails the run', async () => {
    await plant();
    await plant(day + dayMs);
    const { files } = services();
    let puts = 0;
    const put: typeof files.put = async (...given) => {
      puts += 1;
      if (puts === 2) throw new Error('no room');
      return files.put(...given);
    };
    await expect(clean({ ...services(), files: { ...files, put } })).rejects.toThrow('no room');
    expect((await archives()).map(({ name }: { name: string }) => name)).toEqual([nameOf(day)]);
    expect(await left()).toBe(5);
    await clean();
    expect((await archives()).map(({ name }: { name: string }) => name)).toEqual([nameOf(day + dayMs), nameOf(day)]);
    expect(await left()).toBe(0);
  });

  it('writes late lines of an archived and purged day to a separate file', async () => {
    await plant();
    await clean();
    await plantLogLines(test.connection, [{ at: new Date(day), service: 'shop', message: 'stray' }]);
    await clean();
    expect(await messagesOf(nameOf(day))).toEqual(all);
    expect(await messagesOf(nameOf(day, '-2'))).toEqual(['stray']);
    await clean();
    expect(await archives()).toHaveLength(2);
  });
});

describe('searchLogArchive', () => {
  it('200: by level, service, time and words, page by page', async () => {
    await plant();
    await clean();
    const name = nameOf(day);
    expect(await messagesOf(name, '?level=warn,error')).toEqual(['second', 'third Door', 'last']);
    expect(await messagesOf(name, '?search=door%20THIRD')).toEqual(['third Door']);
    expect(await messagesOf(name, '?service=other')).toEqual([]);
    const at = (ms: number) => new Date(day + ms).toISOString();
    expect(await messagesOf(name, `?startTime=${at(2000)}&endTime=${at(50_000)}`)).toEqual(['second', 'third Door']);
    const page = await search(name, '?limit=2&offset=1');
    expect(page.body.data.map(({ message }: { message: string }) => message)).toEqual(['second', 'third Door']);
    expect(page.body.pagination).toEqual({ total: 5, limit: 2, offset: 1, hasMore: true });
    expectError(await search(name, '?level=loud'), 400, 'VALIDATION_ERROR');
  });
});

describe('deleteLogArchive', () => {
  it('200: deletes once, records it, and removes the bytes', async () => {
    await plant();
    await clean();
    const url = `${base}/archives/${nameOf(day)}`;
    expect((await test.call('DELETE', url, { token })).body.data.deleted).toBe(true);
    expectError(await test.call('DELETE', url, { token }), 404, 'NOT_FOUND');
    expectError(await test.call('GET', url, { token }), 404, 'NOT_FOUND');
    await expect(services().files.get(`archives/${location}/${nameOf(day)}`)).rejects.toThrow(ObjectMissing);
    const { body } = await test.call('GET', '/api/v1/secure/audit-logs?action=log_archive.deleted&limit=1', { token });
    expect(body.data[0].details).toMatchObject({ name: nameOf(day) });
  });

  it.each(['..%2f..%2fetc%2fpasswd', 'logs-1999-01-01.ndjson.gz', 'exports'])('404: %s', async (name) => {
    for (const method of ['GET', 'DELETE'] as const)
      expectError(await test.call(method, `${base}/archives/${name}`, { token }), 404, 'NOT_FOUND');
  });

  it('404: a file that was removed from the store', async () => {
    await plant();
    await clean();
    await services().files.delete(`archives/${location}/${nameOf(day)}`);
    expectError(await test.call('GET', `${base}/archives/${nameOf(day)}`, { token }), 404, 'NOT_FOUND');
    expectError(await search(nameOf(day)), 404, 'NOT_FOUND');
  });
});
