// Family: a child that reports its life to a probe, and a parent that keeps such children under a supervision.

import { actor, type Supervision } from '../../src/supervisor/actor.ts';
import { type ChildSpec, child } from '../../src/supervisor/children.ts';
import { type Address, call, protocol, tell } from '../../src/supervisor/protocol.ts';
import { probeProtocol } from '../../src/supervisor/testkit/index.ts';
import { gateProtocol } from './gate.ts';

export const memberProtocol = protocol('member', {
  crash: tell<string>(),
  quit: tell<Record<string, never>>(),
  whereabouts: call<Record<string, never>, Address>(),
});

export interface MemberArguments {
  readonly id: string;
  readonly probe: Address;
  /** Held up here before it has started. */
  readonly startGate?: Address;
  /** Held up here while it stops. */
  readonly stopGate?: Address;
  /** Fails its setup. */
  readonly fails?: boolean;
}

export const memberActor = actor({
  module: import.meta.url,
  exportName: 'memberActor',
  protocol: memberProtocol,
  setup: async (context, { id, probe, startGate, stopGate, fails }: MemberArguments) => {
    const report = (what: string): void =>
      void context.refTo(probeProtocol, probe).tell('note', `${id} ${what}`);
    const pass = (gate: Address): Promise<true> =>
      context.refTo(gateProtocol, gate).ask('pass', id, { deadlineMs: 60_000 });
    report('starts');
    if (startGate !== undefined) await pass(startGate);
    if (fails === true) throw new Error(`${id} failed as told`);
    context.onStop(async (reason) => {
      report(`stops: ${reason.kind}`);
      if (stopGate !== undefined) await pass(stopGate);
    });
    return {
      crash: (message) => {
        throw new Error(message);
      },
      quit: () => context.stopSelf(),
      whereabouts: () => context.address,
    };
  },
});

export function member(args: MemberArguments, options: Partial<Parameters<typeof child>[2]> = {}): ChildSpec {
  return child(memberActor, args, { id: args.id, name: args.id, ...options });
}

export const parentProtocol = protocol('parent', {
  adopt: tell<MemberArguments>(),
  dismiss: call<string, true>(),
});

export const parentActor = actor({
  module: import.meta.url,
  exportName: 'parentActor',
  protocol: parentProtocol,
  setup: (context, supervision: Supervision) => {
    context.supervise(supervision);
    return {
      adopt: (args) => {
        context.spawn(memberActor, args, { id: args.id, name: args.id });
      },
      dismiss: async (id) => {
        await context.stopChild(id);
        return true as const;
      },
    };
  },
});
