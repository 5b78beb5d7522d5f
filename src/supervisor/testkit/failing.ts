// Failing: the same behaviour with bugs in it, for tests of what supervises and asks it.
// U9 A handler fails after it has done its work, as the worst bugs do: what it changed is changed, and its asker hears of a
//    crash. Which ones fail follows from the actor's own randomness.

import type { ActorContext, Behaviour, Forwards, Handlers } from '../actor.ts';
import { Forwarding } from '../forwarding.ts';
import type { Protocol } from '../protocol.ts';

/** A `chance` of 0.01 fails one message of a hundred. Give it to a simulation's `behaviours` for actors on other threads. */
export function failing<P extends Protocol, Args>(
  behaviour: Behaviour<P, Args>,
  chance: number,
): Behaviour<P, Args> {
  return {
    ...behaviour,
    setup: (context, args) => {
      const ready = behaviour.setup(context, args);
      return ready instanceof Promise
        ? ready.then((handlers) => unreliable(handlers, context, chance))
        : unreliable(ready, context, chance);
    },
  };
}

function unreliable<P extends Protocol>(
  ready: Handlers<P> | Forwards,
  context: ActorContext<P>,
  chance: number,
): Handlers<P> | Forwards {
  if (ready instanceof Forwarding) return ready; // it handles nothing itself
  const handlers = Object.entries(ready as Readonly<Record<string, (...received: unknown[]) => unknown>>);
  const failingOnes = handlers.map(([name, handle]) => [
    name,
    (...received: unknown[]) => {
      const result = handle(...received);
      if (context.random.float() >= chance) return result;
      // What it would still have answered reaches nobody, a failure included.
      if (result instanceof Promise) result.catch(() => undefined);
      throw new Error(`an injected failure in ${name}`);
    },
  ]);
  return Object.fromEntries(failingOnes) as Handlers<P>;
}
