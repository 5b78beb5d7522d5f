// PoolScenario: routers and residents in a simulation, what one seed makes of them. Random pools over several threads, random
// mail from several threads, random faults; then time for everything to settle, and the verdict.

import type { Placement, ThreadServices } from '../../src/supervisor/actor.ts';
import { residents, residentsActor } from '../../src/supervisor/residents/residents.ts';
import { router, routerActor, routerProtocol } from '../../src/supervisor/routing/router.ts';
import {
  type FaultPlan,
  type SimulatedThread,
  type Simulation,
  type SimulationReport,
  simulate,
} from '../../src/supervisor/testkit/index.ts';
import { Dice } from './dice.ts';
import { type Errand, memberActor, memberProtocol, senderActor, senderProtocol } from './pool-actors.ts';
import { PoolBook } from './pool-book.ts';
import { DEEDS_MAX } from './scenario.ts';

const THREADS = ['one', 'two', 'three'];
const SENDERS = ['s0', 's1', 's2', 's3'];
const KEYS = ['a', 'b', 'c', 'd', 'e'];
/** Pools that are always taken up again, however much is done to them. */
const PATIENCE = { intensity: { restartsMax: 1_000, withinMs: 60_000 } };
const DEADLINE_MS = 5_000;
/** All names are known everywhere by then. */
const OPENING_MS = 500;
/** Longer than deadlines, drains, and the time that a stuck thread is given. */
const QUIET_MS = 60_000;

/** What happens to the threads; each third of the seeds has one. */
type Weather = 'calm' | 'threads are left' | 'threads die';

export function runPoolSeed(seed: number, errandsMax = DEEDS_MAX): Promise<SimulationReport> {
  const weather = (['calm', 'threads are left', 'threads die'] as const)[seed % 3] ?? 'calm';
  let threads: () => readonly SimulatedThread[] = () => [];
  const book = new PoolBook(() => threads());
  const scenario = async (simulation: Simulation): Promise<void> => {
    threads = simulation.threads;
    const dice = new Dice(simulation.random);
    const isNoneLost = openPools(simulation, dice, weather);
    await simulation.sleep(OPENING_MS);
    for (let n = 0; n < errandsMax; n += 1) {
      if (dice.chance(0.5)) await simulation.sleep(dice.upTo(50));
      if (weather === 'threads die' && dice.chance(0.02)) resize(simulation, dice);
      const errand = newErrand(dice, weather);
      simulation.system.named(senderProtocol, dice.pick(SENDERS)).tell('send', errand);
    }
    simulation.endFaults();
    await simulation.sleep(QUIET_MS);
    judgeMail(book, weather, isNoneLost);
    await judgePools(simulation, book);
    if (book.violations.length > 0) throw new Error(book.violations.join('\n'));
  };
  return simulate(seed, scenario, {
    behaviours: [memberActor, senderActor, routerActor, residentsActor],
    services: () => ({ book }) as Partial<ThreadServices> as ThreadServices,
    supervision: PATIENCE,
    threads: { heartbeatMs: 300, stuckMs: 1_500, retireMs: 2_000 },
    faults: faultsOf(seed, weather),
  });
}

function faultsOf(seed: number, weather: Weather): Partial<FaultPlan> {
  return {
    delivery: { maxMs: 1 + (seed % 7), slow: { chance: 0.02, maxMs: 60 } },
    lagChance: 0.02,
    ...(weather === 'calm' ? {} : { bloatEveryMs: 600 }),
    ...(weather === 'threads die' ? { deathEveryMs: 1_500, pauseEveryMs: 1_500 } : {}),
  };
}

/** True when one of the router's actors is always up, and the router is where a sender is, who hears the verdict. */
function openPools({ system }: Simulation, dice: Dice, weather: Weather): boolean {
  const place = (): Placement =>
    dice.pick<Placement>(['parent', 'any', ...THREADS.map((thread) => ({ thread }))]);
  const someWhere = (): Placement => (dice.chance(0.5) ? 'edge' : { thread: dice.pick(THREADS) });
  const strategy = dice.pick(['round_robin', 'least_loaded', 'consistent_hash'] as const);
  const isSheltered = weather !== 'threads die' && dice.chance(0.7);
  const placements = Array.from({ length: 1 + dice.int(4) }, (_, at) =>
    isSheltered && at === 0 ? 'parent' : place(),
  );
  const placement = isSheltered ? 'edge' : someWhere();
  const together = dice.pick(['one_for_one', 'one_for_one', 'one_for_all', 'rest_for_one'] as const);
  const pool = router(memberActor, null, {
    strategy,
    keyOf: 'keyOf',
    routees: 1 + dice.int(5),
    placements,
    supervision: { ...PATIENCE, strategy: together },
  });
  system.spawn(...pool, { id: 'pool', name: 'pool', placement });
  const many = residents(memberActor, null as never, {
    keyOf: 'keyOf',
    idleMs: dice.pick([20, 200]),
    residentsMax: 1 + dice.int(4),
    ...(dice.chance(0.6) ? { placements: Array.from({ length: 1 + dice.int(3) }, place) } : {}),
  });
  system.spawn(...many, { id: 'many', name: 'many', placement: someWhere() });
  SENDERS.forEach((name, at) => {
    const home: Placement = at === 0 ? 'edge' : { thread: THREADS[at % THREADS.length] ?? 'one' };
    system.spawn(senderActor, undefined, { id: name, name, placement: home });
  });
  return isSheltered && together !== 'one_for_all' && strategy !== 'consistent_hash';
}

function newErrand(dice: Dice, weather: Weather): Errand {
  const letter = {
    key: dice.pick(KEYS),
    workMs: dice.chance(0.5) ? 0 : dice.upTo(dice.chance(0.1) ? 1_000 : 50),
    items: 1 + dice.int(8),
    isFatal: weather === 'threads die' && dice.chance(0.05),
  };
  return {
    way: dice.pick(['tell', 'tell', 'tell', 'ask', 'ask', 'stream']),
    to: dice.pick(['pool', 'many']),
    letter,
    deadlineMs: dice.pick([100, DEADLINE_MS]),
    takeMax: dice.pick([1, 3, 100]),
  };
}

function resize({ system }: Simulation, dice: Dice): void {
  const asked = system.named(routerProtocol, 'pool').ask('$resize', { routees: 1 + dice.int(5) });
  asked.catch(() => undefined); // it may be down just now
}

function judgeMail(book: PoolBook, weather: Weather, isNoneLost: boolean): void {
  for (const [id, { way, to, from, isRefused, isHandled, outcome }] of book.sent) {
    if (way !== 'tell' && outcome === null && book.isThere(from))
      book.violate(`${way} ${id} to ${to} never ended`);
    const isSafe = weather === 'calm' || (isNoneLost && to === 'pool' && from.thread === 0);
    if (!isSafe) continue;
    const isFine = way === 'tell' ? isHandled && !isRefused : ['done', 'ask_timeout'].includes(outcome ?? '');
    // A stream ends with the actor that is moved.
    const isCut = way === 'stream' && weather !== 'calm';
    if (!isFine && !isCut) book.violate(`${way} ${id} to ${to} was lost: ${outcome}`);
  }
}

async function judgePools({ system, threads, sleep }: Simulation, book: PoolBook): Promise<void> {
  for (const { path, address, isUp, load } of await system
    .named(routerProtocol, 'pool')
    .ask('$routees', {})) {
    if (!isUp || address === null || !book.isThere(address)) book.violate(`${path} is down`);
    if (load > 0) book.violate(`${path} has a load of ${load}, and nothing to do`);
  }
  for (const key of KEYS) {
    for (const to of ['pool', 'many']) {
      const letter = { id: 0, from: 0, key, workMs: 0, items: 1, isFatal: false };
      const asked = system.named(memberProtocol, to).ask('wonder', letter);
      await asked.catch((error: Error) => book.violate(`${to} does not answer for ${key}: ${error.message}`));
    }
  }
  await sleep(DEADLINE_MS);
  if (book.residents.length > 0) book.violate(`${book.residents.length} residents are never passivated`);
  const sums = { sent: 0, settled: 0, queued: 0 };
  for (const { isAlive, runtime } of threads()) {
    if (!isAlive || runtime === null) continue;
    const { sent, handled, rejected, deadLettered } = runtime.counters;
    sums.sent += sent;
    sums.settled += handled + rejected + deadLettered;
    sums.queued += runtime.queued();
    for (const { path, openWork } of runtime.cells.values())
      if (openWork > 0) book.violate(`${path} has ${openWork} pieces of open work`);
  }
  if (sums.sent !== sums.settled || sums.queued > 0)
    book.violate(`the counters do not add up: ${JSON.stringify(sums)}`);
}
