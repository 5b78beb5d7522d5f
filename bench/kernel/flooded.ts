// Flooded: an actor that is always behind. It is for the bench's own thread, where it disturbs the others.

import { actor } from '../../src/supervisor/actor.ts';
import type { Ref } from '../../src/supervisor/protocol.ts';
import { call, protocol, tell } from '../../src/supervisor/protocol.ts';
import type { ActorSystem } from '../../src/supervisor/system.ts';
import { expectCount } from './harness.ts';

export interface Flood {
  readonly messages: number;
  /** How long each message keeps its handler busy, in microseconds. */
  readonly busyUs: number;
}

/** How many of them wait in the mailbox at any time; the default mailbox holds a few more. */
const PENDING = 50_000;
const FLOOD_MAX_MS = 600_000;

const floodedProtocol = protocol('flooded', {
  /** Answered when the last message of the flood has been handled. */
  flood: call<Flood, number>(),
  work: tell<null>(),
});

/** Floods itself: each message that it handles brings the next one, so that its mailbox stays as full as it began. */
export const flooded = actor({
  module: import.meta.url,
  exportName: 'flooded',
  protocol: floodedProtocol,
  setup: ({ self }) => {
    let toSend = 0;
    let toHandle = 0;
    let busyMs = 0;
    let done: () => void = () => undefined;
    const send = (): void => {
      toSend -= 1;
      if (!self.tell('work', null)) throw new Error('the mailbox of the flooded actor is full');
    };
    return {
      flood: async ({ messages, busyUs }) => {
        toSend = messages;
        toHandle = messages;
        busyMs = busyUs / 1000;
        const handled = new Promise<void>((resolve) => {
          done = resolve;
        });
        while (toSend > Math.max(0, messages - PENDING)) send();
        await handled;
        return messages;
      },
      work: () => {
        if (busyMs > 0) {
          const untilMs = performance.now() + busyMs;
          while (performance.now() < untilMs);
        }
        if (toSend > 0) send();
        toHandle -= 1;
        if (toHandle === 0) done();
      },
    };
  },
});

/** Starts the actor; `flood` resolves when all of its messages have been handled. */
export function openFlooded(system: ActorSystem): { flood(flood: Flood): Promise<void> } {
  const ref: Ref<typeof floodedProtocol> = system.spawn(flooded, undefined, { id: 'flooded' });
  return {
    flood: async (flood) =>
      expectCount('handled', await ref.ask('flood', flood, { deadlineMs: FLOOD_MAX_MS }), flood.messages),
  };
}
