// Hoarder: fills the heap of its thread, and keeps what it has.

import { type ActorContext, actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, tell } from '../../src/supervisor/protocol.ts';
import { probeProtocol } from '../../src/supervisor/testkit/index.ts';
import { gateProtocol } from './gate.ts';

export const hoarderProtocol = protocol('hoarder', {
  whereabouts: call<Record<string, never>, Address>(),
  /** Until it holds that many bytes itself: of what else is in use, megabytes may be collected at any time. */
  hoard: call<number, true>(),
  /** Answered once the gate has opened. */
  wait: call<Address, true>(),
  /** Starts a temporary hoarder below this one, and answers where it is. */
  employ: call<HoarderArguments, Address>(),
  stop: tell<Record<string, never>>(),
});

export interface HoarderArguments {
  readonly id: string;
  readonly probe: Address;
}

const CHUNK_NUMBERS = 2 ** 16;
const CHUNK_BYTES = CHUNK_NUMBERS * 8;

export const hoarderActor = actor({
  module: import.meta.url,
  exportName: 'hoarderActor',
  protocol: hoarderProtocol,
  setup: (context, { id, probe }: HoarderArguments) => {
    const kept: number[][] = [];
    const report = (what: string): void => {
      context.refTo(probeProtocol, probe).tell('note', `${id} ${what}`);
    };
    context.onRetire(() => report('hears of it'));
    context.onStop(({ kind }) => report(kind));
    report('starts');
    return {
      whereabouts: () => context.address,
      hoard: (bytes) => {
        while (kept.length * CHUNK_BYTES < bytes) kept.push(new Array(CHUNK_NUMBERS).fill(kept.length + 0.5));
        return true;
      },
      wait: (gate) => context.refTo(gateProtocol, gate).ask('pass', id, { deadlineMs: 60_000 }),
      employ: (args) => employ(context, args),
      stop: () => context.stopSelf(),
    };
  },
});

async function employ(
  context: ActorContext<typeof hoarderProtocol>,
  args: HoarderArguments,
): Promise<Address> {
  return context.spawn(hoarderActor, args, { id: args.id, restart: 'temporary' }).ask('whereabouts', {});
}
