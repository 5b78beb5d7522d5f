// ThreadPool: the worker threads of a system, owned by the main thread. Named ones carry actors, one spare waits warm.
// D1 Any exit without our handshake is a crash: exit(0) too. The loss is told on this thread and to all others, once.
// D2 A thread that does not answer the heartbeat for `stuckMs` is stuck in an endless loop: it is terminated, and lost. Time
//    during which the main thread itself did not listen does not count.
// D3 A name gets a new thread when it is next asked for: the spare when it is ready, else a cold start. Then a new spare
//    is started.
// D4 A dedicated thread is asked to leave when its actor has ended, or the thread of that one's parent is lost.
// D5 A thread that nears its heap limit is retired before it dies of it: nothing new is placed there, what can be restarted is
//    moved by its supervisor, and it ends when it is empty, or after a bound. One at a time, so that the others can take over.

import type { Timer } from '../../std/clock.ts';
import { errorText } from '../../std/errors.ts';
import { MAIN_THREAD, type Runtime } from '../runtime.ts';
import type { ThreadBootstrap } from './bootstrap.ts';
import { freest, type HostLoad } from './freest.ts';
import type { Link } from './link.ts';
import { Remote, type ThreadSource } from './remote.ts';
import type { StartedThread, ThreadStarter } from './thread-starter.ts';
import type { PoolPlacement, SignalFrame, ThreadHealth } from './wire.ts';
import { workerStarter } from './worker-starter.ts';

export interface ThreadPoolOptions {
  readonly bootstrap: ThreadBootstrap;
  /** Keep one thread ready to take over. */
  readonly spare: boolean;
  /** Old-generation heap limit of each worker, in MB, unless its placement names another. */
  readonly heapMaxMb: number;
  readonly heartbeatMs: number;
  readonly stuckMs: number;
  /** A thread whose heap has reached this share of its limit, at two heartbeats in a row, is retired; 1 turns it off. */
  readonly heapRetireShare: number;
  /** How long temporary actors may go on working on a thread that is being retired. */
  readonly retireMs: number;
  /** For simulations; worker threads when absent. */
  readonly starter?: ThreadStarter;
}

export const THREAD_POOL_DEFAULTS = {
  spare: true,
  heapMaxMb: 2_048,
  heartbeatMs: 1_000,
  // Parsing the largest message that we take needs less than a second; ten of them is no longer work.
  stuckMs: 10_000,
  // Below it the collector still has room to work; beyond it a large answer may be one too many.
  heapRetireShare: 0.85,
  // Most turns of a run end within it.
  retireMs: 60_000,
} as const;

/** A retiring thread gets nothing new; a leaving one has been told to end. */
export type ThreadState = 'starting' | 'ready' | 'retiring' | 'leaving';

export interface ThreadView {
  readonly thread: number;
  readonly name: string | null;
  readonly state: ThreadState;
  readonly health: ThreadHealth | null;
}

interface Host extends HostLoad {
  readonly thread: number;
  readonly heapMaxMb: number;
  /** Of an actor that the thread is for: by whom it was asked for. */
  dedicatedBy: number | null;
  placedSince: number;
  /** Heartbeats in a row that told of a heap near its limit. */
  strainedBeats: number;
  /** When a retiring thread is ended, whoever is left on it. */
  endsAtMs: number;
  name: string | null;
  state: ThreadState;
  readonly worker: StartedThread;
  readonly link: Link;
  readonly exited: Promise<void>;
  lastHeardMs: number;
  /** The heartbeat has asked, and it has not answered yet. */
  isAsked: boolean;
  health: ThreadHealth | null;
  failure: string | null;
  saidGoodbye: boolean;
}

/** What `any` means while no thread has a name. */
const HOST_DEFAULT = 'host';

const BYTES_PER_MB = 2 ** 20;

/** One report may be of garbage that is about to be collected. */
const STRAINED_BEATS_MIN = 2;

/** For what is moved or stopped after the grace, each within its own `shutdownMs`. */
const RETIRE_MOVE_MAX_MS = 30_000;

/** A cold start loads modules from disk; longer than this it will never be ready. */
const START_MAX_MS = 60_000;

export class ThreadPool implements ThreadSource {
  readonly #runtime: Runtime;
  readonly #options: ThreadPoolOptions;
  readonly #starter: ThreadStarter;
  readonly #remote: Remote;
  readonly #hosts = new Map<number, Host>();
  #threadNext = MAIN_THREAD + 1;
  #spare: Host | null = null;
  #heartbeat: Timer | null = null;
  #isStopping = false;

  constructor(runtime: Runtime, options: ThreadPoolOptions) {
    this.#runtime = runtime;
    this.#options = options;
    this.#starter = options.starter ?? workerStarter();
    this.#remote = new Remote(
      runtime,
      this,
      (frame, link) => this.#onSignal(frame, link),
      this.#starter.loadBehaviour,
    );
    this.#beat();
  }

  views(): ThreadView[] {
    return Array.from(this.#hosts.values(), ({ thread, name, state, health }) => ({
      thread,
      name,
      state,
      health,
    }));
  }

  /** Asks every worker to leave, waits at most `deadlineMs`, then ends the rest. */
  async stop(deadlineMs: number): Promise<void> {
    this.#isStopping = true;
    this.#heartbeat?.cancel();
    const hosts = [...this.#hosts.values()];
    for (const host of hosts) this.#dismiss(host);
    const timers = hosts.map((host) =>
      this.#runtime.clock.startTimer(deadlineMs, () => host.worker.terminate()),
    );
    await Promise.all(hosts.map((host) => host.exited));
    for (const timer of timers) timer.cancel();
  }

  /** Ends a thread without asking it, as a crash does; its actors are lost. For fault injection and for stuck threads. */
  async terminate(thread: number): Promise<void> {
    const host = this.#hosts.get(thread);
    if (host === undefined) return;
    host.worker.terminate();
    await host.exited;
  }

  place(placement: PoolPlacement, _actor: number, path: string, by = MAIN_THREAD): number {
    // An actor whose parent is on another thread may not have heard yet that it is to end; nobody would end its thread.
    if (this.#isStopping) throw new Error('the system is stopping');
    const host = this.#hostFor(placement, path, by);
    host.placedSince += 1;
    return host.thread;
  }

  /** D4. */
  giveBack(thread: number): void {
    const host = this.#hosts.get(thread);
    if (host !== undefined && host.dedicatedBy !== null) this.#dismiss(host);
  }

  #hostFor(placement: PoolPlacement, path: string, by: number): Host {
    if (placement === 'dedicated') return this.#dedicated(path, by, this.#options.heapMaxMb);
    if (placement !== 'any' && 'dedicated' in placement) {
      return this.#dedicated(path, by, placement.dedicated.heapMaxMb);
    }
    const names =
      placement === 'any' ? this.#names() : 'thread' in placement ? [placement.thread] : placement.anyOf;
    const hosts = names.map((name) => this.#named(name));
    const chosen = freest(hosts, this.#options.heapMaxMb * BYTES_PER_MB);
    const name = names[chosen];
    if (name === undefined) throw new Error(`${path} may live on any of no threads`);
    return hosts[chosen] ?? this.#take(name);
  }

  #dedicated(path: string, by: number, heapMaxMb: number): Host {
    const host = this.#take(path, heapMaxMb);
    host.dedicatedBy = by;
    return host;
  }

  /** Of the threads that carry whatever comes; one at least. */
  #names(): readonly string[] {
    const names = [...this.#hosts.values()].flatMap(({ name, state, dedicatedBy }) =>
      name === null || isGoing(state) || dedicatedBy !== null ? [] : [name],
    );
    return names.length === 0 ? [HOST_DEFAULT] : names;
  }

  #named(name: string): Host | null {
    for (const host of this.#hosts.values()) {
      if (host.name === name && !isGoing(host.state) && host.dedicatedBy === null) return host;
    }
    return null;
  }

  /** The spare, or a cold start (D3). */
  #take(name: string, heapMaxMb = this.#options.heapMaxMb): Host {
    // The spare has the limit that all have.
    const isUsual = heapMaxMb === this.#options.heapMaxMb;
    const host = (isUsual ? this.#takeSpare() : null) ?? this.#start(heapMaxMb);
    host.name = name;
    if (this.#options.spare && this.#spare === null) this.#spare = this.#startSpare();
    return host;
  }

  #dismiss(host: Host): void {
    if (host.state === 'leaving') return;
    host.state = 'leaving';
    host.link.signal({ kind: 'shutdown' });
  }

  giveUpStarting(thread: number): void {
    const host = this.#hosts.get(thread);
    if (host?.state === 'starting') endFor(host, 'its thread was given up while it was starting');
  }

  condemn(thread: number): void {
    const host = this.#hosts.get(thread);
    if (host !== undefined) endFor(host, 'its thread sent a message that could not be read');
  }

  #takeSpare(): Host | null {
    const spare = this.#spare;
    this.#spare = null;
    return spare;
  }

  /** A spare that cannot be made is no loss: the next thread starts cold. */
  #startSpare(): Host | null {
    try {
      return this.#start(this.#options.heapMaxMb);
    } catch (error) {
      this.#runtime.log.warn({ error: errorText(error) }, 'there is no spare thread');
      return null;
    }
  }

  #start(heapMaxMb: number): Host {
    const thread = this.#threadNext;
    this.#threadNext += 1;
    const [ours, theirs] = this.#starter.channel();
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    const worker = this.#starter.start(
      {
        thread,
        heapMaxMb,
        port: theirs,
        bootstrap: this.#options.bootstrap,
        names: [...this.#runtime.registry.entries()],
      },
      {
        failed: (message) => {
          host.failure = message;
        },
        exited: (code) => {
          this.#exited(host, code);
          resolve();
        },
      },
    );
    const host: Host = {
      thread,
      heapMaxMb,
      name: null,
      dedicatedBy: null,
      placedSince: 0,
      strainedBeats: 0,
      endsAtMs: Number.POSITIVE_INFINITY,
      state: 'starting',
      worker,
      link: this.#remote.join(thread, ours),
      exited,
      lastHeardMs: this.#runtime.clock.monotonicMs(),
      isAsked: false,
      health: null,
      failure: null,
      saidGoodbye: false,
    };
    this.#hosts.set(thread, host);
    this.#introduce(host);
    return host;
  }

  /** Every worker has a channel of its own to every other: mail between them does not pass through this thread. */
  #introduce(newcomer: Host): void {
    for (const other of this.#hosts.values()) {
      if (other === newcomer || other.state === 'leaving') continue;
      const [port1, port2] = this.#starter.channel();
      other.link.signal({ kind: 'connect', thread: newcomer.thread, port: port1 });
      newcomer.link.signal({ kind: 'connect', thread: other.thread, port: port2 });
    }
  }

  #onSignal(frame: SignalFrame, link: Link): void {
    const host = this.#hosts.get(link.thread);
    if (host === undefined) return;
    host.lastHeardMs = this.#runtime.clock.monotonicMs();
    switch (frame.kind) {
      case 'ready':
        if (host.state === 'starting') host.state = 'ready';
        return;
      case 'pong':
        host.isAsked = false;
        host.health = frame.health;
        host.placedSince = 0;
        this.#retireIfStrained(host, frame.health);
        return;
      case 'place':
        this.#answer(frame, link);
        return;
      case 'give_back':
        this.giveBack(frame.thread);
        return;
      case 'vacated':
        this.#dismiss(host);
        return;
      case 'give_up':
        this.giveUpStarting(frame.thread);
        return;
      case 'condemn':
        this.condemn(frame.thread);
        return;
      case 'goodbye':
        host.saidGoodbye = true;
        return;
      default:
        return;
    }
  }

  /** D5. */
  #retireIfStrained(host: Host, { heapUsedBytes }: ThreadHealth): void {
    const { heapRetireShare, retireMs } = this.#options;
    const { heapMaxMb } = host;
    const isStrained = heapRetireShare < 1 && heapUsedBytes >= heapMaxMb * BYTES_PER_MB * heapRetireShare;
    host.strainedBeats = isStrained ? host.strainedBeats + 1 : 0;
    if (host.strainedBeats < STRAINED_BEATS_MIN || host.state !== 'ready' || host.name === null) return;
    if ([...this.#hosts.values()].some(({ state }) => state === 'retiring')) return;
    host.state = 'retiring';
    host.endsAtMs = this.#runtime.clock.monotonicMs() + retireMs + RETIRE_MOVE_MAX_MS;
    this.#runtime.log.warn(
      { thread: host.thread, name: host.name, heapUsedBytes, heapMaxMb },
      'a worker thread nears its heap limit and is retired',
    );
    host.link.signal({ kind: 'retire', graceMs: retireMs });
  }

  #answer({ placement, actor, path }: SignalFrame & { readonly kind: 'place' }, link: Link): void {
    try {
      link.signal({ kind: 'placed', actor, thread: this.place(placement, actor, path, link.thread) });
    } catch (error) {
      link.signal({ kind: 'not_placed', actor, message: errorText(error) });
    }
  }

  /** D1. */
  #exited(host: Host, code: number): void {
    host.link.receiveLast((port) => this.#starter.receive(port));
    this.#hosts.delete(host.thread);
    if (this.#spare === host) this.#spare = null;
    const message =
      host.failure ??
      (host.saidGoodbye ? 'its thread has left' : `its thread ended without a handshake (exit code ${code})`);
    if (!host.saidGoodbye) {
      this.#runtime.log.error(
        { thread: host.thread, name: host.name, error: message },
        'a worker thread was lost',
      );
    }
    // As of its last heartbeat: its supervisors' share in the sum (see link.ts for the mail's).
    this.#runtime.counters.restarts += host.health?.counters.restarts ?? 0;
    this.#remote.threadLost(host.thread, message);
    for (const other of this.#hosts.values()) {
      other.link.signal({ kind: 'thread_gone', thread: host.thread, message });
      if (other.dedicatedBy === host.thread) this.#dismiss(other); // its parent is lost, and so is it
    }
  }

  /** D2. */
  #beat(): void {
    const dueMs = this.#runtime.clock.monotonicMs() + this.#options.heartbeatMs;
    this.#heartbeat = this.#runtime.clock.startTimer(this.#options.heartbeatMs, () => {
      this.#judge(Math.max(0, this.#runtime.clock.monotonicMs() - dueMs));
      if (!this.#isStopping) this.#beat();
    });
  }

  #judge(deafMs: number): void {
    const nowMs = this.#runtime.clock.monotonicMs();
    for (const host of this.#hosts.values()) {
      // Its answers of that time are still waiting to be read.
      host.lastHeardMs += deafMs;
      const silenceMaxMs = host.state === 'starting' ? START_MAX_MS : this.#options.stuckMs;
      if (nowMs - host.lastHeardMs > silenceMaxMs) {
        endFor(host, `its thread did not answer for ${silenceMaxMs} ms`);
      } else if (nowMs > host.endsAtMs) {
        endFor(host, 'its thread was retired and not left in time');
      } else if (host.state !== 'starting' && !host.isAsked) {
        // Once: a thread that was busy for some beats would answer them in a row, all of them of the same moment.
        host.isAsked = true;
        host.link.signal({ kind: 'ping' });
      }
    }
  }
}

/** As a crash does, which is told with this reason. */
function endFor(host: Host, failure: string): void {
  host.failure = failure;
  host.worker.terminate();
}

function isGoing(state: ThreadState): boolean {
  return state === 'retiring' || state === 'leaving';
}
