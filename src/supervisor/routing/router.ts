// Router: an actor that stands for a pool of actors of one behaviour. It is told, asked and streamed as any of them, by
// address or name and from any thread; each message goes on to one of them (see forwarding.ts for how).
//
//   system.spawn(...router(counterActor, { start: 0 }, { strategy: 'least_loaded', routees: 4 }), { id: 'counters' })
//
// R1 The routees are its children: restarted by its supervision, placed on its placements in turn. When their restarts exceed
//    the intensity the router fails, as any supervisor does.
// R2 A routee that is down gets no mail until its successor's setup is done; what becomes of its mail says strategies.ts.
// R3 Mail of one sender to the same routee keeps its order.
// R4 A routee that is taken out is drained: it gets no more mail, and finishes what it was given.
// R5 Messages whose names begin with `$` are the router's own.

import { errorText } from '../../std/errors.ts';
import type { ActorContext, Behaviour } from '../actor.ts';
import type { Cell } from '../cell.ts';
import type { AnyHandler } from '../delivery.ts';
import type { Envelope } from '../envelope.ts';
import { type Door, Forwarding } from '../forwarding.ts';
import { type ExportName, loadKeyOf } from '../loading.ts';
import { call, type Protocol, protocol } from '../protocol.ts';
import { SUPERVISION_DEFAULT } from '../supervision.ts';
import { loadBehaviour } from '../threads/load-behaviour.ts';
import { type AnyBehaviour, Pool, type PoolOptions, type RouteeView, routerFaults } from './pool.ts';
import type { Routee } from './routee.ts';
import { type Choice, choiceBy, type Strategy } from './strategies.ts';

/** What every router understands beside the protocol of its routees. */
export const routerProtocol = protocol('router', {
  /** Answers when the new routees have started, or those that were too many have ended. */
  $resize: call<{ readonly routees: number }, { readonly routees: number }>({ faults: routerFaults }),
  $routees: call<Record<string, never>, readonly RouteeView[]>(),
});

export type RouterOptions = Omit<PoolOptions, 'isFixed'> &
  (
    | { readonly strategy: 'round_robin' | 'least_loaded' }
    /** `keyOf` is the name under which the behaviour's module exports its key function (see KeyOf). */
    | { readonly strategy: 'consistent_hash'; readonly keyOf: string }
  );

/** Plain data: a router may live on any thread. */
export interface RouterArguments {
  readonly behaviour: ExportName;
  readonly args: unknown;
  readonly pool: PoolOptions;
  readonly strategy: Strategy;
  readonly keyOf: ExportName | null;
}

/** What to spawn: a behaviour with the protocol of the routees, and its arguments. */
export function router<P extends Protocol, Args>(
  behaviour: Behaviour<P, Args>,
  args: Args,
  options: RouterOptions,
): readonly [Behaviour<P, RouterArguments>, RouterArguments] {
  const { module } = behaviour;
  const { strategy } = options;
  const keyOf = strategy === 'consistent_hash' ? { module, exportName: options.keyOf } : null;
  return routerWith(behaviour, args, options, strategy, keyOf);
}

export function routerWith<P extends Protocol, Args>(
  behaviour: Behaviour<P, Args>,
  args: Args,
  { routees, placements, supervision, routee, isFixed }: PoolOptions,
  strategy: Strategy,
  keyOf: ExportName | null,
): readonly [Behaviour<P, RouterArguments>, RouterArguments] {
  const { module, exportName } = behaviour;
  const pool = {
    routees,
    ...(placements === undefined ? {} : { placements }),
    ...(supervision === undefined ? {} : { supervision }),
    ...(routee === undefined ? {} : { routee }),
    ...(isFixed === undefined ? {} : { isFixed }),
  };
  return [
    {
      protocol: behaviour.protocol,
      module: routerActor.module,
      exportName: routerActor.exportName,
      // On the thread that made it nothing has to be found by name.
      setup: (context, given) => openRouter(context as ActorContext, behaviour, given),
    },
    { behaviour: { module, exportName }, args, pool, strategy, keyOf },
  ];
}

/** A router that came to another thread, and finds everything there by name. */
export const routerActor: Behaviour<Protocol, RouterArguments> = {
  module: import.meta.url,
  exportName: 'routerActor',
  protocol: routerProtocol,
  setup: async (context, args) =>
    openRouter(context, await loadBehaviour(args.behaviour.module, args.behaviour.exportName), args),
};

async function openRouter(
  context: ActorContext,
  behaviour: AnyBehaviour,
  { args, pool, strategy, keyOf }: RouterArguments,
): Promise<Forwarding> {
  const choice = choiceBy(strategy, keyOf === null ? null : await loadKeyOf(keyOf));
  context.supervise({ ...SUPERVISION_DEFAULT, ...pool.supervision });
  const members = new Pool(context, behaviour, args, pool);
  await Promise.all(members.grow(pool.routees));
  const handlers = {
    $resize: async ({ routees }: { readonly routees: number }) => {
      await members.resize(routees);
      return { routees };
    },
    $routees: () => members.views(),
  };
  const forwarding = new Forwarding(handlers as unknown as Readonly<Record<string, AnyHandler>>, (cell) => {
    members.open(cell);
    return new RouterDoor(forwarding, members, choice);
  });
  return forwarding;
}

class RouterDoor implements Door {
  readonly heldLength = 0;
  readonly #forwarding: Forwarding;
  readonly #pool: Pool;
  readonly #choice: Choice;

  constructor(forwarding: Forwarding, pool: Pool, choice: Choice) {
    this.#forwarding = forwarding;
    this.#pool = pool;
    this.#choice = choice;
  }

  take(cell: Cell, envelope: Envelope): boolean {
    if (this.#forwarding.isOwn(envelope)) return cell.receive(envelope);
    let routee: Routee | null;
    try {
      routee = this.#choice.choose(this.#pool.routees, envelope);
    } catch (error) {
      // The sender's mistake or the key function's, which must not cost the others their pool.
      cell.runtime.log.warn(
        { actor: cell.path, message: envelope.name, error: errorText(error) },
        'a message has no key',
      );
      return cell.refuse(envelope, 'not_understood');
    }
    if (routee === null) return cell.refuse(envelope, 'routee_down');
    return this.#choice.countsLoad ? routee.postCounted(envelope) : routee.post(envelope);
  }
}
