// Gate: holds actors up until the test lets them through, wherever they live.

import { actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol } from '../../src/supervisor/protocol.ts';
import type { ActorSystem } from '../../src/supervisor/system.ts';

export const gateProtocol = protocol('gate', { pass: call<string, true>() });

export interface Gate {
  readonly address: Address;
  /** Who has come, in order; those that gave up included. */
  readonly came: readonly string[];
  /** Who gave up, or died, before the gate opened. */
  readonly left: readonly string[];
  /** Resolves when that many have come. */
  arrived(count: number): Promise<void>;
  /** Lets through who is waiting and who comes later. */
  open(): void;
}

export async function openGate(system: ActorSystem, id = 'gate'): Promise<Gate> {
  const came: string[] = [];
  const left: string[] = [];
  const watchers: (() => void)[] = [];
  const { promise: opened, resolve: open } = Promise.withResolvers<true>();
  const behaviour = actor({
    module: import.meta.url,
    exportName: '(closes over its test)',
    protocol: gateProtocol,
    setup: (context) => {
      address = context.address;
      return {
        pass: (who, inquiry) => {
          came.push(who);
          inquiry.signal.addEventListener('abort', () => left.push(who));
          for (const wake of watchers.splice(0)) wake();
          return opened;
        },
      };
    },
  });
  let address: Address = { thread: 0, actor: 0, path: id };
  system.spawn(behaviour, undefined, { id, restart: 'temporary' });
  return {
    address,
    came,
    left,
    open: () => open(true),
    arrived: async (count) => {
      while (came.length < count) await new Promise<void>((resolve) => watchers.push(resolve));
    },
  };
}
