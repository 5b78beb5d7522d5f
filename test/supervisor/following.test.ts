import { expect, test } from 'vitest';
import { declareFaults } from '../../src/std/errors.ts';
import { type ActorContext, actor } from '../../src/supervisor/actor.ts';
import { child } from '../../src/supervisor/children.ts';
import { follow } from '../../src/supervisor/following.ts';
import { call, protocol, stream, tell } from '../../src/supervisor/protocol.ts';
import { openSystem } from '../support/actor-system.ts';

const GENEROUS = { timeout: 20_000 };
const faults = declareFaults({ not_today: 'unavailable' });

/** Counts what it is told, streams the counts, and can be ended in every way. */
const bell = protocol('bell', {
  rung: stream<Record<string, never>, number>(),
  ring: tell<number>(),
  crash: tell<Record<string, never>>(),
});

const bellActor = actor({
  module: import.meta.url,
  exportName: 'bellActor',
  protocol: bell,
  setup: () => {
    const heard: number[] = [];
    let wake = (): void => undefined;
    return {
      async *rung(_, { signal }) {
        signal.addEventListener('abort', () => wake());
        while (!signal.aborted) {
          const next = heard.shift();
          if (next === -1) throw faults.not_today('the bell is being mended');
          if (next === 0) return;
          if (next !== undefined) yield next;
          else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      },
      ring(number) {
        heard.push(number);
        wake();
      },
      crash() {
        throw new Error('cracked');
      },
    };
  },
});

const listener = protocol('listener', {
  heard: call<Record<string, never>, readonly (number | 'begun')[]>(),
});

const listenerActor = actor({
  module: import.meta.url,
  exportName: 'listenerActor',
  protocol: listener,
  setup(context: ActorContext<typeof listener>) {
    const heard: (number | 'begun')[] = [];
    follow(
      context,
      bell,
      'rung',
      {},
      {
        onBegun: () => heard.push('begun'),
        onItem: async (number) => {
          await undefined;
          if (number === 13) throw faults.not_today('not thirteen');
          heard.push(number);
        },
      },
    );
    return { heard: () => heard };
  },
});

async function openBell() {
  const system = await openSystem({
    children: [
      child(bellActor, undefined, { id: 'bell', name: true }),
      child(listenerActor, undefined, { id: 'listener', name: true }),
    ],
  });
  const heard = () => system.named(listener).ask('heard', {});
  const hears = (...expected: (number | 'begun')[]) => expect.poll(heard, GENEROUS).toEqual(expected);
  return { system, bell: system.named(bell), hears };
}

test('what is streamed is taken in order, from the start on', async () => {
  const { bell: ref, hears } = await openBell();
  for (const number of [1, 2, 3]) ref.tell('ring', number);
  await hears('begun', 1, 2, 3);
});

test.each([
  ['ends', 0],
  ['fails with a fault', -1],
  ['gives what cannot be taken for now', 13],
])('a stream that %s is begun anew', async (_, number) => {
  const { bell: ref, hears } = await openBell();
  ref.tell('ring', 1);
  await hears('begun', 1);
  ref.tell('ring', number);
  await hears('begun', 1, 'begun');
  ref.tell('ring', 2);
  await hears('begun', 1, 'begun', 2);
});

test('an actor that crashes is followed again when it is back', async () => {
  const { bell: ref, hears } = await openBell();
  await hears('begun');
  ref.tell('crash', {});
  await hears('begun', 'begun');
  ref.tell('ring', 5);
  await hears('begun', 'begun', 5);
});
