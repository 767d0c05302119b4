import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const ticksPerSecond = 100;

/** Cores by their job; undefined where `taskset` or a second core is missing. */
export type Cores = { server: string; rest: string } | undefined;

export function findCores(): Cores {
  if (availableParallelism() < 2) return undefined;
  try {
    const allowed = /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync('/proc/self/status', 'utf8'))![1]!;
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
    const [first, ...others] = expandList(allowed);
    return { server: String(first), rest: others.join(',') };
  } catch {
    return undefined;
  }
}

function expandList(text: string): number[] {
  return text.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, at) => from + at);
  });
}

/** Moves running processes with all their threads. */
export function pin(pids: readonly number[], cores: string): void {
  for (const pid of pids) {
    try {
      execFileSync('taskset', ['-a', '-p', '-c', cores, String(pid)], { stdio: 'ignore' });
    } catch {
      // A process that has just ended needs no core.
    }
  }
}

/** The process and everything it has started; empty where there is no /proc. */
export function withDescendants(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of list('/proc')) {
    const stat = /^\d+$/.test(name) ? statFields(Number(name)) : undefined;
    if (stat === undefined) continue;
    const parent = Number(stat[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const all = [root];
  for (let at = 0; at < all.length; at++) all.push(...(children.get(all[at]!) ?? []));
  return all;
}

/** Processor time used so far by these processes, in seconds; NaN where it cannot be known. */
export function cpuSeconds(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const stat = statFields(pid);
    ticks += stat === undefined ? Number.NaN : Number(stat[11]) + Number(stat[12]);
  }
  return ticks / ticksPerSecond;
}

/** The most memory that the process has held at once since that was last reset, in MB; NaN where it cannot be known. */
export function peakMemoryMb(pid: number): number {
  const kib = /VmHWM:\s*(\d+)/.exec(read(`/proc/${pid}/status`))?.[1];
  return kib === undefined ? Number.NaN : Number(kib) / 1024;
}

/** The memory that the process holds now, in MB; NaN where it cannot be known. */
export function memoryMb(pid: number): number {
  const kib = /VmRSS:\s*(\d+)/.exec(read(`/proc/${pid}/status`))?.[1];
  return kib === undefined ? Number.NaN : Number(kib) / 1024;
}

/** What a process had held before its peak was last reset, by its id. */
const highestMb = new Map<number, number>();

/** The most memory that the process has held since it began, in MB. */
export function highestMemoryMb(pid: number): number {
  return Math.max(highestMb.get(pid) ?? 0, peakMemoryMb(pid));
}

/** Resets the peak that `peakMemoryMb` reads (proc(5), clear_refs). */
export function resetPeakMemory(pid: number): void {
  highestMb.set(pid, highestMemoryMb(pid));
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Fields of /proc/<pid>/stat after the command, which may itself hold blanks: state, parent, … (proc(5)). */
function statFields(pid: number): string[] | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat === '' ? undefined : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
