import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';

const module = JSON.stringify(new URL('console.ts', import.meta.url));

/** Another process that prints; `beyond` is what the shell makes of its standard output. */
function print(script: string, beyond: string) {
  const source = `import { openConsole } from ${module}; const output = openConsole({ isShared: true }); ${script}`;
  // `$0` is Node; the second shell outlives the first part of the pipe, and says how it ended.
  const command = `{ "$0" --input-type=module -e "$1"; echo "ended with $?" >&2; } ${beyond}`;
  const shell = spawn('sh', ['-c', command, process.execPath, source], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(shell.pid!);
  return shell;
}

const started: number[] = [];
afterEach(() => {
  for (const group of started.splice(0)) {
    try {
      process.kill(-group, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
});

describe('a process ends with its own code', () => {
  const many = `for (let at = 0; at < 5000; at++) output.write('x'.repeat(999) + '\\n');`;

  it.each([
    [
      'while no process reads, and a write is in progress',
      `${many} setTimeout(() => process.exit(3), 300);`,
      '| sleep 600',
    ],
    ['while no process reads, and nothing was written yet', `${many} process.exit(3);`, '| sleep 600'],
    ['when the reader is gone', `setTimeout(() => { ${many} process.exit(3); }, 300);`, '| true'],
  ])('%s', async (_when, script, beyond) => {
    const [said] = (await once(print(script, beyond).stderr, 'data')) as [Buffer];
    expect(said.toString()).toBe('ended with 3\n');
  });

  it('and a reader gets every line', async () => {
    const script = `for (let at = 0; at < 1000; at++) output.write(at + ' ' + 'x'.repeat(90) + '\\n'); process.exit(3);`;
    const shell = print(script, '| cat');
    const lines = (await text(shell.stdout)).trimEnd().split('\n');
    expect(lines.map((line) => Number.parseInt(line, 10))).toEqual(Array.from({ length: 1000 }, (_, at) => at));
  });

  it('and lines that were written turn by turn come in their order', async () => {
    const script = `
      let at = 0;
      const go = () => {
        for (let end = at + 50; at < end; at++) output.write(at + ' ' + 'x'.repeat(90) + '\\n');
        if (at < 1000) setImmediate(go);
        else process.exitCode = 3;
      };
      go();`;
    const shell = print(script, '| cat');
    const lines = (await text(shell.stdout)).trimEnd().split('\n');
    expect(lines.map((line) => Number.parseInt(line, 10))).toEqual(Array.from({ length: 1000 }, (_, at) => at));
  });
});
