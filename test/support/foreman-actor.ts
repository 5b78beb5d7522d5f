// Foreman: places children from wherever it lives, and uses their refs at once.

import { type ActorContext, actor, type ChildOptions, type Terminated } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, type Ref, tell } from '../../src/supervisor/protocol.ts';
import { counterActor, type counterProtocol } from './counter-actor.ts';

export interface Hired {
  readonly address: Address;
  /** Of what it was told before it can have been placed. */
  readonly total: number;
}

export const foremanProtocol = protocol('foreman', {
  whereabouts: call<Record<string, never>, Address>(),
  hire: call<ChildOptions, Hired>(),
  /** The same without waiting for anything. */
  hireBlindly: tell<ChildOptions>(),
  fire: call<string, true>(),
  /** Hires and fires in the same turn. */
  regret: call<ChildOptions, Terminated>(),
  /** Hires, and watches its end by a crash. */
  outlive: call<ChildOptions, Terminated>(),
  /** Hires, watches and crashes, linked to it. */
  goDownWith: tell<ChildOptions>(),
  drainAtOnce: call<ChildOptions, Terminated>(),
});

export const foremanActor = actor({
  module: import.meta.url,
  exportName: 'foremanActor',
  protocol: foremanProtocol,
  setup: (context) => {
    const hire = (options: ChildOptions): Ref<typeof counterProtocol> =>
      context.spawn(counterActor, { start: 0 }, { restart: 'temporary', ...options });
    return {
      whereabouts: () => context.address,
      hire: async (options) => {
        const ref = hire(options);
        for (let n = 1; n <= 100; n += 1) ref.tell('add', 1);
        const [address, total] = await Promise.all([ref.ask('whereabouts', {}), ref.ask('total', {})]);
        await context.childStarted(options.id);
        if (JSON.stringify(ref.address) !== JSON.stringify(address))
          throw new Error('the ref says otherwise');
        return { address, total };
      },
      hireBlindly: (options) => {
        hire(options);
      },
      fire: async (id) => {
        await context.stopChild(id);
        return true as const;
      },
      regret: async (options) => {
        const seen = end(context, hire(options));
        await context.stopChild(options.id);
        return seen;
      },
      outlive: (options) => {
        const ref = hire(options);
        const seen = end(context, ref);
        ref.tell('crash', 'boom');
        return seen;
      },
      goDownWith: (options) => {
        const ref = hire(options);
        context.link(ref);
        ref.tell('crash', 'boom');
      },
      drainAtOnce: async (options) => {
        const ref = hire(options);
        const seen = end(context, ref);
        const total = ref.ask('total', {});
        await context.stopChild(options.id, { drain: true });
        await total;
        return seen;
      },
    };
  },
});

function end(
  context: ActorContext<typeof foremanProtocol>,
  ref: Ref<typeof counterProtocol>,
): Promise<Terminated> {
  return new Promise((resolve) => context.watch(ref, resolve));
}
