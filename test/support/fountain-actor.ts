// Fountain: streams numbers, and knows how many it made and how often a stream of its was closed.

import { declareFaults } from '../../src/std/errors.ts';
import { actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, stream, tell } from '../../src/supervisor/protocol.ts';

export const fountainFaults = declareFaults({ fountain_dry: 'unavailable' });

export const fountainProtocol = protocol('fountain', {
  upTo: stream<number, number>(),
  endless: stream<Record<string, never>, number>(),
  /** Fails after that many items: with a declared fault, or with a bug. */
  failing: stream<{ readonly after: number; readonly how: 'fault' | 'bug' }, number>(),
  /** Gives one item, then waits until it is told to end, as one that waits for I/O does. */
  waiting: stream<Record<string, never>, number>(),
  refused: stream<Record<string, never>, number>(),
  made: call<Record<string, never>, number>(),
  closed: call<Record<string, never>, number>(),
  whereabouts: call<Record<string, never>, Address>(),
  crash: tell<string>(),
  exit: tell<number>(),
});

export const fountainActor = actor({
  module: import.meta.url,
  exportName: 'fountainActor',
  protocol: fountainProtocol,
  setup: (context) => {
    let made = 0;
    let closed = 0;
    async function* numbers(count: number): AsyncGenerator<number> {
      try {
        for (let n = 1; n <= count; n += 1) {
          made += 1;
          yield n;
        }
      } finally {
        closed += 1;
      }
    }
    return {
      upTo: (count) => numbers(count),
      endless: () => numbers(Number.POSITIVE_INFINITY),
      failing: async function* ({ after, how }) {
        yield* numbers(after);
        throw how === 'fault' ? fountainFaults.fountain_dry('no more') : new Error('a bug');
      },
      waiting: async function* (_message, { signal }) {
        try {
          yield 1;
          await new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason));
          });
        } finally {
          closed += 1;
        }
      },
      refused: () => {
        throw fountainFaults.fountain_dry('not today');
      },
      made: () => made,
      closed: () => closed,
      whereabouts: () => context.address,
      crash: (message) => {
        throw new Error(message);
      },
      exit: (code) => {
        process.exit(code);
      },
    };
  },
});
