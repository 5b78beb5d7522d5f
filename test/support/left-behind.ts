// Left behind: fails a test run that leaves a process running, whatever its parent is by now.
// Every process that a test starts inherits a mark in its environment; what still bears it at the end was left behind.
// Linux only, where /proc shows the environment of a process; elsewhere it does nothing.

import { existsSync, readdirSync, readFileSync } from 'node:fs';

const MARK_NAME = 'TROUPE_TEST_RUN';
/** A killed process is reaped by its new parent; that may take a moment, on a busy machine a long one. */
const GRACE_MS = 20_000;
const POLL_MS = 50;

export function setup(): () => Promise<void> {
  const mark = `${MARK_NAME}=${process.pid}-${process.hrtime.bigint()}`;
  process.env[MARK_NAME] = mark.slice(MARK_NAME.length + 1);
  return async () => {
    const giveUpAtMs = Date.now() + GRACE_MS;
    let left = processesWith(mark);
    while (left.length > 0 && Date.now() < giveUpAtMs) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      left = processesWith(mark);
    }
    if (left.length === 0) return;
    for (const { id } of left) kill(id);
    throw new Error(
      `Processes were left behind, and are killed now: ${left.map((one) => one.title).join('; ')}`,
    );
  };
}

interface RunningProcess {
  readonly id: number;
  readonly title: string;
}

/** Without vitest's own workers, which are children of this process. */
function processesWith(mark: string): RunningProcess[] {
  if (!existsSync('/proc/self/environ')) return [];
  const found: RunningProcess[] = [];
  for (const id of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    if (id === process.pid) continue;
    try {
      if (!readFileSync(`/proc/${id}/environ`, 'utf8').split('\0').includes(mark)) continue;
      const parent = Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1]);
      if (parent === process.pid) continue;
      found.push({ id, title: `${id} ${readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ')}` });
    } catch {
      // It ended while we looked, or belongs to someone else.
    }
  }
  return found;
}

function kill(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
