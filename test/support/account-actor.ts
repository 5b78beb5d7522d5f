// Account: an actor of which there are many, one a key; what it wrote down outlives it on its thread, as rows would.

import { actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, stream, tell } from '../../src/supervisor/protocol.ts';
import type { Resident } from '../../src/supervisor/residents/residents.ts';
import { gateProtocol } from './gate.ts';

interface ToAccount {
  readonly account: string;
}

export interface Entry extends ToAccount {
  readonly sender: string;
  readonly n: number;
}

export interface AccountView {
  readonly entries: readonly Entry[];
  /** How often this account was set up. */
  readonly incarnations: number;
  readonly home: Address;
}

export const accountProtocol = protocol('account', {
  write: tell<Entry>(),
  /** The same as a question. */
  record: call<Entry, number>(),
  look: call<ToAccount, AccountView>(),
  waitAt: call<ToAccount & { readonly gate: Address }, true>(),
  count: stream<ToAccount, number>(),
  crash: tell<ToAccount>(),
  stop: tell<ToAccount>(),
  hold: tell<ToAccount>(),
  release: tell<ToAccount>(),
  remind: tell<ToAccount & { readonly delayMs: number; readonly holds: boolean }>(),
});

/** @public Found by name, by residents over accounts. */
export const accountKey = ({ account }: ToAccount): string => account;

interface Saved {
  entries: Entry[];
  incarnations: number;
}

export interface AccountArguments {
  /** Accounts of the same store find what they saved. */
  readonly store: string;
  /** Accounts whose keys begin with `slow` pass it when they are being stopped. */
  readonly gate?: Address;
}

const stores = new Map<string, Map<string, Saved>>();
const GATE_DEADLINE_MS = 60_000;

export const accountActor = actor({
  module: import.meta.url,
  exportName: 'accountActor',
  protocol: accountProtocol,
  setup: async (context, { key, args: { store, gate } }: Resident<AccountArguments>) => {
    await Promise.resolve(); // as one that loads
    if (key.startsWith('broken')) throw new Error(`${key} cannot be set up`);
    const rows = stores.get(store) ?? new Map<string, Saved>();
    stores.set(store, rows);
    const saved = rows.get(key) ?? { entries: [], incarnations: 0 };
    const entries = [...saved.entries];
    const incarnations = saved.incarnations + 1;
    rows.set(key, { ...saved, incarnations });
    let release = (): void => undefined;
    const pass = (address: Address) =>
      context.refTo(gateProtocol, address).ask('pass', key, { deadlineMs: GATE_DEADLINE_MS });
    context.onStop(async () => {
      if (gate !== undefined && key.startsWith('slow')) await pass(gate);
      rows.set(key, { entries, incarnations });
    });
    return {
      write: (entry) => {
        entries.push(entry);
      },
      record: (entry) => entries.push(entry),
      look: () => ({ entries, incarnations, home: context.address }),
      waitAt: (message) => pass(message.gate),
      count: async function* () {
        for (let n = 1; ; n += 1) yield n;
      },
      crash: () => {
        throw new Error(`${key} crashes as told`);
      },
      stop: () => context.stopSelf(),
      hold: () => {
        release = context.hold();
      },
      release: () => release(),
      remind: ({ delayMs, holds }) => {
        context.after('reminder', delayMs, () => undefined, { holds });
      },
    };
  },
});
