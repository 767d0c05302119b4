import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { Workplace, type Service } from './support/service.ts';

// It starts processes.
vi.setConfig({ testTimeout: 120_000 });

const repository = fileURLToPath(new URL('..', import.meta.url));
const guides = readdirSync(path.join(repository, 'docs/guides')).filter((file) => file.endsWith('.md'));

const workplace = new Workplace();
let service: Service;

beforeAll(async () => {
  service = await workplace.start({ dataDir: workplace.dataDir() });
});
afterAll(() => workplace.clear());

/** The shell commands of a page that a reader would paste against a running service. */
function commandsOf(file: string): string {
  const blocks = [...readFileSync(path.join(repository, file), 'utf8').matchAll(/```sh\n(.*?)```/gs)];
  const pasted = blocks.map(([, text]) => text!).filter((text) => /\$API|curl/.test(text));
  expect(pasted).toHaveLength(1);
  return pasted[0]!;
}

/** README's walk by a person and a tenant of their own, at this service's address. */
function readmeWalk(name: string): string {
  return commandsOf('README.md')
    .replaceAll('http://127.0.0.1:8080', service.base)
    .replaceAll('ada@example.com', `ada@${name}.example`)
    .replaceAll('"tenantDomain":"example"', `"tenantDomain":"guide-${name}"`);
}

async function paste(script: string): Promise<{ code: number | null; output: string; errors: string }> {
  const shell = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}` },
  });
  const read = { output: '', errors: '' };
  shell.stdout.on('data', (chunk: Buffer) => (read.output += chunk.toString()));
  shell.stderr.on('data', (chunk: Buffer) => (read.errors += chunk.toString()));
  const [code] = (await once(shell, 'close')) as [number | null];
  return { code, ...read };
}

function expectSuccess(result: Awaited<ReturnType<typeof paste>>): void {
  expect({ ...result, output: '' }).toEqual({ code: 0, output: '', errors: '' });
  expect(result.output.split('\n').filter((line) => line.includes('"statusCode"'))).toEqual([]);
}

describe('the commands of the documentation work', () => {
  it('README.md', async () => {
    expectSuccess(await paste(readmeWalk('readme')));
  });

  it.each(guides)('docs/guides/%s', async (guide) => {
    const name = guide.replace('.md', '');
    const script = commandsOf(`docs/guides/${guide}`).replaceAll('http://127.0.0.1:8080', service.base);
    expectSuccess(await paste(`${readmeWalk(name)}\n${script}`));
  });
});

it.each(guides)('docs/guides/%s: goal, commands, output, and at the end what can go wrong', (guide) => {
  const headings = readFileSync(path.join(repository, 'docs/guides', guide), 'utf8').match(/^## .+$/gm)!;
  expect(headings.slice(0, 2)).toEqual(['## Try it', '## Output']);
  expect(headings.at(-1)).toBe('## What can go wrong');
});
