import { threadId } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';

import { readOnThread } from '#core/platform/outbound/reading';

const script = new URL('testing/readings.ts', import.meta.url);
const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const read = (name: string, text = 'ä😀', maxMs?: number, tenantId = 'a') =>
  readOnThread<{ text: string; threadId: number }>({ script, argument: name }, bytes(text), { tenantId, maxMs });

describe('readOnThread', () => {
  it('reads on another thread than the event loop', async () => {
    const result = await read('echo');
    expect(result).toMatchObject({ text: 'ä😀' });
    expect(result.threadId).not.toBe(threadId);
  });

  it('fails with the reason of the function', async () => {
    await expect(read('refuse', 'abc')).rejects.toThrow('refused 3 characters');
  });

  it('fails where reading takes too long, and reads the next answer', async () => {
    const endless = read('neverEnd', 'x', 300);
    const next = read('echo', 'next');
    await expect(endless).rejects.toThrow('the answer took too long to read');
    expect(await next).toMatchObject({ text: 'next' });
  });

  it('fails where reading takes too much memory, and the process goes on', { timeout: 70_000 }, async () => {
    await expect(read('useAllMemory', 'x', 60_000)).rejects.toThrow(/memory/);
    expect(await read('echo')).toMatchObject({ text: 'ä😀' });
  });

  it('reads 50 answers that come at once, each with its own result', { timeout: 60_000 }, async () => {
    const texts = Array.from({ length: 50 }, (_, at) => `answer ${at}`);
    const results = await Promise.all(texts.map((text) => read('echo', text)));
    expect(results.map(({ text }) => text)).toEqual(texts);
  });

  it(
    'reads the answer of a tenant before the second of another one that has ten waiting',
    { timeout: 60_000 },
    async () => {
      const order: string[] = [];
      const note = (tenantId: string) => read('echo', 'x', undefined, tenantId).then(() => order.push(tenantId));
      await Promise.all([...Array.from({ length: 10 }, () => note('flood')), note('quiet')]);
      expect(order.indexOf('quiet')).toBeLessThan(3);
    },
  );
});
