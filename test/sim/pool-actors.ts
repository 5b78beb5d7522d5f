// PoolActors: the members of a simulated pool, and those who send to it. They write all they do into the book.

import { present } from '../../src/std/assert.ts';
import { isFault } from '../../src/std/errors.ts';
import { type ActorContext, actor } from '../../src/supervisor/actor.ts';
import { call, protocol, stream, tell } from '../../src/supervisor/protocol.ts';
import type { Resident } from '../../src/supervisor/residents/residents.ts';
import type { Letter, PoolBook, Way } from './pool-book.ts';

export const memberProtocol = protocol('member', {
  hear: tell<Letter>(),
  wonder: call<Letter, number>(),
  count: stream<Letter, number>(),
});

/** @public Found by name, by the routers and residents of the scenario. */
export const keyOf = ({ key }: Letter): string => key;

const SETUP_MAX_MS = 30;

export const memberActor = actor({
  module: import.meta.url,
  exportName: 'memberActor',
  protocol: memberProtocol,
  setup: async (context: ActorContext<typeof memberProtocol>, resident: Resident | null) => {
    const book = bookOf(context);
    const key = resident?.key ?? null;
    book.begin(context.address, key);
    await pause(context, context.random.float() * SETUP_MAX_MS);
    context.onStop(() => pause(context, context.random.float() * SETUP_MAX_MS));
    const take = (letter: Letter): void => {
      book.handle(context.address, key, letter);
      if (letter.isFatal) throw new Error('as the letter says');
    };
    return {
      hear: take,
      wonder: async (letter) => {
        take(letter);
        if (letter.workMs > 0) await pause(context, letter.workMs);
        return letter.id;
      },
      count: (letter) => {
        take(letter);
        return countUp(context, book, letter);
      },
    };
  },
});

async function* countUp(context: ActorContext, book: PoolBook, letter: Letter): AsyncGenerator<number> {
  book.streamsOpen += 1;
  try {
    for (let n = 0; n < letter.items; n += 1) {
      if (letter.workMs > 0) await pause(context, letter.workMs / letter.items);
      yield n;
    }
  } finally {
    book.streamsOpen -= 1;
  }
}

export interface Errand {
  readonly way: Way;
  readonly to: string;
  readonly letter: Omit<Letter, 'id' | 'from'>;
  readonly deadlineMs: number;
  /** Of a stream, that are read. */
  readonly takeMax: number;
}

export const senderProtocol = protocol('sender', { send: tell<Errand>() });

export const senderActor = actor({
  module: import.meta.url,
  exportName: 'senderActor',
  protocol: senderProtocol,
  setup: (context: ActorContext<typeof senderProtocol>) => {
    const book = bookOf(context);
    return {
      send: ({ way, to, letter, deadlineMs, takeMax }: Errand) => {
        const pool = context.named(memberProtocol, to);
        const id = book.send(way, to, context.address);
        const whole: Letter = { ...letter, id, from: context.address.actor };
        const ended = (outcome: string): void => book.ended(id, outcome);
        const failed = (error: unknown): void => ended(isFault(error) ? error.code : String(error));
        if (way === 'tell') {
          if (!pool.tell('hear', whole)) book.refused(id);
        } else if (way === 'ask') {
          void pool
            .ask('wonder', whole, { deadlineMs })
            .then((answer) => ended(answer === id ? 'done' : `${answer}`), failed);
        } else {
          void readSome(pool.stream('count', whole), takeMax).then(ended, failed);
        }
      },
    };
  },
});

async function readSome(items: AsyncIterable<number>, takeMax: number): Promise<string> {
  let next = 0;
  for await (const item of items) {
    if (item !== next) return `${item} in place of ${next}`;
    next += 1;
    if (next === takeMax) break;
  }
  return 'done';
}

function bookOf({ services }: Pick<ActorContext, 'services'>): PoolBook {
  return present(services.book, 'the book of the simulation');
}

function pause({ clock }: Pick<ActorContext, 'clock'>, ms: number): Promise<void> {
  return new Promise((resolve) => clock.startTimer(ms, resolve));
}
