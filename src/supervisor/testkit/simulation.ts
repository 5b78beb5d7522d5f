// Simulation: an actor system with all its threads in one process, where one seed fixes everything that happens: the order
// in which threads and actors run, how long each batch is on its way, ids, time, and which threads die, and when.
// U6 The same seed, scenario and options give the same trace, byte for byte.
// U7 Time stands still while there is something to do, but for a lag now and then, and goes on to what is due next.
// U8 The kernel is the real one: only workers, ports, clocks and event loops are replaced, each by its like.
// A scenario may use promises, but must leave real time, real I/O and real randomness alone.

import { errorText } from '../../std/errors.ts';
import { type RandomSource, seededRandom } from '../../std/ids.ts';
import { silentLog } from '../../std/log.ts';
import type { Behaviour, Supervision, ThreadServices } from '../actor.ts';
import type { ChildSpec } from '../children.ts';
import { MAIN_THREAD, Runtime } from '../runtime.ts';
import { supervisorActor } from '../supervisor.ts';
import { type ActorSystem, createActorSystem } from '../system.ts';
import { joinSystem } from '../threads/member.ts';
import type { ThreadHooks, ThreadSeed, ThreadStarter } from '../threads/thread-starter.ts';
import { loopTurn, ManualClock } from './manual-clock.ts';
import { type DeliveryDelays, SimulatedNetwork, type SimulatedPort } from './simulated-channel.ts';
import { SimulatedThread } from './simulated-thread.ts';
import { lineOf } from './trace-line.ts';

export interface FaultPlan {
  readonly delivery: DeliveryDelays;
  /** A thread takes up to this long from its start to its first turn. */
  readonly startMaxMs: number;
  /** On average a worker thread dies, without a word, once in this time. */
  readonly deathEveryMs: number;
  /** On average a worker thread stands still once in this time: for a while, or until the heartbeat finds it. */
  readonly pauseEveryMs: number;
  /** On average a worker thread uses up its heap once in this time, as its next report tells: it is retired then. */
  readonly bloatEveryMs: number;
  /** How likely it is that a step takes a moment while others wait. */
  readonly lagChance: number;
}

export const FAULTS_NONE: FaultPlan = {
  delivery: { maxMs: 1, slow: { chance: 0, maxMs: 0 } },
  startMaxMs: 20,
  deathEveryMs: Number.POSITIVE_INFINITY,
  pauseEveryMs: Number.POSITIVE_INFINITY,
  bloatEveryMs: Number.POSITIVE_INFINITY,
  lagChance: 0,
};

export interface SimulationOptions {
  readonly faults?: Partial<FaultPlan>;
  /** Children of the root, as of createActorSystem. */
  readonly children?: readonly ChildSpec[];
  readonly supervision?: Partial<Supervision>;
  /** What actors on other threads are started from, in place of their modules. */
  // biome-ignore lint/suspicious/noExplicitAny: behaviours of many protocols.
  readonly behaviours?: readonly Behaviour<any, any>[];
  readonly services?: (thread: number) => ThreadServices;
  readonly threads?: {
    readonly spare?: boolean;
    readonly heartbeatMs?: number;
    readonly stuckMs?: number;
    readonly retireMs?: number;
  };
  /** More steps than that, and the actors keep each other busy without end. */
  readonly stepsMax?: number;
}

/** What a scenario sees of its simulation. */
export interface Simulation {
  readonly seed: number;
  readonly system: ActorSystem;
  /** The scenario's own randomness: what it draws does not change what the kernel draws. */
  readonly random: RandomSource;
  nowMs(): number;
  sleep(ms: number): Promise<void>;
  /** A line of the trace. */
  note(text: string): void;
  /** All that were started, the main thread first. */
  threads(): readonly SimulatedThread[];
  killThread(thread: number): void;
  pauseThread(thread: number, ms: number): void;
  /** No more deaths and pauses from here on. */
  endFaults(): void;
}

export interface SimulationReport {
  readonly seed: number;
  readonly steps: number;
  /** One line an event. */
  readonly trace: readonly string[];
  /** What the scenario, or the end of the system, failed on. */
  readonly failure: Error | null;
}

const STEPS_MAX = 200_000;
const EXIT_MAX_MS = 5;
const PAUSE_MAX_MS = 200;
const LAG_MAX_MS = 2;
/** What actors wait for by the clock alone outlives them, but not for longer than this. */
const AFTERMATH_MS = 1_000;

/** Runs the scenario on a system of its own, then stops the system. Never rejects. */
export async function simulate(
  seed: number,
  scenario: (simulation: Simulation) => Promise<void>,
  options: SimulationOptions = {},
): Promise<SimulationReport> {
  const world = new World(seed, options);
  let failure: Error | null = null;
  try {
    await world.run(scenario);
  } catch (error) {
    failure = error instanceof Error ? error : new Error(errorText(error));
  }
  world.end();
  return { seed, steps: world.steps, trace: world.trace, failure };
}

class World {
  readonly trace: string[] = [];
  steps = 0;
  readonly #seed: number;
  readonly #options: SimulationOptions;
  readonly #faults: FaultPlan;
  readonly #random: RandomSource;
  readonly #clock = new ManualClock({ settle: async () => undefined });
  readonly #network: SimulatedNetwork;
  readonly #threads: SimulatedThread[] = [];
  /** How the owner of a thread hears of its end. */
  readonly #hooks = new Map<SimulatedThread, ThreadHooks>();
  // biome-ignore lint/suspicious/noExplicitAny: behaviours of many protocols.
  readonly #behaviours = new Map<string, Behaviour<any, any>>();
  #areFaultsOn = true;

  constructor(seed: number, options: SimulationOptions) {
    this.#seed = seed;
    this.#options = options;
    this.#faults = { ...FAULTS_NONE, ...options.faults };
    this.#random = this.#randomFor(1);
    this.#network = new SimulatedNetwork(this.#randomFor(2), this.#faults.delivery, () =>
      this.#clock.monotonicMs(),
    );
    for (const behaviour of [supervisorActor, ...(options.behaviours ?? [])]) {
      this.#behaviours.set(keyOf(behaviour.module, behaviour.exportName), behaviour);
    }
  }

  async run(scenario: (simulation: Simulation) => Promise<void>): Promise<void> {
    const { children, supervision, services, threads } = this.#options;
    const main = this.#openThread(MAIN_THREAD);
    const opening = createActorSystem({
      clock: main.clock,
      executor: main.executor,
      random: this.#randomFor(10),
      ...(children === undefined ? {} : { children }),
      ...(supervision === undefined ? {} : { supervision }),
      ...(services === undefined ? {} : { services: services(MAIN_THREAD) }),
      threads: { spare: false, ...threads, starter: this.#starter() },
      onRuntime: (runtime) => {
        main.runtime = runtime;
      },
    });
    const system = await this.#drive(opening);
    this.#planDeath();
    this.#planPause();
    this.#planBloat();
    try {
      await this.#drive(scenario(this.#simulation(system)));
    } finally {
      this.#areFaultsOn = false;
      await this.#drive(system.stop());
    }
    await this.#drive(this.#sleep(AFTERMATH_MS));
    this.#checkEnd(main);
  }

  end(): void {
    for (const thread of this.#threads) thread.die();
  }

  #simulation(system: ActorSystem): Simulation {
    return {
      seed: this.#seed,
      system,
      random: this.#randomFor(3),
      nowMs: () => this.#clock.monotonicMs(),
      sleep: (ms) => this.#sleep(ms),
      note: (text) => this.#note(text),
      threads: () => this.#threads,
      killThread: (thread) => this.#kill(this.#threads[thread], 'is killed'),
      pauseThread: (thread, ms) => this.#pause(this.#threads[thread], ms),
      endFaults: () => {
        this.#areFaultsOn = false;
      },
    };
  }

  // ---- The one loop

  /** Steps until the promise has settled. @throws when nothing is left that could settle it. */
  async #drive<T>(work: Promise<T>): Promise<T> {
    let isSettled = false;
    const settled = work.finally(() => {
      isSettled = true;
    });
    settled.catch(() => undefined); // awaited below, unless it hangs
    await loopTurn();
    while (!isSettled) {
      if (!(await this.#step())) throw new Error('it hangs: nothing is left to do');
      this.steps += 1;
      if (this.steps > (this.#options.stepsMax ?? STEPS_MAX))
        throw new Error(`the actors are still busy after ${this.steps} steps`);
    }
    return settled;
  }

  async #step(): Promise<boolean> {
    if (this.#random.float() < this.#faults.lagChance) await this.#lag();
    return (await this.#stepNow()) || (await this.#goOn());
  }

  async #stepNow(): Promise<boolean> {
    const nowMs = this.#clock.monotonicMs();
    const threads = this.#threads.filter((thread) => thread.hasWork);
    const ports = this.#network.ports.filter((port) => this.#isDue(port, nowMs));
    const count = threads.length + ports.length;
    if (count === 0) return false;
    const picked = Math.floor(this.#random.float() * count);
    const thread = threads[picked];
    if (thread !== undefined) {
      this.#note(`thread ${thread.thread} runs`);
      thread.step();
    } else {
      const port = ports[picked - threads.length];
      const way = `${port?.from}>${port?.holder}`;
      this.#note(`${way} ${lineOf(port?.deliver())}`);
    }
    await loopTurn();
    return true;
  }

  /** U7. False when nothing will ever be due. */
  async #goOn(): Promise<boolean> {
    const dues = this.#network.ports.flatMap((port) => (this.#isDue(port) ? (port.dueMs ?? []) : []));
    const dueMs = Math.min(this.#clock.nextDueMs ?? Number.POSITIVE_INFINITY, ...dues);
    if (dueMs === Number.POSITIVE_INFINITY) return false;
    await this.#clock.advance(Math.max(0, dueMs - this.#clock.monotonicMs()));
    return true;
  }

  async #lag(): Promise<void> {
    await this.#clock.advance(this.#random.float() * LAG_MAX_MS);
  }

  #isDue(port: SimulatedPort, nowMs = Number.POSITIVE_INFINITY): boolean {
    const { dueMs } = port;
    return dueMs !== null && dueMs <= nowMs && this.#threads[port.holder]?.canRun === true;
  }

  // ---- Threads

  #openThread(thread: number): SimulatedThread {
    const opened = new SimulatedThread(thread, this.#clock, this.#randomFor(1_000 + thread));
    this.#threads[thread] = opened;
    return opened;
  }

  #starter(): ThreadStarter {
    return {
      channel: () => this.#network.channel(MAIN_THREAD),
      start: (seed, hooks) => {
        const thread = this.#openThread(seed.thread);
        (seed.port as SimulatedPort).holder = seed.thread;
        this.#hooks.set(thread, hooks);
        thread.clock.startTimer(this.#random.float() * this.#faults.startMaxMs, () =>
          this.#boot(thread, seed),
        );
        return { terminate: () => this.#kill(thread, 'is terminated') };
      },
      receive: this.#receive,
      loadBehaviour: this.#loadBehaviour,
    };
  }

  #boot(thread: SimulatedThread, seed: ThreadSeed): void {
    thread.runtime = new Runtime({
      thread: thread.thread,
      clock: thread.clock,
      random: this.#randomFor(10 + thread.thread),
      log: silentLog,
      services: this.#options.services?.(thread.thread) ?? ({} as ThreadServices),
      executor: thread.executor,
    });
    joinSystem(thread.runtime, seed, {
      loadBehaviour: this.#loadBehaviour,
      heapUsedBytes: () => thread.heapUsedBytes,
      loopLagMs: () => 0,
      receive: this.#receive,
      close: async () => undefined,
      exit: () => {
        this.#note(`thread ${thread.thread} leaves`);
        thread.die();
        this.#reportExit(thread, 0);
      },
    });
  }

  readonly #loadBehaviour: ThreadStarter['loadBehaviour'] = async (module, exportName) => {
    const behaviour = this.#behaviours.get(keyOf(module, exportName));
    if (behaviour === undefined)
      throw new Error(`${exportName} of ${module} is not among the simulation's behaviours`);
    return behaviour;
  };

  readonly #receive: ThreadStarter['receive'] = (port) => {
    const { from, holder } = port as SimulatedPort;
    const batch = (port as SimulatedPort).shift();
    if (batch !== undefined) this.#note(`${from}>${holder} ${lineOf(batch)}`);
    return batch;
  };

  #kill(thread: SimulatedThread | undefined, how: string): void {
    if (thread?.isAlive !== true || thread.thread === MAIN_THREAD) return;
    thread.die();
    const lost = this.#network.threadDies(thread.thread);
    this.#note(`thread ${thread.thread} ${how}; ${lost} batches of it are lost`);
    this.#reportExit(thread, 1);
  }

  #reportExit(thread: SimulatedThread, code: number): void {
    const main = this.#threads[MAIN_THREAD];
    main?.clock.startTimer(this.#random.float() * EXIT_MAX_MS, () => this.#hooks.get(thread)?.exited(code));
  }

  #pause(thread: SimulatedThread | undefined, ms: number): void {
    if (thread?.canRun !== true) return;
    this.#note(`thread ${thread.thread} stands still for ${ms} ms`);
    thread.isPaused = true;
    if (ms === Number.POSITIVE_INFINITY) return;
    this.#clock.startTimer(ms, () => {
      thread.isPaused = false;
    });
  }

  // ---- Faults

  #planDeath(): void {
    this.#plan(this.#faults.deathEveryMs, (thread) => this.#kill(thread, 'dies'));
  }

  #planPause(): void {
    this.#plan(this.#faults.pauseEveryMs, (thread) => {
      const isForEver = this.#random.float() < 0.2;
      this.#pause(thread, isForEver ? Number.POSITIVE_INFINITY : this.#random.float() * PAUSE_MAX_MS);
    });
  }

  #planBloat(): void {
    this.#plan(this.#faults.bloatEveryMs, (thread) => {
      if (thread === undefined) return;
      this.#note(`thread ${thread.thread} has used up its heap`);
      thread.heapUsedBytes = Number.MAX_SAFE_INTEGER;
    });
  }

  #plan(everyMs: number, strike: (thread: SimulatedThread | undefined) => void): void {
    if (everyMs === Number.POSITIVE_INFINITY) return;
    this.#clock.startTimer(this.#random.float() * 2 * everyMs, () => {
      if (!this.#areFaultsOn) return;
      const workers = this.#threads.filter(({ thread, canRun }) => thread !== MAIN_THREAD && canRun);
      strike(workers[Math.floor(this.#random.float() * workers.length)]);
      this.#plan(everyMs, strike);
    });
  }

  /** What a stopped system must not leave behind (Y2). */
  #checkEnd(main: SimulatedThread): void {
    const alive = this.#threads.filter(({ thread, isAlive }) => isAlive && thread !== MAIN_THREAD);
    if (alive.length > 0) throw new Error(`the stopped system left thread ${alive[0]?.thread} alive`);
    if (main.timers > 0) throw new Error(`the stopped system left ${main.timers} timers`);
    const actors = main.runtime?.cells.size ?? 0;
    if (actors > 0) throw new Error(`the stopped system left ${actors} actors`);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.startTimer(ms, resolve));
  }

  #note(text: string): void {
    this.trace.push(`${this.#clock.monotonicMs().toFixed(3)} ${text}`);
  }

  /** Apart from each other, so that a draw more here does not change what comes there. */
  #randomFor(purpose: number): RandomSource {
    return seededRandom(Math.imul(this.#seed + 1, 0x9e3779b1) ^ Math.imul(purpose, 0x85ebca6b));
  }
}

function keyOf(module: string, exportName: string): string {
  return `${exportName} of ${module}`;
}
