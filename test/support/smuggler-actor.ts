// Smuggler: answers what is not plain data, or more of it than can be read.

import { Fault } from '../../src/std/errors.ts';
import { actor } from '../../src/supervisor/actor.ts';
import { call, protocol, stream } from '../../src/supervisor/protocol.ts';

export const smugglerProtocol = protocol('smuggler', {
  reply: call<Record<string, never>, unknown>(),
  fail: call<Record<string, never>, unknown>(),
  nested: call<{ readonly levels: number }, unknown>(),
  items: stream<Record<string, never>, unknown>(),
  /** How often the producer of `items` was closed. */
  closed: call<Record<string, never>, number>(),
});

const notPlain = (): number => 1;

export const smugglerActor = actor({
  module: import.meta.url,
  exportName: 'smugglerActor',
  protocol: smugglerProtocol,
  setup: () => {
    let closed = 0;
    return {
      reply: () => notPlain,
      fail: () => {
        throw new Fault('smuggled', 'conflict', 'with details that cannot cross', { details: { notPlain } });
      },
      nested: ({ levels }) => {
        let nested = {};
        for (let level = 0; level < levels; level += 1) nested = { nested };
        return nested;
      },
      items: async function* () {
        try {
          for (;;) yield notPlain;
        } finally {
          closed += 1;
        }
      },
      closed: () => closed,
    };
  },
});
