// Linker: links itself to others from wherever it lives.

import { actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, tell } from '../../src/supervisor/protocol.ts';

export const linkerProtocol = protocol('linker', {
  whereabouts: call<Record<string, never>, Address>(),
  /** Answers when the link has arrived at the target, another linker. */
  link: call<Address, true>(),
  unlink: call<Address, true>(),
  stop: tell<Record<string, never>>(),
  crash: tell<string>(),
  exit: tell<number>(),
});

export const linkerActor = actor({
  module: import.meta.url,
  exportName: 'linkerActor',
  protocol: linkerProtocol,
  setup: (context) => {
    const unlinks = new Map<number, () => void>();
    // Mail to the target goes the same way as the link: its answer says that the link has arrived.
    const arrive = async (address: Address): Promise<true> => {
      await context
        .refTo(linkerProtocol, address)
        .ask('whereabouts', {})
        .catch(() => undefined);
      return true;
    };
    return {
      whereabouts: () => context.address,
      link: (address) => {
        unlinks.set(address.actor, context.link(address));
        return arrive(address);
      },
      unlink: (address) => {
        unlinks.get(address.actor)?.();
        return arrive(address);
      },
      stop: () => context.stopSelf(),
      crash: (message) => {
        throw new Error(message);
      },
      exit: (code) => {
        process.exit(code);
      },
    };
  },
});
