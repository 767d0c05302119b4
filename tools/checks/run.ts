import { spawn } from 'node:child_process';
import type { Dirent } from 'node:fs';
import { glob } from 'node:fs/promises';
import path from 'node:path';

/** Looks at the tree below `root`; the answer is what is wrong, one text each, and empty when all is well. */
export type Gate = { name: string; find(root: string): Promise<string[]> };

const programs = path.join(import.meta.dirname, '../../node_modules/.bin');

/** Runs a development tool of ours on another tree or this one, under the Node that runs this. */
export function run(
  root: string,
  tool: string,
  args: string[],
): Promise<{ code: number; stdout: string; all: string }> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, PATH: `${programs}${path.delimiter}${process.env['PATH']}`, NO_COLOR: '1' };
    const child = spawn(process.execPath, [path.join(programs, tool), ...args], { cwd: root, env });
    let stdout = '';
    let all = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      all += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (all += text));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, stdout, all }));
  });
}

/** A tool whose exit code is the verdict. */
export function toolGate(name: string, tool: string, args: string[]): Gate {
  return {
    name,
    find: async (root) => {
      const { code, all } = await run(root, tool, args);
      return code === 0 ? [] : [all.trim() || `${tool} ended with ${code}`];
    },
  };
}

/** Paths below `root` with forward slashes, sorted. */
export async function files(root: string, pattern: string): Promise<string[]> {
  const found: string[] = [];
  const data = path.join(root, 'data');
  const pathOf = ({ parentPath, name }: Dirent) => path.join(parentPath, name);
  const exclude = (entry: Dirent) => /^(node_modules|\.git)$/.test(entry.name) || pathOf(entry) === data;
  for await (const entry of glob(pattern, { cwd: root, withFileTypes: true, exclude })) {
    found.push(path.relative(root, pathOf(entry)).split(path.sep).join('/'));
  }
  return found.toSorted();
}

/** Runs all gates at once and prints a line for each, then what the failing ones found; true when all have passed. */
export async function pass(gates: readonly Gate[], root: string, print: (line: string) => void): Promise<boolean> {
  const outcomes = await Promise.all(gates.map((gate) => outcomeOf(gate, root)));
  for (const { name, problems, seconds } of outcomes) {
    print(`${problems.length === 0 ? 'pass' : 'FAIL'}  ${name.padEnd(14)} ${seconds.toFixed(1)} s`);
  }
  const failed = outcomes.filter(({ problems }) => problems.length > 0);
  for (const { name, problems } of failed) print(`\n--- ${name}\n${problems.join('\n')}`);
  return failed.length === 0;
}

async function outcomeOf(gate: Gate, root: string): Promise<{ name: string; problems: string[]; seconds: number }> {
  const started = performance.now();
  // A gate that cannot do its work has not been passed.
  const problems = await gate.find(root).catch((error: unknown) => [`the gate itself failed: ${String(error)}`]);
  return { name: gate.name, problems, seconds: (performance.now() - started) / 1000 };
}
