// Finisher: does jobs, some of them behind a gate, and tells a probe what it has done.

import { type ActorContext, actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, tell } from '../../src/supervisor/protocol.ts';
import { probeProtocol } from '../../src/supervisor/testkit/index.ts';
import { gateProtocol } from './gate.ts';

export const finisherProtocol = protocol('finisher', {
  job: tell<number>(),
  /** Answered once the gate has opened. */
  wait: call<number, number>(),
  /** Done once the gate has opened, by background work and by a piped promise. */
  later: tell<number>(),
  whereabouts: call<Record<string, never>, Address>(),
  /** Starts a finisher of its own. */
  employ: call<FinisherArguments, Address>(),
});

export interface FinisherArguments {
  readonly id: string;
  readonly probe: Address;
  readonly gate: Address;
  /** Its setup, too, waits at the gate. */
  readonly startsAtGate?: boolean;
}

const GATE_DEADLINE_MS = 60_000;

export const finisherActor = actor({
  module: import.meta.url,
  exportName: 'finisherActor',
  protocol: finisherProtocol,
  setup: async (context, args: FinisherArguments) => {
    const { id, probe, gate, startsAtGate = false } = args;
    const report = (what: string): void => {
      context.refTo(probeProtocol, probe).tell('note', `${id} ${what}`);
    };
    const pass = (): Promise<true> =>
      context.refTo(gateProtocol, gate).ask('pass', id, { deadlineMs: GATE_DEADLINE_MS });
    if (startsAtGate) await pass();
    context.onStop(() => report('stops'));
    return {
      job: (n) => report(`did ${n}`),
      wait: async (n) => {
        await pass();
        report(`answers ${n}`);
        return n;
      },
      later: (n) => {
        context.background(pass().then(() => report(`worked on ${n}`)));
        context.pipe(pass(), () => report(`got ${n}`));
      },
      whereabouts: () => context.address,
      employ: (employed) => employ(context, employed),
    };
  },
});

async function employ(
  context: ActorContext<typeof finisherProtocol>,
  args: FinisherArguments,
): Promise<Address> {
  return context.spawn(finisherActor, args, { id: args.id, restart: 'temporary' }).ask('whereabouts', {});
}
