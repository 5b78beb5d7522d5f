// Runtime: the actor system that the service runs on, to look at: paths and counters, never a message's content.

import { declareFaults } from '../../std/errors.ts';
import { type Static, type TSchema, Type } from '../../std/schema.ts';
import { call, protocol, stream } from '../../supervisor/protocol.ts';

export const runtimeFaults = declareFaults({
  /** WATCHERS_MAX streams are open already. */
  runtime_watchers_exhausted: 'unavailable',
});

/** Each snapshot asks every thread; this many screens are more than any team has. */
export const WATCHERS_MAX = 32;
export const INTERVAL_MIN_MS = 250;
export const INTERVAL_DEFAULT_MS = 1_000;
export const INTERVAL_MAX_MS = 60_000;

const Count = Type.Integer({ minimum: 0 });
const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export const Totals = Type.Object({
  actors: Count,
  queued: Type.Integer({ description: 'Mail that is not handled yet.' }),
  sent: Count,
  handled: Count,
  rejected: Type.Integer({ description: 'Refused to the sender by a full mailbox or link.' }),
  dead_lettered: Type.Integer({ description: 'Mail that reached nobody.' }),
  restarts: Count,
});

export const ThreadRow = Type.Object({
  thread: Type.Integer({ description: '0 is the main thread, the edge.' }),
  name: orNull(Type.String({ description: 'Null for the warm spare.' })),
  state: Type.String({
    description:
      '`starting`, `ready`, `retiring`, `leaving`, or `silent`: it did not answer in time, and the rest of its row is old.',
  }),
  actors: orNull(Count),
  queued: orNull(Type.Integer()),
  heap_mb: orNull(Type.Number()),
  loop_lag_ms: orNull(
    Type.Number({ description: 'How late its event loop was, at worst, since the last look.' }),
  ),
});
export type ThreadRow = Static<typeof ThreadRow>;

export const ActorRow = Type.Object({
  path: Type.String({ description: "Empty for the root; a child bears its parent's path and its own id." }),
  thread: Type.Integer(),
  state: Type.String({
    description: '`starting`, `running`, `suspended`, `draining`, `stopping` or `restarting`.',
  }),
  mailbox: Type.Integer({ minimum: 0, description: 'Messages that wait.' }),
  handled: Type.Integer({ minimum: 0, description: 'Messages handled by this incarnation.' }),
  restarts: Count,
  last_failure: orNull(Type.String({ description: 'One line, secrets masked.' })),
  age_ms: Type.Number(),
});
export type ActorRow = Static<typeof ActorRow>;

export const RuntimeSnapshot = Type.Object({
  at: Type.String({ format: 'date-time' }),
  totals: Totals,
  threads: Type.Array(ThreadRow),
  tree: Type.Array(ActorRow, { description: 'Depth first: an actor is followed by its children.' }),
  omitted: Type.Integer({
    minimum: 0,
    description: 'Actors that are not listed, because there are very many.',
  }),
});
export type RuntimeSnapshot = Static<typeof RuntimeSnapshot>;

export const DeadLetterRow = Type.Object({
  at: Type.String({ format: 'date-time' }),
  thread: Type.Integer(),
  target: Type.String(),
  message: Type.String({ description: 'The name of the message.' }),
  reason: Type.String(),
});
export type DeadLetterRow = Static<typeof DeadLetterRow>;

/** A frame of the stream; its data is the JSON text of a RuntimeSnapshot, a DeadLetterRow or `{count}`. */
export interface RuntimeFrame {
  readonly event: 'snapshot' | 'dead_letter' | 'dead_letters_missed';
  readonly data: string;
}

export const runtime = protocol('runtime', {
  snapshot: call({
    summary: 'The live actor tree with mailboxes, restarts and failures, its threads, and the totals.',
    request: Type.Object({}),
    reply: RuntimeSnapshot,
  }),
  threads: call({
    summary: 'The threads that carry actors: heap, event loop lag, actors, queued mail.',
    request: Type.Object({}),
    reply: Type.Object({ threads: Type.Array(ThreadRow) }),
  }),
  watch: stream({
    summary:
      'The same, live: `snapshot` at each interval, `dead_letter` for mail that reached nobody (from a minute ago on), `dead_letters_missed` when there were too many to tell.',
    request: Type.Object({
      interval_ms: Type.Optional(
        Type.Integer({
          minimum: INTERVAL_MIN_MS,
          maximum: INTERVAL_MAX_MS,
          default: INTERVAL_DEFAULT_MS,
          description: 'Milliseconds between two snapshots.',
        }),
      ),
    }),
    reply: Type.Unsafe<readonly RuntimeFrame[]>(
      Type.Array(Type.Object({ event: Type.String(), data: Type.String() })),
    ),
    faults: runtimeFaults,
  }),
});
