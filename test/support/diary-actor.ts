// Diary: an actor of which there are many, one a key, and a chronicle of what really happened to all of them.
// The chronicle is shared by reference, so it lives on one thread only.

import { actor } from '../../src/supervisor/actor.ts';
import { call, protocol, tell } from '../../src/supervisor/protocol.ts';
import type { Resident } from '../../src/supervisor/residents/residents.ts';

export interface Note {
  readonly key: string;
  readonly sender: string;
  readonly n: number;
  /** What its handling does besides. */
  readonly besides?: 'crash' | 'stop' | 'wait';
}

export const diaryProtocol = protocol('diary', { note: tell<Note>(), ask: call<Note, number>() });

/** @public Found by name, by residents over diaries. */
export const diaryKey = ({ key }: Note): string => key;

/** What really happened. */
export interface Chronicle {
  readonly handled: Note[];
  readonly living: Map<string, number>;
  mostLiving: number;
  /** More than one incarnation of an identity at a time. */
  overlaps: number;
}

const WORK_MS = 7;

export const diaryActor = actor({
  module: import.meta.url,
  exportName: 'diaryActor',
  protocol: diaryProtocol,
  setup: async (context, { key, args: chronicle }: Resident<Chronicle>) => {
    const { handled, living } = chronicle;
    const before = living.get(key) ?? 0;
    living.set(key, before + 1);
    if (before > 0) chronicle.overlaps += 1;
    chronicle.mostLiving = Math.max(chronicle.mostLiving, living.size);
    context.onStop(async () => {
      await Promise.resolve(); // as one that saves
      living.delete(key);
    });
    await Promise.resolve(); // as one that loads
    const handle = (note: Note): void => {
      if (note.besides === 'crash') throw new Error('as told');
      handled.push(note);
      if (note.besides === 'stop') context.stopSelf();
    };
    return {
      note: handle,
      ask: async (note) => {
        handle(note);
        if (note.besides === 'wait')
          await new Promise<void>((resolve) => context.after(`${note.sender} ${note.n}`, WORK_MS, resolve));
        return note.n;
      },
    };
  },
});
