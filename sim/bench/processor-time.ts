/**
 * Processor time of processes, where Linux reports it: more reliable than elapsed time on a shared machine. Also their
 * memory, and what the loopback carries and the disks take.
 */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';

/** Linux counts in hundredths of a second. */
const ticksPerSecond = 100;

/** Seconds of processor time that a process has used so far; NaN where the system does not report it. */
export function processorSeconds(pid: number): number {
  const fields = statOf(pid);
  return fields === undefined ? NaN : fields.own / ticksPerSecond;
}

/** The same of several processes. */
export function processorSecondsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + processorSeconds(pid), 0);
}

/** The same for a process and its children, ended ones included. */
export function familySeconds(pid: number): number {
  const fields = statOf(pid);
  if (fields === undefined) return NaN;
  let ticks = fields.own + fields.reaped;
  for (const name of readdirSync('/proc')) {
    const child = /^[0-9]+$/.test(name) ? statOf(Number(name)) : undefined;
    if (child?.parent === pid) ticks += child.own + child.reaped;
  }
  return ticks / ticksPerSecond;
}

interface Stat {
  readonly parent: number;
  /** Ticks of the process itself. */
  readonly own: number;
  /** Ticks of its ended children. */
  readonly reaped: number;
}

function statOf(pid: number): Stat | undefined {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return undefined;
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch {
    // The process has just ended.
    return undefined;
  }
  // Fields 3 and on of proc(5): the second is a name in parentheses.
  const fields = text.slice(text.lastIndexOf(') ') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return { parent: field(4), own: field(14) + field(15), reaped: field(16) + field(17) };
}

/** Nanoseconds that all threads of a process have run so far; NaN where the system does not report it. */
export function threadNanoseconds(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(`${tasks}/${pid}/schedstat`)) return NaN;
  let sum = 0;
  for (const thread of readdirSync(tasks)) {
    try {
      // Its first number is the time on a processor.
      sum += Number(readFileSync(`${tasks}/${thread}/schedstat`, 'latin1').split(' ')[0]);
    } catch {
      // The thread has just ended.
    }
  }
  return sum;
}

/** Proportional memory of processes, in MiB: memory that several share is divided among them; NaN without Linux. */
export function sharedMiB(pids: readonly number[]): number {
  return sumOf(pids, 'smaps_rollup', /Pss:\s+(\d+)/) / 1024;
}

function sumOf(pids: readonly number[], file: string, pattern: RegExp): number {
  let sum = 0;
  for (const pid of pids) {
    try {
      sum += Number(pattern.exec(readFileSync(`/proc/${pid}/${file}`, 'latin1'))?.[1] ?? NaN);
    } catch {
      // The process has just ended, or this system has no /proc.
      if (!existsSync('/proc')) return NaN;
    }
  }
  return sum;
}

/** Ids of the running child processes of a process. */
export function childrenOf(pid: number): readonly number[] {
  if (!existsSync('/proc')) return [];
  const pids = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name));
  return pids.map(Number).filter((one) => statOf(one)?.parent === pid);
}

/**
 * Bytes that the loopback interface of this machine has carried so far, with the heads of IP and TCP; NaN where the
 * system does not report it.
 */
export function loopbackBytes(): number {
  const path = '/proc/net/dev';
  if (!existsSync(path)) return NaN;
  // proc(5): the name, then what was received: bytes first. On loopback all that is sent is received.
  const found = /^\s*lo:\s*(\d+)/m.exec(readFileSync(path, 'latin1'));
  return Number(found?.[1] ?? NaN);
}

/**
 * Bytes written so far to the disk that holds `directory`, by all processes and by the file system itself; NaN where
 * the system does not tell. Not by process: what Linux counts for a process (`write_bytes` of proc(5)) are whole folios,
 * up to 2 MiB for a write of a page.
 */
export function writtenBytes(directory: string): number {
  const path = '/proc/diskstats';
  if (!existsSync(path)) return NaN;
  // makedev(3), and the iostats page of Linux: major, minor, name, four fields of reads; then writes, those merged, and
  // sectors of 512 bytes.
  const { dev } = statSync(directory);
  const [major, minor] = [(dev >>> 8) & 0xfff, (dev & 0xff) | ((dev >>> 12) & 0xfff00)];
  const line = new RegExp(`^ *${major} +${minor} \\S+(?: \\d+){6} (\\d+)`, 'm');
  return Number(line.exec(readFileSync(path, 'latin1'))?.[1] ?? NaN) * 512;
}
