// Member: a child that reports its life to a probe, and starts, fails and stops as the test says.

import { type ActorContext, actor, type ChildOptions } from '../../src/supervisor/actor.ts';
import { type ChildSpec, child } from '../../src/supervisor/children.ts';
import { type Address, call, protocol, tell } from '../../src/supervisor/protocol.ts';
import { probeProtocol } from '../../src/supervisor/testkit/index.ts';
import { gateProtocol } from './gate.ts';

export const memberProtocol = protocol('member', {
  crash: tell<string>(),
  crashLater: tell<string>(),
  quit: tell<Record<string, never>>(),
  whereabouts: call<Record<string, never>, Address>(),
  /** Starts a child of the member's own on the main thread. */
  adoptAtEdge: call<MemberArguments, true>(),
});

export interface MemberArguments {
  readonly id: string;
  readonly probe: Address;
  /** Held up here before it has started. */
  readonly startGate?: Address;
  /** Held up here while it stops. */
  readonly stopGate?: Address;
  /** Its setup fails. */
  readonly fails?: boolean;
}

const GATE_DEADLINE_MS = 60_000;

export const memberActor = actor({
  module: import.meta.url,
  exportName: 'memberActor',
  protocol: memberProtocol,
  setup: async (context, { id, probe, startGate, stopGate, fails }: MemberArguments) => {
    const report = (what: string): void => {
      context.refTo(probeProtocol, probe).tell('note', `${id} ${what}`);
    };
    report('starts');
    if (startGate !== undefined) await pass(context, startGate, `${id} starts`);
    if (fails === true) throw new Error(`${id} failed as told`);
    context.onStop(async (reason) => {
      report(`stops: ${reason.kind}`);
      if (stopGate !== undefined) await pass(context, stopGate, `${id} stops`);
    });
    return {
      crash: (message) => {
        throw new Error(message);
      },
      crashLater: async (message) => {
        await Promise.resolve();
        throw new Error(message);
      },
      quit: () => context.stopSelf(),
      whereabouts: () => context.address,
      adoptAtEdge: async (args) => {
        const { behaviour } = member(args);
        context.spawn(behaviour, args, { id: args.id, name: args.id, placement: 'edge' });
        await context.childStarted(args.id);
        return true as const;
      },
    };
  },
});

function pass(context: ActorContext<typeof memberProtocol>, gate: Address, who: string): Promise<true> {
  return context.refTo(gateProtocol, gate).ask('pass', who, { deadlineMs: GATE_DEADLINE_MS });
}

/** Registered under its id. */
export function member(args: MemberArguments, options: Partial<ChildOptions> = {}): ChildSpec {
  return child(memberActor, args, { id: args.id, name: args.id, ...options });
}
