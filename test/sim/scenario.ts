// Scenario: what one seed makes of it. A random tree over several threads, random deeds of its actors, random faults; then
// time for everything to settle, and the verdict.

import type {
  ChildOptions,
  Placement,
  Restart,
  SupervisionStrategy,
  ThreadServices,
} from '../../src/supervisor/actor.ts';
import {
  type FaultPlan,
  failing,
  type SimulationReport,
  simulate,
} from '../../src/supervisor/testkit/index.ts';
import { Dice } from './dice.ts';
import { type ChildPlan, Ledger, OUTSIDE, SHUTDOWN_MS, type Surroundings } from './ledger.ts';
import { type AnswerMode, type Deed, nodeActor, nodeProtocol } from './node-actor.ts';
import { judge } from './verdict.ts';

const DEADLINE_MS = 30_000;
/** Longer than deadlines, backoffs, and the time that a thread may take to start. */
const QUIET_MS = 75_000;
const DEEDS_MIN = 30;
export const DEEDS_MAX = 200;
/** A tree first. */
const SPAWNS_FIRST = 15;
const MODES: readonly AnswerMode[] = [
  'now',
  'now',
  'later',
  'later',
  'never',
  'fault',
  'crash',
  'crash later',
];
const NAMES = ['alpha', 'beta', 'gamma'];
const THREADS = ['one', 'two', 'three'];

/** Runs the seed's scenario, or its beginning. `failure` says what was violated. */
export function runSeed(seed: number, deedsMax = Number.POSITIVE_INFINITY): Promise<SimulationReport> {
  let around: Surroundings = {
    nowMs: () => 0,
    note: () => undefined,
    threadEndedAtMs: () => null,
    standsStill: () => false,
    areThreadsRetired: isBloated(seed),
  };
  const ledger = new Ledger({
    nowMs: () => around.nowMs(),
    note: (text) => around.note(text),
    threadEndedAtMs: (thread) => around.threadEndedAtMs(thread),
    standsStill: (thread) => around.standsStill(thread),
    areThreadsRetired: isBloated(seed),
  });
  return simulate(
    seed,
    async (simulation) => {
      const { system, sleep, threads } = simulation;
      around = {
        nowMs: simulation.nowMs,
        note: simulation.note,
        threadEndedAtMs: (thread) => threads()[thread]?.diedAtMs ?? null,
        standsStill: (thread) => threads()[thread]?.isPaused === true,
        areThreadsRetired: isBloated(seed),
      };
      const dice = new Dice(simulation.random);
      const roots = 2 + dice.int(3);
      for (let i = 0; i < roots; i += 1) {
        const { options, plan } = newChild(dice, ledger, `root-${i}`);
        // Without a name: two roots of one name would take turns in crashing for ever.
        const { name: _name, ...nameless } = options;
        system.spawn(
          nodeActor,
          { ...plan, restart: 'permanent', parent: OUTSIDE },
          { ...nameless, restart: 'permanent' },
        );
      }
      const deeds = Math.min(deedsMax, DEEDS_MIN + dice.int(DEEDS_MAX - DEEDS_MIN));
      for (let i = 0; i < deeds; i += 1) {
        if (dice.chance(0.6)) await sleep(dice.upTo(dice.chance(0.03) ? 2_000 : 20));
        const doer = dice.pick(someActors(dice, ledger));
        const mail = ledger.send(OUTSIDE, doer, null);
        const address = ledger.incarnations.get(doer)?.address;
        if (address === undefined) continue;
        const message = { mail, deed: newDeed(dice, ledger, i < SPAWNS_FIRST) };
        const isTaken = system.refTo(nodeProtocol, address).tell('act', message);
        const sent = ledger.sent.get(mail.id);
        if (sent !== undefined) sent.isTaken = isTaken;
      }
      await sleep(dice.upTo(1_000));
      simulation.endFaults();
      await sleep(QUIET_MS);
      judge(simulation, ledger);
      if (ledger.violations.length > 0) throw new Error(ledger.violations.join('\n'));
    },
    {
      behaviours: [seed % 4 === 1 ? failing(nodeActor, 0.005) : nodeActor],
      services: () => ({ ledger }) as Partial<ThreadServices> as ThreadServices,
      supervision: { intensity: { restartsMax: 1_000, withinMs: 1 }, backoff: { initialMs: 0, maxMs: 0 } },
      threads: {
        spare: seed % 2 === 0,
        heartbeatMs: isBloated(seed) ? 500 : 4_000,
        stuckMs: 9_000,
        retireMs: 5_000,
      },
      faults: faultsOf(seed),
    },
  ).then((report) => {
    const late = ledger.violations.length > 0 && report.failure === null;
    return late ? { ...report, failure: new Error(ledger.violations.join('\n')) } : report;
  });
}

/** Threads that are retired: one seed in seven, since it takes a quick heartbeat. */
function isBloated(seed: number): boolean {
  return seed % 7 === 0;
}

/** One seed in three is without deaths and pauses, so that what may only happen by them is seen when it happens alone. */
function faultsOf(seed: number): Partial<FaultPlan> {
  const isCalm = seed % 3 === 0;
  return {
    delivery: { maxMs: seed % 5 === 0 ? 30 : 3, slow: { chance: 0.05, maxMs: 300 } },
    startMaxMs: 100,
    lagChance: 0.05,
    ...(isBloated(seed) ? { bloatEveryMs: 600 } : {}),
    ...(isCalm ? {} : { deathEveryMs: 400, pauseEveryMs: 500 }),
  };
}

/** Mostly the living; the dead get their mail too. */
function someActors(dice: Dice, ledger: Ledger): readonly number[] {
  const all = [...ledger.incarnations.keys()];
  const living = all.filter((actor) => ledger.isAlive(actor));
  return living.length > 0 && dice.chance(0.9) ? living : all.length > 0 ? all : [0];
}

function newDeed(dice: Dice, ledger: Ledger, isEarly: boolean): Deed {
  const target = ledger.incarnations.get(dice.pick(someActors(dice, ledger)))?.address;
  if (target === undefined) return { do: 'time', key: 'a', afterMs: 1, isRepeated: false };
  const to = dice.chance(0.15) ? dice.pick(NAMES) : target;
  // A tree first, and eyes on it.
  const roll = isEarly ? 46 + dice.upTo(30) : dice.upTo(100);
  if (roll < 20) return { do: 'tell', to, count: 1 + dice.int(dice.chance(0.1) ? 200 : 8) };
  if (roll < 40)
    return {
      do: 'ask',
      to,
      mode: dice.pick(MODES),
      afterMs: dice.upTo(200),
      deadlineMs: dice.chance(0.2) ? 50 + dice.int(100) : DEADLINE_MS,
      abortAfterMs: dice.chance(0.15) ? dice.upTo(100) : null,
    };
  if (roll < 46)
    return {
      do: 'stream',
      to: target,
      count: dice.int(10),
      pauseMs: dice.chance(0.5) ? 0 : dice.upTo(20),
      takeMax: dice.chance(0.3) ? 1 + dice.int(5) : 1_000,
      failsAt: dice.chance(0.2) ? dice.int(5) : null,
    };
  if (roll < 57) return { do: 'watch', target, unwatchAfterMs: dice.chance(0.2) ? dice.upTo(100) : null };
  if (roll < 59) return { do: 'link', target, unlinkAfterMs: dice.chance(0.3) ? dice.upTo(100) : null };
  if (roll < 61) return { do: 'set aside', forMs: dice.upTo(100) };
  if (roll < 76) return { do: 'spawn', ...newChild(dice, ledger, `c${dice.int(4)}`) };
  if (roll < 80) return { do: 'stop child', id: `c${dice.int(4)}`, drain: dice.chance(0.3) };
  if (roll < 83) return { do: 'stop' };
  if (roll < 90) return { do: 'crash' };
  if (roll < 92) return { do: 'crash later', afterMs: dice.upTo(50) };
  if (roll < 97)
    return {
      do: 'time',
      key: dice.pick(['a', 'b']),
      afterMs: 1 + dice.upTo(100),
      isRepeated: false,
    };
  return { do: 'pipe', afterMs: dice.upTo(50), fails: dice.chance(0.5) };
}

function newChild(
  dice: Dice,
  ledger: Ledger,
  id: string,
): { readonly options: ChildOptions; readonly plan: Omit<ChildPlan, 'parent'> } {
  const restart = dice.pick<Restart>(['permanent', 'permanent', 'transient', 'temporary']);
  const placement = dice.pick<Placement>([
    'parent',
    'parent',
    'parent',
    'edge',
    'any',
    { thread: dice.pick(THREADS) },
    { thread: dice.pick(THREADS) },
    dice.chance(0.3) ? 'dedicated' : { anyOf: THREADS },
  ]);
  const isBounded = dice.chance(0.2);
  const mailbox = {
    lengthMax: 1 + dice.int(4),
    whenFull: dice.pick(['reject', 'drop_oldest'] as const),
  };
  return {
    options: {
      id,
      restart,
      placement,
      shutdownMs: SHUTDOWN_MS,
      ...(isBounded ? { mailbox } : {}),
      ...(dice.chance(0.2) ? { name: dice.pick(NAMES) } : {}),
    },
    plan: {
      spawn: `${id}#${ledger.number()}`,
      restart,
      isBounded,
      strategy: dice.pick<SupervisionStrategy>(['one_for_one', 'one_for_one', 'one_for_all', 'rest_for_one']),
      restartsMax: 1 + dice.int(4),
      backoffMaxMs: dice.chance(0.5) ? 0 : 200,
      setupMs: dice.chance(0.3) ? dice.upTo(50) : 0,
      setupFailures: dice.chance(0.05) ? 1 + dice.int(3) : 0,
      // Some take longer than they may, some for ever.
      stopMs: dice.chance(0.2) ? dice.upTo(700) : dice.chance(0.03) ? Number.POSITIVE_INFINITY : 0,
    },
  };
}
