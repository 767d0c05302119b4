import { createSocket, type Socket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { Lookup } from '#core/platform/outbound/guarded-connect';
import { createLookup } from '#core/platform/outbound/resolver';

let folder: string;
let hostsFile: string;
let nameServer: Socket;
let servers: string[];
const asked: string[] = [];

/** Knows `known…`, says nothing for `silent…`, and has never heard of anything else. */
function answerTo(question: Buffer): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (; question[at] !== 0; at += question[at]! + 1)
    labels.push(question.toString('latin1', at + 1, at + 1 + question[at]!));
  const type = question.readUInt16BE(at + 1);
  const name = labels.join('.');
  asked.push(`${name} ${type}`);
  if (name.startsWith('silent')) return undefined;
  const isKnown = name.startsWith('known');
  const answer = Buffer.from(question.subarray(0, at + 5));
  answer.writeUInt16BE(isKnown ? 0x81_80 : 0x81_83, 2);
  answer.writeUInt16BE(isKnown && type === 1 ? 1 : 0, 6);
  answer.writeUInt32BE(0, 8);
  const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
  return isKnown && type === 1 ? Buffer.concat([answer, record]) : answer;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-hosts-'));
  hostsFile = path.join(folder, 'hosts');
  writeFileSync(
    hostsFile,
    '# ours\n192.0.2.1 Provider.Internal other # both\n2001:db8::1\tprovider.internal\nnonsense x\n',
  );
  nameServer = createSocket('udp4');
  nameServer.on('message', (question, { port, address }) => {
    const answer = answerTo(question);
    if (answer !== undefined) nameServer.send(answer, port, address);
  });
  nameServer.bind(0, '127.0.0.1');
  await once(nameServer, 'listening');
  servers = [`127.0.0.1:${nameServer.address().port}`];
});
afterAll(async () => {
  nameServer.close();
  await rm(folder, { recursive: true });
});

const unknown: Lookup = (_hostname, _options, callback) => callback(new Error('the system does not know it'), []);

function look(lookup: Lookup, hostname: string, family?: 4 | 6): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: true, ...(family === undefined ? {} : { family }) }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    );
  });
}

describe('createLookup', () => {
  it('reads the hosts file first', async () => {
    const lookup = createLookup({ servers, hostsFile, fallback: unknown });
    const both = [
      { address: '192.0.2.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ];
    expect(await look(lookup, 'provider.internal')).toEqual(both);
    expect(await look(lookup, 'PROVIDER.internal.')).toEqual(both);
    expect(await look(lookup, 'provider.internal', 6)).toEqual(both.slice(1));
    expect(await look(lookup, 'other')).toEqual(both.slice(0, 1));
  });

  it('knows localhost without asking', async () => {
    const lookup = createLookup({ servers: [], hostsFile: path.join(folder, 'none'), fallback: unknown });
    expect(await look(lookup, 'localhost', 4)).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect(await look(lookup, 'a.localhost')).toHaveLength(2);
  });

  it('asks the name servers', async () => {
    const lookup = createLookup({ servers, hostsFile, fallback: unknown });
    expect(await look(lookup, 'known.example')).toEqual([{ address: '192.0.2.7', family: 4 }]);
    expect(asked).toEqual(expect.arrayContaining(['known.example 1', 'known.example 28']));
  });

  it('answers 50 names while 200 others find no answer, and gives those up at the deadline', async () => {
    const fallback = vi.fn<Lookup>(unknown);
    const lookup = createLookup({ servers, hostsFile, deadlineMs: 600, fallback });
    let silentEnded = 0;
    const silent = Array.from({ length: 200 }, (_, at) =>
      look(lookup, `silent-${at}.example`).catch((error: NodeJS.ErrnoException) => {
        silentEnded += 1;
        return error.code;
      }),
    );
    const patient = createLookup({ servers, hostsFile, fallback });
    const known = await Promise.all(Array.from({ length: 50 }, (_, at) => look(patient, `known-${at}.example`)));
    expect(known.flat()).toHaveLength(50);
    for (const code of await Promise.all(silent)) expect(['ETIMEOUT', 'ECANCELLED']).toContain(code);
    expect(silentEnded).toBe(200);
    // The threads of the process must not wait for a name server that does not answer.
    expect(fallback).not.toHaveBeenCalled();
  });

  it('leaves 50 names that no name server knows to the system, two at a time', async () => {
    const waiting: (() => void)[] = [];
    let max = 0;
    const fallback = vi.fn<Lookup>((_hostname, _options, callback) => {
      waiting.push(() => callback(null, [{ address: '192.0.2.9', family: 4 }]));
      max = Math.max(max, waiting.length);
    });
    const lookup = createLookup({ servers, hostsFile, deadlineMs: 60_000, fallback });
    let answered = 0;
    const results = Array.from({ length: 50 }, (_, at) => look(lookup, `search-${at}`).finally(() => (answered += 1)));
    while (answered < 50) {
      await vi.waitUntil(() => waiting.length > 0 || answered === 50, { timeout: 30_000, interval: 1 });
      waiting.shift()?.();
    }
    expect((await Promise.all(results)).flat()).toHaveLength(50);
    expect(max).toBe(2);
  });

  it('serves other names while 50 lookups of one name hang in the system', async () => {
    const fallback: Lookup = (hostname, _options, callback) => {
      if (hostname !== 'hanging') callback(null, [{ address: '192.0.2.9', family: 4 }]);
    };
    const lookup = createLookup({ servers, hostsFile, deadlineMs: 2000, fallback });
    const hanging = Array.from({ length: 50 }, () => look(lookup, 'hanging').catch((error: Error) => error));
    const others = await Promise.all(Array.from({ length: 50 }, (_, at) => look(lookup, `other-${at}`)));
    expect(others.flat()).toHaveLength(50);
    for (const error of await Promise.all(hanging)) expect(error).toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('reports a temporary failure when the deadline passes in the queue, and asks again when the system recovers', async () => {
    const stuck: (() => void)[] = [];
    const fallback = vi.fn<Lookup>((_hostname, _options, callback) => {
      if (stuck.length < 2) stuck.push(() => callback(null, []));
      else callback(null, [{ address: '192.0.2.9', family: 4 }]);
    });
    const lookup = createLookup({ servers, hostsFile, deadlineMs: 2000, fallback });
    const results = Array.from({ length: 50 }, (_, at) =>
      look(lookup, `slow-${at}`).catch((error: NodeJS.ErrnoException) => error.code),
    );
    expect(new Set(await Promise.all(results))).toEqual(new Set(['EAI_AGAIN']));
    expect(fallback).toHaveBeenCalledTimes(2);
    for (const answer of stuck) answer();
    expect(await look(lookup, 'slow-7')).toEqual([{ address: '192.0.2.9', family: 4 }]);
  });
});
