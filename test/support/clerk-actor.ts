// Clerk: sets mail aside while its counter is closed, and tells a probe when nobody comes.

import { type ActorContext, actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, stream, tell } from '../../src/supervisor/protocol.ts';
import { probeProtocol } from '../../src/supervisor/testkit/index.ts';

export const clerkProtocol = protocol('clerk', {
  open: tell<Record<string, never>>(),
  /** Answers its own number once the counter is open. */
  serve: call<number, number>(),
  /** The same, by a handler that is an async function. */
  serveLater: call<number, number>(),
  /** No answer, noted once the counter is open. */
  file: tell<number>(),
  /** Opens, serves one, and closes again: the others go back to the stash. */
  serveOne: tell<Record<string, never>>(),
  served: call<Record<string, never>, readonly number[]>(),
  browse: stream<Record<string, never>, number>(),
  whereabouts: call<Record<string, never>, Address>(),
  /** Tells the probe each time that no mail came for `idleMs`. */
  await: call<{ readonly idleMs: number; readonly probe: Address }, true>(),
  relax: call<Record<string, never>, true>(),
  /** Ticks to the probe every millisecond, by a timer and by a receive timeout, until it ends. */
  tick: call<Address, true>(),
  crash: tell<string>(),
  stop: tell<Record<string, never>>(),
});

export const clerkActor = actor({
  module: import.meta.url,
  exportName: 'clerkActor',
  protocol: clerkProtocol,
  setup: (context) => {
    const served: number[] = [];
    let places = 0;
    let relax = (): void => undefined;
    const serve = (n: number): number => {
      if (places === 0) return context.stash();
      places -= 1;
      served.push(n);
      return n;
    };
    return {
      open: () => {
        places = Number.POSITIVE_INFINITY;
        context.unstashAll();
      },
      serve,
      serveLater: async (n) => serve(n),
      file: (n) => {
        serve(n);
      },
      serveOne: () => {
        places = 1;
        context.unstashAll();
      },
      served: () => served,
      browse: () => context.stash(),
      whereabouts: () => context.address,
      await: ({ idleMs, probe }) => {
        relax = context.receiveTimeout(idleMs, () => note(context, probe, 'idle'));
        return true;
      },
      relax: () => {
        relax();
        return true;
      },
      tick: (probe) => {
        context.every('tick', 1, () => note(context, probe, 'tick'));
        context.receiveTimeout(1, () => note(context, probe, 'idle'));
        return true;
      },
      crash: (message) => {
        throw new Error(message);
      },
      stop: () => context.stopSelf(),
    };
  },
});

function note(context: ActorContext<typeof clerkProtocol>, probe: Address, what: string): void {
  context.refTo(probeProtocol, probe).tell('note', what);
}
