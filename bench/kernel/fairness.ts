// Fairness: what others on the same thread notice of one flooded actor: another actor that is asked, and timers. Beside it the
// same without the flood.

import { createActorSystem } from '../../src/supervisor/system.ts';
import { type Flood, openFlooded } from './flooded.ts';
import {
  amount,
  type Contest,
  type Contestant,
  expectCount,
  percentiles,
  type Readings,
  type Size,
} from './harness.ts';
import { counter } from './subjects.ts';

const MESSAGES = 5_000_000;
/** A smaller flood, of messages that cost something. */
const BUSY_MESSAGES = 40_000;
const BUSY_US = 50;
/** How long those without a flood are watched. */
const CALM_MS = 1_500;
const TIMER_MS = 10;

export function question(size: Size): Contest[] {
  const light: Flood = { messages: amount(MESSAGES, size), busyUs: 0 };
  const heavy: Flood = { messages: amount(BUSY_MESSAGES, size), busyUs: BUSY_US };
  return [
    contest(`beside ${light.messages / 1e6} M messages that cost nothing`, light, size),
    contest(`beside ${heavy.messages / 1e3} k messages of ${BUSY_US} µs`, heavy, size),
  ];
}

function contest(what: string, flood: Flood, size: Size): Contest {
  const row = (key: string, whose: string, target?: number) => ({
    key,
    what: `${whose} ${what}`,
    unit: 'ms',
    moreIsBetter: false,
    ...(target === undefined ? {} : { target }),
  });
  const calm = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, amount(CALM_MS, size)));
  return {
    rows: [row('askP50', 'ask p50'), row('askP99', 'ask p99', 5), row('latenessMax', 'latest timer', 10)],
    contestants: [neighbours('Troupe, flooded', flood, calm), neighbours('Troupe, calm', null, calm)],
  };
}

function neighbours(name: string, flood: Flood | null, calm: () => Promise<void>): Contestant {
  return {
    name,
    open: async () => {
      const system = await createActorSystem();
      const ref = system.spawn(counter, undefined, { id: 'counter' });
      const event = flood === null ? calm : floodOf(system, flood);
      return {
        measure: () => watchNeighbours(event(), (n) => ref.ask('increment', n)),
        close: () => system.stop(),
      };
    },
  };
}

function floodOf(system: Parameters<typeof openFlooded>[0], flood: Flood): () => Promise<void> {
  const one = openFlooded(system);
  return () => one.flood(flood);
}

/** Asks one question after the other and sets one timer after the other, until `event` is over. */
async function watchNeighbours(event: Promise<void>, ask: (n: number) => Promise<number>): Promise<Readings> {
  let isOver = false;
  const samplesMs: number[] = [];
  const asking = async (): Promise<void> => {
    for (let n = 0; !isOver; n += 1) {
      const startedMs = performance.now();
      expectCount('answer', await ask(n), n + 1);
      samplesMs.push(performance.now() - startedMs);
    }
  };
  let latenessMax = 0;
  const timing = async (): Promise<void> => {
    while (!isOver) {
      const dueMs = performance.now() + TIMER_MS;
      await new Promise((resolve) => setTimeout(resolve, TIMER_MS));
      latenessMax = Math.max(latenessMax, performance.now() - dueMs);
    }
  };
  const neighbours = [asking(), timing()];
  await event;
  isOver = true;
  await Promise.all(neighbours);
  const { p50, p99 } = percentiles(Float64Array.from(samplesMs));
  return { askP50: p50, askP99: p99, latenessMax };
}
