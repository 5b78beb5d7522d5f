// Residents: an actor that stands for any number of actors of one behaviour, one for each key, of which only those that are
// needed exist. The virtual actors of Orleans (Bernstein, Bykov, Geller, Kliot and Thelin, "Orleans: Distributed Virtual
// Actors for Programmability and Scalability", 2014), with the key taken from the message as in Akka's cluster sharding.
//
//   system.spawn(...residents(accountActor, {}, { keyOf: 'accountKey' }), { id: 'accounts', name: true })
//   export const accountKey = (message: { account: string }) => message.account;
//   setup: async (context, { key }: Resident) => { let account = await load(key); context.onStop(() => save(key, account)); … }
//
// D1 An identity is always there. Its first message activates it; it is passivated after `idleMs` without mail, or when others
//    need its place, the least recently used first; its next message activates it again. At most `residentsMax` are
//    resident at any time, and what is not resident costs nothing.
// D2 Mail that was taken is handled, in order for each sender, by this incarnation or the next: it waits while the identity is
//    set up, passivated or without a place, and what a crash left in the mailbox goes to the next one. Only the message that an
//    incarnation crashed on ends with it, and what it was still working on.
// D3 Work holds residency: mail, open calls and streams, what was piped or handed to `background`, handlers of statements that
//    have not returned, `hold`, and timers that were set with `holds`. A stash holds it too; other timers and watches do not.
// D4 State is the author's: setup loads it, `onStop` saves it. A setup that fails answers those who asked with
//    `actor_unavailable`; so does an incarnation that ends before it has handled anything.
// D5 A crash of one identity is its own affair: nobody else is restarted, and no budget is spent.
// D6 On several threads there is one such actor on each, beside its residents, behind a router by consistent hash: whether
//    an identity is idle is then always decided on its own thread, with nothing on its way.
// D7 When it stops all residents are stopped at once; its own `shutdownMs` must be as long as the slowest of them needs.
// D8 Messages whose names begin with `$` are its own.

import type { ActorContext, Behaviour, Placement } from '../actor.ts';
import type { AnyHandler } from '../delivery.ts';
import { Forwarding } from '../forwarding.ts';
import { type ExportName, loadKeyOf } from '../loading.ts';
import { call, type Protocol, protocol } from '../protocol.ts';
import { routerWith } from '../routing/router.ts';
import { loadBehaviour } from '../threads/load-behaviour.ts';
import { Household, type HouseholdOptions, type ResidentsView } from './household.ts';

/** What the setup of a resident is given. */
export interface Resident<Args = undefined> {
  readonly key: string;
  readonly args: Args;
}

/** What every residents actor understands beside the protocol of its residents. */
export const residentsProtocol = protocol('residents', {
  $residents: call<Record<string, never>, ResidentsView>(),
});

export interface ResidentsOptions extends Partial<HouseholdOptions> {
  /** The name under which the behaviour's module exports its key function (see KeyOf). */
  readonly keyOf: string;
  /** The threads to spread the identities over; beside the residents actor when absent. Bounds are for each of them. */
  readonly placements?: readonly Placement[];
}

/** Plain data: it may live on any thread. */
export interface ResidentsArguments {
  readonly behaviour: ExportName;
  readonly args: unknown;
  readonly keyOf: ExportName;
  readonly household: HouseholdOptions;
}

export const RESIDENTS_DEFAULTS: HouseholdOptions = {
  /** Longer than the pauses of a conversation, shorter than a day's worth of keys. */
  idleMs: 60_000,
  /** Some ten megabytes of small actors. */
  residentsMax: 10_000,
  /** As the mailbox of one actor. */
  heldMax: 65_536,
  resident: {},
};

/** What to spawn: a behaviour with the protocol of the residents, and its arguments. */
export function residents<P extends Protocol, Args = undefined>(
  behaviour: Behaviour<P, Resident<Args>>,
  args: Args,
  { keyOf: keyOfName, placements, ...household }: ResidentsOptions,
): readonly [Behaviour<P, unknown>, unknown] {
  const { module, exportName } = behaviour;
  const keyOf = { module, exportName: keyOfName };
  const here: Behaviour<P, ResidentsArguments> = {
    protocol: behaviour.protocol,
    module: residentsActor.module,
    exportName: residentsActor.exportName,
    // On the thread that made it nothing has to be found by name.
    setup: (context, given) => openResidents(context as ActorContext, behaviour, given),
  };
  const all: ResidentsArguments = {
    behaviour: { module, exportName },
    args,
    keyOf,
    household: { ...RESIDENTS_DEFAULTS, ...household },
  };
  if (placements === undefined) return [here as Behaviour<P, unknown>, all];
  const [spread, spreadArgs] = routerWith(
    here,
    all,
    { routees: placements.length, placements, isFixed: true },
    'consistent_hash',
    keyOf,
  );
  return [spread as Behaviour<P, unknown>, spreadArgs];
}

/** One that came to another thread, and finds everything there by name. */
export const residentsActor: Behaviour<Protocol, ResidentsArguments> = {
  module: import.meta.url,
  exportName: 'residentsActor',
  protocol: residentsProtocol,
  setup: async (context, args) =>
    openResidents(context, await loadBehaviour(args.behaviour.module, args.behaviour.exportName), args),
};

async function openResidents(
  context: ActorContext,
  // biome-ignore lint/suspicious/noExplicitAny: it knows nothing of what its residents understand.
  behaviour: Behaviour<any, any>,
  { args, keyOf: keyOfName, household: options }: ResidentsArguments,
): Promise<Forwarding> {
  const keyOf = await loadKeyOf(keyOfName);
  let household: Household | null = null;
  const handlers: Readonly<Record<string, AnyHandler>> = { $residents: () => household?.view() };
  const forwarding = new Forwarding(handlers, (cell) => {
    household = new Household(cell, context, behaviour, args, keyOf, options, forwarding);
    return household;
  });
  return forwarding;
}
