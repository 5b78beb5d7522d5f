// Conversations: the one owner of transcripts and of the working memory beside them. Its state is the store, nothing else.
// Where the wire format leaves a choice:
// - Metadata of an unknown conversation answers 404. Its structured state does not (W5): a client may edit what the agent
//   noted in a first turn that has not ended.
// - A channel filter of the list means that channel alone; `_all` means every channel.
// - A transcript beyond its bounds answers its newest rows; their indexes tell where they start, `message_count` how many
//   there are in all.
// - A deletion takes effect at once and answers when nothing is left; for a long conversation it answers earlier and
//   clears on by itself. One that was cut short goes on after the next start.
// - `deleted.postgres_rows` and `redis_keys` are names of the wire format: rows, and parts of the working memory.
// - An id or a channel that cannot be filed (empty, too long, half a character) is unknown to a reader and invalid to a
//   writer.

import { type Fault, isFault } from '../../std/errors.ts';
import { type ActorContext, actor, type Handlers } from '../../supervisor/actor.ts';
import {
  CHANNEL_LENGTH_MAX,
  CONVERSATION_ID_LENGTH_MAX,
  conversationFaults,
  conversations,
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
} from './protocol.ts';
import {
  type ConversationRecord,
  keptRow,
  parseMetaChange,
  ROWS_PER_APPEND_MAX,
  viewRecord,
} from './record.ts';
import '../services.ts';
import { workspaces } from '../workspaces/protocol.ts';
import { openConversationStore, type Removed } from './store.ts';
import { type Generation, SEARCH_LIMIT_MAX } from './transcript.ts';
import {
  addCheckpoint,
  addToSlot,
  agentEntries,
  EMPTY_MEMORY,
  liveCheckpoints,
  parseEntries,
  parseSlot,
  replaceSlot,
  viewCheckpoint,
  type WorkingMemory,
  writeScratchpad,
} from './working-memory.ts';

/** One answer is built on the edge thread: about a tenth of a second of it. */
export const TRANSCRIPT_ROWS_MAX = 20_000;
export const TRANSCRIPT_LENGTH_MAX = 32 * 1024 * 1024;

/** About half a second of clearing; a longer conversation is not waited for. */
export const CLEARED_BEFORE_ANSWER_MAX = 2000;
const CLEAR_RETRY_MS = 60_000;
const EVERY_CHANNEL = '_all';

export const conversationsActor = actor({
  module: import.meta.url,
  exportName: 'conversationsActor',
  protocol: conversations,
  setup: setUpConversations,
});

function setUpConversations(context: ActorContext<typeof conversations>): Handlers<typeof conversations> {
  const store = openConversationStore(context.services.storage);
  const { transcripts } = store;

  const find = (conversationId: string): ConversationRecord | undefined =>
    isFileable(conversationId) ? store.find(conversationId) : undefined;

  /** Without them a list is still a list. */
  const projectsOf = async (
    conversation_ids: readonly string[],
  ): Promise<Readonly<Record<string, string>>> => {
    if (conversation_ids.length === 0) return {};
    try {
      return (await context.ask(workspaces, 'memberships', { conversation_ids })).workspace_ids;
    } catch (error) {
      if (!isFault(error)) throw error;
      return {};
    }
  };

  const leaveProject = (conversation_id: string) =>
    context.ask(workspaces, 'conversationRemoved', { conversation_id });

  const memoryOf = (conversationId: string): WorkingMemory =>
    isFileable(conversationId) ? store.memory(conversationId) : EMPTY_MEMORY;

  const changeMemory: typeof store.changeMemory = (conversationId, change) => {
    mustBeFileable(conversationId);
    return saved(store.changeMemory(conversationId, change));
  };

  /** Step by step, so that other mail is handled in between. A full disk puts it off; the store remembers. */
  const clear = async (generations: readonly Generation[]): Promise<void> => {
    try {
      for (const generation of generations) {
        // One that has begun anew is in the project that it was put into since.
        if (store.find(generation[0]) === undefined) await leaveProject(generation[0]);
        while (!context.signal.aborted && !(await store.clearStep(generation))) {}
      }
    } catch (error) {
      if (!isFault(error)) throw error;
      context.log.warn({ detail: error.message }, 'clearing a deleted conversation is put off');
      context.after('clear', CLEAR_RETRY_MS, clearAll);
    }
  };
  const clearAll = (): void => context.background(clear(store.removedGenerations()));
  clearAll();

  return {
    async list({ limit = LIST_LIMIT_DEFAULT, offset = 0, channel, include_archived }) {
      const page = {
        channel: channel === EVERY_CHANNEL ? undefined : channel,
        includeArchived: include_archived === '1' || include_archived === 'true',
        limit: Math.min(limit, LIST_LIMIT_MAX),
        offset,
      };
      const isFiled = channel === undefined || isFileable(channel, CHANNEL_LENGTH_MAX);
      const { entries, total } = isFiled ? store.page(page) : { entries: [], total: 0 };
      const projects = await projectsOf(entries.map(({ conversationId }) => conversationId));
      const rows = entries.map(({ conversationId, record }) =>
        viewRecord(conversationId, record, projects[conversationId]),
      );
      return { conversations: rows, total, limit: page.limit, offset };
    },

    messages({ conversation_id }) {
      const record = find(conversation_id);
      if (record === undefined) throw unknownConversation();
      const messages = transcripts.newest(conversation_id, record, TRANSCRIPT_LIMITS);
      return { conversation_id, messages, message_count: record.rowCount };
    },

    state({ conversation_id }) {
      return { conversation_id, state: memoryOf(conversation_id).state };
    },

    async set_state({ conversation_id, slot, entries }) {
      const known = parseSlot(slot);
      const parsed = parseEntries(entries, context.clock.nowMs());
      const { state } = await changeMemory(conversation_id, (memory) => replaceSlot(memory, known, parsed));
      return { conversation_id, state };
    },

    async update_meta({ conversation_id, ...fields }) {
      const change = parseMetaChange(fields);
      const isKnown = isFileable(conversation_id) && (await saved(store.changeMeta(conversation_id, change)));
      if (!isKnown) throw unknownConversation();
      return { conversation_id, ...change };
    },

    async remove({ conversation_id }) {
      if (!isFileable(conversation_id)) return removalReply(NOTHING_REMOVED);
      const removed = await saved(
        store.remove(conversation_id).catch((error: unknown) => {
          clearAll(); // Its flush alone may have failed: then it is gone, and nobody would ask for that again.
          throw error;
        }),
      );
      if (removed.generation === undefined) await saved(leaveProject(conversation_id));
      const clearing = clear(removed.generation === undefined ? [] : [removed.generation]);
      if (removed.rowCount > CLEARED_BEFORE_ANSWER_MAX) context.background(clearing);
      else await clearing;
      return removalReply(removed);
    },

    checkpoints({ conversation_id }) {
      const live = liveCheckpoints(memoryOf(conversation_id), context.clock.nowMs());
      return { checkpoints: live.map(viewCheckpoint), count: live.length };
    },

    async clear_checkpoints({ conversation_id }) {
      if (memoryOf(conversation_id).checkpoints.length === 0) return { cleared: 0 };
      const nowMs = context.clock.nowMs();
      let cleared = 0;
      await changeMemory(conversation_id, (memory) => {
        cleared = liveCheckpoints(memory, nowMs).length;
        return { ...memory, checkpoints: [] };
      });
      return { cleared };
    },

    listed({ conversation_ids, limit }) {
      const found = conversation_ids.flatMap((conversationId) => {
        const record = find(conversationId);
        return record === undefined || record.archived ? [] : [{ conversationId, record }];
      });
      found.sort((a, b) => b.record.lastActivityMs - a.record.lastActivityMs);
      const rows = found
        .slice(0, limit)
        .map(({ conversationId, record }) => viewRecord(conversationId, record));
      return { conversations: rows, total: found.length };
    },

    history({ conversation_id, rowsMax }) {
      const record = find(conversation_id);
      if (record === undefined) return { rows: [], olderCount: 0 };
      const limits = { ...TRANSCRIPT_LIMITS, rowsMax: Math.min(rowsMax, TRANSCRIPT_ROWS_MAX) };
      const rows = transcripts.newest(conversation_id, record, limits);
      return { rows, olderCount: record.rowCount - rows.length };
    },

    async append({ conversation_id, run_id, channel, rows }) {
      mustBeFileable(conversation_id);
      if (!isFileable(channel, CHANNEL_LENGTH_MAX))
        throw invalid('channel is empty, too long or not well formed');
      if (rows.length > ROWS_PER_APPEND_MAX) throw invalid(`a turn has at most ${ROWS_PER_APPEND_MAX} rows`);
      const [first, ...rest] = rows.map(keptRow);
      if (first === undefined) return { firstIndex: find(conversation_id)?.rowCount ?? 0 };
      const addition = {
        conversationId: conversation_id,
        runId: run_id,
        channel,
        rows: [first, ...rest] as const,
      };
      return { firstIndex: await saved(store.append(addition)) };
    },

    holds({ conversation_id, run_id }) {
      return { isHeld: isFileable(conversation_id) && store.holdsRun(conversation_id, run_id) };
    },

    search_turns({ query = '', limit, conversation_id, roles }) {
      if (conversation_id !== undefined && !isFileable(conversation_id)) return { hits: [] };
      const hitsMax = Math.min(limit, SEARCH_LIMIT_MAX);
      const words = query.trim();
      const hits =
        words === ''
          ? transcripts.lastSaid(hitsMax, { roles: roles ?? ['user'], conversationId: conversation_id })
          : transcripts.search(words, hitsMax, {
              roles: roles ?? SAID_ROLES,
              conversationId: conversation_id,
            });
      return { hits };
    },

    async note_state({ conversation_id, slot, entries, replace }) {
      const nowMs = context.clock.nowMs();
      const put = replace ? replaceSlot : addToSlot;
      const { state } = await changeMemory(conversation_id, (memory, rowCount) =>
        put(memory, slot, agentEntries(entries, rowCount, nowMs)),
      );
      return state;
    },

    async add_checkpoint({ conversation_id, summary, decisions, next_step, replace }) {
      const checkpoint = { summary, decisions, nextStep: next_step, createdAtMs: context.clock.nowMs() };
      const { checkpoints } = await changeMemory(conversation_id, (memory) =>
        addCheckpoint(memory, checkpoint, replace),
      );
      return { count: checkpoints.length };
    },

    async scratchpad({ conversation_id, note, replace }) {
      if (note === undefined) return { text: memoryOf(conversation_id).scratchpad };
      const { scratchpad } = await changeMemory(conversation_id, (memory) =>
        writeScratchpad(memory, note, replace),
      );
      return { text: scratchpad };
    },
  };
}

const TRANSCRIPT_LIMITS = { rowsMax: TRANSCRIPT_ROWS_MAX, lengthMax: TRANSCRIPT_LENGTH_MAX };
const SAID_ROLES = ['user', 'assistant'];
const NOTHING_REMOVED: Removed = { generation: undefined, rowCount: 0, sidecars: [] };

const { conversation_invalid: invalid, conversation_not_found, conversation_not_saved } = conversationFaults;

function unknownConversation(): Fault {
  return conversation_not_found('Unknown conversation');
}

/** Ids come from clients and models; a key of the store has a bounded length and holds whole characters only. */
function isFileable(name: string, lengthMax = CONVERSATION_ID_LENGTH_MAX): boolean {
  return name.length > 0 && name.length <= lengthMax && name.isWellFormed();
}

function mustBeFileable(conversationId: string): void {
  if (!isFileable(conversationId)) throw invalid('the conversation id is empty, too long or not well formed');
}

/** What storage refuses for good reason (a full disk) is the caller's to try again; anything else is a bug. */
async function saved<Result>(write: Promise<Result>): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    if (!isFault(error)) throw error;
    throw conversation_not_saved(`The conversation could not be saved: ${error.message}`, { cause: error });
  }
}

function removalReply({ generation, rowCount, sidecars }: Removed) {
  const conversation = generation === undefined ? 0 : 1;
  return {
    message: conversation === 1 ? 'Conversation deleted' : 'There was no such conversation',
    deleted: {
      turns: rowCount,
      conversation,
      postgres_rows: rowCount + conversation,
      redis_keys: sidecars.length,
      sidecars: [...sidecars],
    },
  };
}
