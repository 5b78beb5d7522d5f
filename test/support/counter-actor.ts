// A small actor for kernel tests, importable by a worker thread.

import { declareFaults } from '../../src/std/errors.ts';
import { actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, stream, tell } from '../../src/supervisor/protocol.ts';
import { probeProtocol } from '../../src/supervisor/testkit/index.ts';

export const counterFaults = declareFaults({ counter_overflow: 'conflict' });

export const counterProtocol = protocol('counter', {
  add: tell<number>(),
  total: call<Record<string, never>, number>(),
  /** Answers the thread that the actor lives on. */
  whereabouts: call<Record<string, never>, Address>(),
  refuse: call<string, never>({ faults: counterFaults }),
  never: call<Record<string, never>, number>(),
  /** How many `never` it was asked. */
  asked: call<Record<string, never>, number>(),
  /** Tells that probe something, and ends its process, in the same turn. */
  lastWords: tell<Address>(),
  /** Rejects as soon as its signal is aborted, as a fetch does. */
  untilAborted: call<Record<string, never>, never>(),
  /** Adds one and tells itself to go on, without end. */
  churn: tell<Record<string, never>>(),
  stop: tell<Record<string, never>>(),
  crash: tell<string>(),
  crashLater: tell<string>(),
  crashOnAsk: call<string, never>(),
  /** Throws where no actor is to blame. */
  uncaught: tell<string>(),
  unhandled: tell<string>(),
  exit: tell<number>(),
  spin: tell<Record<string, never>>(),
  hoard: tell<Record<string, never>>(),
  count: stream<{ readonly to: number }, number>(),
  aborted: call<Record<string, never>, number>(),
});

export interface CounterArguments {
  readonly start: number;
  readonly failSetup?: boolean;
}

export const counterActor = actor({
  module: import.meta.url,
  exportName: 'counterActor',
  protocol: counterProtocol,
  setup: (context, { start, failSetup }: CounterArguments) => {
    if (failSetup === true) throw new Error('setup failed as told');
    let total = start;
    let aborted = 0;
    let asked = 0;
    return {
      add: (n) => {
        total += n;
      },
      total: () => total,
      whereabouts: () => context.address,
      refuse: (message) => {
        throw counterFaults.counter_overflow(message, { details: { total } });
      },
      never: (_message, inquiry) => {
        asked += 1;
        inquiry.signal.addEventListener('abort', () => {
          aborted += 1;
        });
        return new Promise<number>(() => undefined);
      },
      asked: () => asked,
      lastWords: (address) => {
        context.refTo(probeProtocol, address).tell('note', 'farewell');
        // After the microtasks of this turn, with which the mail goes out.
        setImmediate(() => process.exit(1));
      },
      untilAborted: (_message, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted += 1;
            reject(signal.reason);
          });
        }),
      churn: () => {
        total += 1;
        context.self.tell('churn', {});
      },
      stop: () => context.stopSelf(),
      crash: (message) => {
        throw new Error(message);
      },
      crashLater: async (message) => {
        await Promise.resolve();
        throw new Error(message);
      },
      crashOnAsk: (message) => {
        throw new Error(message);
      },
      uncaught: (message) => {
        setImmediate(() => {
          throw new Error(message);
        });
      },
      unhandled: (message) => {
        void Promise.reject(new Error(message));
      },
      exit: (code) => {
        process.exit(code);
      },
      spin: () => {
        for (;;);
      },
      hoard: () => {
        const kept: unknown[] = [];
        for (;;) kept.push(new Array(1e5).fill({}));
      },
      count: async function* ({ to }) {
        try {
          for (let n = 1; n <= to; n += 1) yield n;
        } finally {
          aborted += 1;
        }
      },
      aborted: () => aborted,
    };
  },
});
