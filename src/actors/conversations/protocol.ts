// Conversations: transcripts, their metadata, and the working memory that belongs to one conversation.
// Owner of all of it: a run appends through here, a route reads through here.
// C1 Rows of one turn are appended together or not at all, and are flushed before the answer.
// C2 Appending the rows of a run a second time changes nothing (a run may be settled again after a crash).

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol } from '../../supervisor/protocol.ts';

export const conversationFaults = declareFaults({
  conversation_not_found: 'not_found',
  conversation_invalid: 'invalid',
  conversation_not_saved: 'unavailable',
});

export const CONVERSATION_ID_LENGTH_MAX = 128;
export const CHANNEL_LENGTH_MAX = 128;
export const TITLE_LENGTH_MAX = 200;
export const LIST_LIMIT_MAX = 100;
export const LIST_LIMIT_DEFAULT = 50;
export const CHECKPOINTS_MAX = 8;
export const CHECKPOINT_LIFETIME_MS = 7 * 24 * 3600 * 1000;
export const STATE_ENTRIES_MAX = 20;
export const STATE_ENTRY_LENGTH_MAX = 600;
export const STATE_NARRATIVE_LENGTH_MAX = 1200;
export const SCRATCHPAD_LENGTH_MAX = 4000;

const Text = Type.String();
const NullableText = Type.Union([Type.String(), Type.Null()]);
const ConversationId = Type.String({ minLength: 1, maxLength: CONVERSATION_ID_LENGTH_MAX });
const Metadata = Type.Record(Type.String(), Type.Unknown());

export const Message = Type.Object({
  role: Type.String(),
  content: Text,
  timestamp: Text,
  turn_index: Type.Integer(),
  metadata: Type.Optional(Metadata),
});
export type Message = Static<typeof Message>;

/** One row as a run hands it over; index and timestamp text are given here. */
export interface NewRow {
  readonly role: 'user' | 'assistant' | 'tool_call' | 'tool_result';
  readonly content: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export const ConversationRow = Type.Object({
  conversation_id: Text,
  title: Text,
  preview: Text,
  created_at: Text,
  last_message_at: Text,
  message_count: Type.Integer(),
  channel: Text,
  archived: Type.Boolean(),
  first_user_message: Text,
  last_message: Text,
  workspace_id: NullableText,
});
export type ConversationRow = Static<typeof ConversationRow>;

export const STATE_SLOTS = ['goals', 'decisions', 'open_threads', 'artifacts', 'narrative'] as const;
export type StateSlot = (typeof STATE_SLOTS)[number];

export const StateEntry = Type.Object({
  text: Text,
  author: Type.Union([Type.Literal('user'), Type.Literal('agent')]),
  source_turn: Type.Union([Type.Integer(), Type.Null()]),
  updated_at: Text,
});
export type StateEntry = Static<typeof StateEntry>;

const StateEntries = Type.Array(StateEntry);
export const ConversationState = Type.Object({
  goals: StateEntries,
  decisions: StateEntries,
  open_threads: StateEntries,
  artifacts: StateEntries,
  narrative: StateEntries,
  digest: Text,
});
export type ConversationState = Static<typeof ConversationState>;
const StateReply = Type.Object({ conversation_id: Text, state: ConversationState });

export const Checkpoint = Type.Object({
  summary: Text,
  decisions: Type.Array(Text),
  next_step: Text,
  created_at: Text,
});
export type Checkpoint = Static<typeof Checkpoint>;

/** A passage of a past conversation, found by its words. */
export interface TurnHit {
  readonly conversation_id: string;
  readonly turn_index: number;
  readonly role: string;
  readonly content: string;
  readonly timestamp: string;
  readonly score: number;
}

export const conversations = protocol('conversations', {
  list: call({
    summary: 'Conversations, newest activity first; archived ones only when asked for.',
    request: Type.Object({
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: LIST_LIMIT_MAX, default: LIST_LIMIT_DEFAULT }),
      ),
      offset: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
      channel: Type.Optional(Type.String({ maxLength: CHANNEL_LENGTH_MAX })),
      /** `1` and `true` both mean yes; the clients send `1`. */
      include_archived: Type.Optional(Text),
    }),
    reply: Type.Object({
      conversations: Type.Array(ConversationRow),
      total: Type.Integer(),
      limit: Type.Integer(),
      offset: Type.Integer(),
    }),
  }),
  messages: call({
    summary: 'The whole transcript of a conversation, tool rows included.',
    request: Type.Object({ conversation_id: ConversationId }),
    reply: Type.Object({
      conversation_id: Text,
      messages: Type.Array(Message),
      message_count: Type.Integer(),
    }),
    faults: { conversation_not_found: conversationFaults.conversation_not_found },
  }),
  state: call({
    summary: 'The structured working memory of a conversation; empty for an unknown one.',
    request: Type.Object({ conversation_id: ConversationId }),
    reply: StateReply,
  }),
  set_state: call({
    summary: 'Replaces one slot of the structured working memory.',
    request: Type.Object({
      conversation_id: ConversationId,
      slot: Text,
      entries: Type.Array(
        Type.Union([
          Text,
          Type.Object({
            text: Text,
            author: Type.Optional(Text),
            source_turn: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
          }),
        ]),
      ),
    }),
    reply: StateReply,
    faults: { conversation_invalid: conversationFaults.conversation_invalid },
  }),
  update_meta: call({
    summary: 'Renames, archives or restores a conversation; its transcript is not touched.',
    request: Type.Object({
      conversation_id: ConversationId,
      title: Type.Optional(Type.Unknown()),
      archived: Type.Optional(Type.Unknown()),
    }),
    reply: Type.Object({
      conversation_id: Text,
      title: Type.Optional(Text),
      archived: Type.Optional(Type.Boolean()),
    }),
    faults: conversationFaults,
  }),
  remove: call({
    summary:
      'Deletes a conversation with its turns, its metadata and its sidecars; an unknown id deletes nothing.',
    request: Type.Object({ conversation_id: ConversationId }),
    reply: Type.Object({
      message: Text,
      deleted: Type.Object({
        turns: Type.Integer(),
        conversation: Type.Integer(),
        postgres_rows: Type.Integer(),
        redis_keys: Type.Integer(),
        sidecars: Type.Array(Text),
      }),
    }),
    faults: { conversation_not_saved: conversationFaults.conversation_not_saved },
  }),
  checkpoints: call({
    summary: 'The checkpoints that the model set in a conversation, oldest first.',
    request: Type.Object({ conversation_id: ConversationId }),
    reply: Type.Object({ checkpoints: Type.Array(Checkpoint), count: Type.Integer() }),
  }),
  clear_checkpoints: call({
    summary: 'Forgets the checkpoints of a conversation.',
    request: Type.Object({ conversation_id: ConversationId }),
    reply: Type.Object({ cleared: Type.Integer() }),
  }),

  // Between actors only.
  /** The rows of those that are there and not archived, newest activity first, and how many these are. */
  listed: call<
    { readonly conversation_ids: readonly string[]; readonly limit: number },
    { readonly conversations: readonly ConversationRow[]; readonly total: number }
  >(),
  /** The newest `rowsMax` rows in order, and how many older ones were left out. Unknown ids give none. */
  history: call<
    { readonly conversation_id: string; readonly rowsMax: number },
    { readonly rows: readonly Message[]; readonly olderCount: number }
  >(),
  /** C1, C2. `run_id` makes the call repeatable. */
  append: call<
    {
      readonly conversation_id: string;
      readonly run_id: string;
      readonly channel: string;
      readonly rows: readonly NewRow[];
    },
    { readonly firstIndex: number }
  >(),
  /** Whether the rows of a run have been appended. */
  holds: call<{ readonly conversation_id: string; readonly run_id: string }, { readonly isHeld: boolean }>(),
  /** BM25 over user and assistant turns, best first; without a query the newest user turns. */
  search_turns: call<
    {
      readonly query?: string;
      readonly limit: number;
      readonly conversation_id?: string;
      readonly roles?: readonly string[];
    },
    { readonly hits: readonly TurnHit[] }
  >(),
  /** Adds entries to a slot, or replaces it; the oldest fall out beyond the bound. Written by the agent. */
  note_state: call<
    {
      readonly conversation_id: string;
      readonly slot: StateSlot;
      readonly entries: readonly string[];
      readonly replace: boolean;
    },
    ConversationState
  >(),
  add_checkpoint: call<
    {
      readonly conversation_id: string;
      readonly summary: string;
      readonly decisions: readonly string[];
      readonly next_step: string;
      readonly replace: boolean;
    },
    { readonly count: number }
  >(),
  /** Reads the scratchpad after adding to it or replacing it; `note` absent only reads. */
  scratchpad: call<
    { readonly conversation_id: string; readonly note?: string; readonly replace: boolean },
    { readonly text: string }
  >(),
});
