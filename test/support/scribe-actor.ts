// Scribe: writes down what it gets, in order; may be held up before it starts, so that its mail gathers.

import { actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, tell } from '../../src/supervisor/protocol.ts';
import { gateProtocol } from './gate.ts';

export interface Line {
  readonly sender: string;
  readonly n: number;
}

export const scribeProtocol = protocol('scribe', {
  write: tell<Line>(),
  /** The same as a question, to mix with statements. */
  record: call<Line, number>(),
  lines: call<Record<string, never>, readonly Line[]>(),
  /** Calls itself from within a handler; answers whether the calls ran one after the other. */
  relay: tell<{ readonly depth: number }>(),
  overlaps: call<Record<string, never>, number>(),
  /** Waits at that gate, while the mailbox goes on. */
  waitAt: call<Address, true>(),
  isAborted: call<Record<string, never>, boolean>(),
  /** How many `isAborted` were aborted when they were handled. */
  abortedOnArrival: call<Record<string, never>, number>(),
  whereabouts: call<Record<string, never>, Address>(),
  stop: tell<Record<string, never>>(),
});

export interface ScribeArguments {
  /** Does not start before this gate lets it through. */
  readonly gate?: Address;
}

/** @public The key of a line is its sender; found by name, by routers over scribes. */
export function scribeKey({ sender }: Line): string {
  if (typeof sender !== 'string') throw new TypeError('a line without a sender has no key');
  return sender;
}

const GATE_DEADLINE_MS = 60_000;

export const scribeActor = actor({
  module: import.meta.url,
  exportName: 'scribeActor',
  protocol: scribeProtocol,
  setup: async (context, { gate }: ScribeArguments) => {
    const lines: Line[] = [];
    let depth = 0;
    let overlaps = 0;
    let abortedOnArrival = 0;
    const pass = (address: Address): Promise<true> =>
      context.refTo(gateProtocol, address).ask('pass', context.path, { deadlineMs: GATE_DEADLINE_MS });
    if (gate !== undefined) await pass(gate);
    return {
      write: (line) => {
        lines.push(line);
      },
      record: (line) => lines.push(line),
      lines: () => lines,
      relay: (message) => {
        depth += 1;
        if (depth > 1) overlaps += 1;
        if (message.depth > 0) {
          context.self.tell('relay', { depth: message.depth - 1 });
          context.after(`relay ${message.depth}`, 0, () => {
            if (depth > 0) overlaps += 1;
          });
        }
        depth -= 1;
      },
      overlaps: () => overlaps,
      waitAt: pass,
      isAborted: (_message, { signal }) => {
        if (signal.aborted) abortedOnArrival += 1;
        return signal.aborted;
      },
      abortedOnArrival: () => abortedOnArrival,
      whereabouts: () => context.address,
      stop: () => context.stopSelf(),
    };
  },
});
