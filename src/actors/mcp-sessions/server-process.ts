// ServerProcess: the child that a stdio server runs in, and everything that it starts in turn.
// C1 The child leads a process group of its own. All of the group is killed when the child has ended, when `end` was called,
//    and when our end of the lifeline is closed, which the kernel does whatever ends us: a crash, a lost thread, kill -9.
// C2 The lifeline is read by a watcher inside that group, which kills its own group at the end of file. As long as it lives, the
//    group's id cannot be given to anybody else; so nobody is killed by mistake, and there is no moment without a watcher.
// C3 `end` is patient first: the end of its input, then SIGTERM, then SIGKILL. It resolves when the group has been killed.
// C4 Command and arguments go to the shell as arguments, never as text to read.
// C5 Who has left the group (setsid; browsers do) is known by MARK, which whatever the child starts inherits, and is killed too. For
//    that the watcher looks through /proc, where there is one; a process that empties its environment as well escapes.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../std/clock.ts';
import type { RandomSource } from '../../std/ids.ts';
import type { Variables } from './environment.ts';

/** How long a server may take to end by itself once its input has ended, and again after SIGTERM. */
const INPUT_END_GRACE_MS = 1_000;
const SIGTERM_GRACE_MS = 1_000;
/** For the watcher to do its work; it only takes longer on a machine that does nothing any more. */
const KILL_MS_MAX = 2_000;
const LAST_WORDS_MS_MAX = 250;

const SHELL = '/bin/sh';
const LIFELINE = 3;
/** Names the processes of one server; its value is that server's alone. */
const MARK = 'TROUPE_MCP_PROCESS';
const MARK_HEX_DIGITS = 32;
/** For those who start others while they are looked for. */
const SEARCHES_MAX = 5;
// The watcher ignores what the group is asked to end with, and holds none of the child's pipes open. Its signals are set before
// it begins, so that it is never without them; a child starts with the usual ones. C2, C4. It bears the mark itself, and must
// end last; the commands that it runs must not bear it, hence `unset`. C5.
const SCRIPT = `trap '' HUP INT TERM
{
  read -r _
  mark=$${MARK}
  unset ${MARK}
  self=
  read -r self _ </proc/self/stat
  search=0
  while [ -n "$self" ] && [ $search -lt ${SEARCHES_MAX} ]; do
    search=$((search + 1))
    found=
    for file in $(PATH=/usr/bin:/bin grep -lszxF "${MARK}=$mark" /proc/[0-9]*/environ); do
      id=\${file#/proc/}
      id=\${id%/environ}
      [ "$id" = "$self" ] || { found=1; kill -KILL "$id"; }
    done
    [ -n "$found" ] || break
  done
  kill -KILL 0
} <&${LIFELINE} ${LIFELINE}<&- >/dev/null 2>&1 &
trap - HUP INT TERM
exec ${LIFELINE}<&-
exec "$@"`;

/** What a shell says of a command that is not there, or is no program. */
const EXIT_NOT_FOUND = 127;
const EXIT_NOT_EXECUTABLE = 126;

export interface ProcessExit {
  /** In a sentence that begins with "it". */
  readonly how: string;
  /** The command could not be started at all: it will not be there the next time either. */
  readonly isMissing: boolean;
  /** We sent it a signal. */
  readonly isByUs: boolean;
}

export interface ServerProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly hasExited: boolean;
  /** Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** C3. May be called more than once; never rejects. */
  end(): Promise<void>;
}

export interface ProcessOrder {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Variables;
}

/** @throws what the system says of an order that it cannot even try (too long, a zero byte) */
export function startServerProcess(
  { command, args, env }: ProcessOrder,
  clock: Clock,
  random: RandomSource,
): ServerProcess {
  const child = spawn(SHELL, ['-c', SCRIPT, SHELL, command, ...args], {
    env: { ...env, [MARK]: random.hex(MARK_HEX_DIGITS) }, // C5
    detached: true, // C1
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
  const { promise: exited, resolve: onExit } = Promise.withResolvers<ProcessExit>();
  let hasExited = false;
  const exit = (outcome: ProcessExit): void => {
    hasExited = true;
    onExit(outcome);
  };
  let isSignalled = false;
  child.once('exit', (code, signal) => exit({ ...exitOf(command, code, signal), isByUs: isSignalled }));
  child.once('error', ({ message }) =>
    exit({ how: `it could not be started: ${message}`, isMissing: true, isByUs: false }),
  );
  const lifeline = child.stdio[LIFELINE] as Readable & Writable;
  const { stdin, stdout, stderr } = child as ChildProcess & {
    stdin: Writable;
    stdout: Readable;
    stderr: Readable;
  };
  // A pipe that breaks is the end of the child, which is heard of by itself.
  for (const pipe of [stdin, stdout, stderr, lifeline]) pipe.on('error', () => undefined);
  const closed = (stream: Readable): Promise<void> =>
    new Promise((resolve) => stream.once('close', () => resolve()));
  const watcherGone = closed(lifeline);
  const saidAll = Promise.all([closed(stdout), closed(stderr)]);
  lifeline.resume();

  const signal = (name: NodeJS.Signals): void => {
    if (hasExited || child.pid === undefined) return;
    isSignalled = true;
    try {
      process.kill(-child.pid, name);
    } catch {
      // It is gone, and with it the group.
    }
  };
  const killGroup = async (): Promise<void> => {
    lifeline.end();
    await within(KILL_MS_MAX, watcherGone, clock);
    signal('SIGKILL'); // Should somebody have killed the watcher.
    await within(KILL_MS_MAX, exited, clock);
    // What it said last is still on its way; who has escaped may hold the pipes open.
    await within(LAST_WORDS_MS_MAX, saidAll, clock);
    for (const pipe of [stdin, stdout, stderr, lifeline]) pipe.destroy();
  };
  let ending: Promise<void> | null = null;
  const end = async (): Promise<void> => {
    stdin.end();
    if (!(await within(INPUT_END_GRACE_MS, exited, clock))) {
      signal('SIGTERM');
      await within(SIGTERM_GRACE_MS, exited, clock);
    }
    await killGroup();
  };
  const endOnce = (): Promise<void> => {
    ending ??= end();
    return ending;
  };
  void exited.then(endOnce); // What it has started and left behind ends with it: C1.
  return {
    stdin,
    stdout,
    stderr,
    get hasExited() {
      return hasExited;
    },
    exited,
    end: endOnce,
  };
}

function exitOf(
  command: string,
  code: number | null,
  signal: NodeJS.Signals | null,
): Omit<ProcessExit, 'isByUs'> {
  if (code === EXIT_NOT_FOUND) return { how: `the command ${command} was not found`, isMissing: true };
  if (code === EXIT_NOT_EXECUTABLE) {
    return { how: `the command ${command} cannot be executed`, isMissing: true };
  }
  return { how: signal === null ? `it exited with ${code}` : `it was ended by ${signal}`, isMissing: false };
}

/** Whether it came in time. */
function within(ms: number, awaited: Promise<unknown>, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.startTimer(ms, () => resolve(false));
    void awaited.then(() => {
      timer.cancel();
      resolve(true);
    });
  });
}
