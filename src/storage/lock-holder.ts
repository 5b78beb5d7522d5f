// Lock holder: who holds a lock, told apart from a later process that was given the same id.
// Where the system has no /proc, the id alone decides.

import { readFileSync } from 'node:fs';

export interface Holder {
  readonly pid: number;
  /** In clock ticks since boot; null where the system does not tell. */
  readonly startedAt: string | null;
  readonly bootId: string | null;
}

/** Behind the command's closing bracket in /proc/<pid>/stat: the state is field 3 of the whole, the start field 22. */
const STATE = 0;
const STARTED_AT = 19;
const DEAD_STATES = ['Z', 'X'];

export function identityOf(pid: number): Holder {
  return { pid, startedAt: statOf(pid)?.[STARTED_AT] ?? null, bootId: bootId() };
}

export function isAlive(holder: Holder): boolean {
  const boot = bootId();
  if (boot === null || holder.bootId === null) return answersSignals(holder.pid);
  if (boot !== holder.bootId) return false;
  const stat = statOf(holder.pid);
  if (stat === undefined || DEAD_STATES.includes(stat[STATE] ?? '')) return false;
  return stat[STARTED_AT] === holder.startedAt;
}

export function parseHolder(content: string): Holder | undefined {
  let holder: Partial<Holder> | null;
  try {
    holder = JSON.parse(content) as Partial<Holder> | null;
  } catch {
    return undefined;
  }
  if (typeof holder?.pid !== 'number') return undefined;
  return { pid: holder.pid, startedAt: holder.startedAt ?? null, bootId: holder.bootId ?? null };
}

function statOf(pid: number): string[] | undefined {
  const text = read(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

function bootId(): string | null {
  return read('/proc/sys/kernel/random/boot_id')?.trim() ?? null;
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // No such process, or no /proc: either way nothing is known.
  }
}
