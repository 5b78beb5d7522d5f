// Sender: sends numbered lines to a scribe, from wherever it lives.

import { actor } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol } from '../../src/supervisor/protocol.ts';
import { counterProtocol } from './counter-actor.ts';
import { scribeProtocol } from './scribe-actor.ts';

export interface Errand {
  readonly to: Address;
  readonly count: number;
  /** Every how many-th line is a question. */
  readonly askEvery?: number;
}

export const senderProtocol = protocol('sender', {
  /** Answers how many were taken, when all questions are answered. */
  send: call<Errand, number>(),
  /** Asks a counter what it never answers. */
  pend: call<Address, number>(),
});

const PEND_DEADLINE_MS = 600_000;

export const senderActor = actor({
  module: import.meta.url,
  exportName: 'senderActor',
  protocol: senderProtocol,
  setup: (context, { name }: { readonly name: string }) => ({
    send: async ({ to, count, askEvery = 0 }) => {
      const scribe = context.refTo(scribeProtocol, to);
      const questions: Promise<unknown>[] = [];
      let taken = 0;
      for (let n = 0; n < count; n += 1) {
        if (askEvery > 0 && n % askEvery === 0) {
          questions.push(scribe.ask('record', { sender: name, n }));
          taken += 1;
        } else if (scribe.tell('write', { sender: name, n })) taken += 1;
      }
      await Promise.all(questions);
      return taken;
    },
    pend: (to) => context.refTo(counterProtocol, to).ask('never', {}, { deadlineMs: PEND_DEADLINE_MS }),
  }),
});
