// Transcript: the rows of all conversations and the full text over what was said in them. Part of the store.
// T1 Rows are keyed [conversation, generation, index], the indexes without a gap; the generation tells the rows of a
//    conversation from those of a deleted one of the same id that are still being cleared away.
// T2 A row and its text are written and removed in the same transaction.
// T3 A reader passes the record: rows of another generation, and rows beyond the record's count, are not there for it.
// T4 Searchable is what the user or the assistant said. Tool rows are not, nor are reports of delegated work, which
//    stand in the user's place but are not the user's words.

import { isoTimestamp } from '../../std/clock.ts';
import type { Key, Storage, Transaction } from '../../storage/contract.ts';
import { beginning } from './excerpt.ts';
import type { Message, TurnHit } from './protocol.ts';
import type { ConversationRecord, KeptRow } from './record.ts';

/** The part of a row that is searched, and that a hit carries: an answer of ordinary length as a whole. */
export const SEARCHED_LENGTH_MAX = 20_000;
export const SEARCH_LIMIT_MAX = 50;
export const SEARCH_QUERY_LENGTH_MAX = 2000;
/** Rows looked at for the newest words of the user: beyond it they are not recent any more. */
export const NEWEST_SCANNED_MAX = 2000;

export type Generation = readonly [conversationId: string, generation: number];

export interface RowLimits {
  readonly rowsMax: number;
  /** Characters of content in all; one row is given in any case. */
  readonly lengthMax: number;
}

/** The record of a conversation, undefined when there is none. */
export type FindRecord = (conversationId: string) => ConversationRecord | undefined;

export interface Transcripts {
  /** Adds rows behind the ones that are there. */
  add(
    tx: Transaction,
    generation: Generation,
    firstIndex: number,
    rows: readonly KeptRow[],
    channel: string,
  ): void;
  /** Removes rows; the number is below `rowsMax` when none are left. */
  clear(tx: Transaction, generation: Generation, rowsMax: number): number;
  /** The newest rows within the limits, oldest first. */
  newest(conversationId: string, record: ConversationRecord, limits: RowLimits): Message[];
  /** Best first. */
  search(query: string, limit: number, filter: SearchFilter): TurnHit[];
  /** What was said last, newest first. */
  lastSaid(limit: number, filter: SearchFilter): TurnHit[];
}

export interface SearchFilter {
  readonly roles: readonly string[];
  readonly conversationId: string | undefined;
}

/** For "what was said last": by role, then time. */
const ROW_INDEXES = { said: (row: KeptRow) => (isSaid(row) ? [row.role, row.atMs] : null) };

export function openTranscripts(storage: Storage, findRecord: FindRecord): Transcripts {
  const rows = storage.table<KeptRow, typeof ROW_INDEXES>({
    name: 'conversation_rows',
    indexes: ROW_INDEXES,
  });
  const texts = storage.fullText('conversation_texts');

  /** T3. The hit for a row, unless its conversation is gone. */
  const hitOf = (place: Place, row: KeptRow, score: number): TurnHit | undefined => {
    if (findRecord(place.conversationId)?.generation !== place.generation) return undefined;
    return {
      conversation_id: place.conversationId,
      turn_index: place.index,
      role: row.role,
      content: beginning(row.content, SEARCHED_LENGTH_MAX),
      timestamp: isoTimestamp(row.atMs),
      score,
    };
  };

  const lastSaidAs = (role: string, limit: number): TurnHit[] => {
    const entries = rows.by('said', { prefix: role, reverse: true, limit: NEWEST_SCANNED_MAX });
    return firstHits(entries, limit, ({ key, value }) => hitOf(placeOf(key), value, 0));
  };

  const lastSaidIn = (conversationId: string, limit: number, roles: readonly string[]): TurnHit[] => {
    const record = findRecord(conversationId);
    if (record === undefined) return [];
    const entries = rows.range({ ...newestFirst(conversationId, record), limit: NEWEST_SCANNED_MAX });
    return firstHits(entries, limit, ({ key, value }) =>
      isSaid(value) && roles.includes(value.role) ? hitOf(placeOf(key), value, 0) : undefined,
    );
  };

  return {
    add(tx, generation, firstIndex, added, channel) {
      const [conversation] = generation;
      for (const [offset, row] of added.entries()) {
        const key: Key = [...generation, firstIndex + offset];
        tx.put(rows, key, row);
        if (!isSaid(row)) continue;
        const text = beginning(row.content, SEARCHED_LENGTH_MAX);
        tx.indexText(texts, {
          id: textId(placeOf(key)),
          text,
          labels: { conversation, role: row.role, channel },
        });
      }
    },

    clear(tx, generation, rowsMax) {
      const cleared = [...tx.range(rows, { prefix: generation, limit: rowsMax })];
      for (const { key, value } of cleared) {
        tx.remove(rows, key);
        if (isSaid(value)) tx.removeText(texts, textId(placeOf(key)));
      }
      return cleared.length;
    },

    newest(conversationId, record, { rowsMax, lengthMax }) {
      const newest: Message[] = [];
      let length = 0;
      for (const { key, value } of rows.range({ ...newestFirst(conversationId, record), limit: rowsMax })) {
        length += value.content.length;
        if (length > lengthMax && newest.length > 0) break;
        newest.push(viewRow(placeOf(key).index, value));
      }
      return newest.reverse();
    },

    search(query, limit, { roles, conversationId }) {
      const where = {
        role: roles,
        ...(conversationId === undefined ? {} : { conversation: [conversationId] }),
      };
      const found = texts.search({ text: beginning(query, SEARCH_QUERY_LENGTH_MAX), limit, where });
      return firstHits(found, limit, ({ id, score }) => {
        const place = placeOfText(id);
        const row = rows.get([place.conversationId, place.generation, place.index]);
        return row === undefined ? undefined : hitOf(place, row, score);
      });
    },

    lastSaid(limit, { roles, conversationId }) {
      if (conversationId !== undefined) return lastSaidIn(conversationId, limit, roles);
      const said = roles.flatMap((role) => lastSaidAs(role, limit));
      return said.sort((a, b) => (a.timestamp < b.timestamp ? 1 : -1)).slice(0, limit);
    },
  };
}

interface Place {
  readonly conversationId: string;
  readonly generation: number;
  readonly index: number;
}

/** T4. */
function isSaid(row: KeptRow): boolean {
  if (row.role !== 'user' && row.role !== 'assistant') return false;
  return row.content.trim() !== '' && row.metadata?.work_order_report !== true;
}

/** T3. */
function newestFirst(conversationId: string, { generation, rowCount }: ConversationRecord) {
  const prefix = [conversationId, generation];
  return { prefix, start: [...prefix, rowCount - 1], reverse: true };
}

function viewRow(index: number, row: KeptRow): Message {
  const { role, content, atMs, metadata } = row;
  const message = { role, content, timestamp: isoTimestamp(atMs), turn_index: index };
  return metadata === undefined ? message : { ...message, metadata };
}

function placeOf(key: Key): Place {
  const [conversationId, generation, index] = key as readonly [string, number, number];
  return { conversationId, generation, index };
}

/** The conversation comes last: its id may hold any character. */
function textId({ conversationId, generation, index }: Place): string {
  return `${generation}/${index}/${conversationId}`;
}

function placeOfText(id: string): Place {
  const [generation = '', index = ''] = id.split('/', 2);
  const conversationId = id.slice(generation.length + index.length + 2);
  return { conversationId, generation: Number(generation), index: Number(index) };
}

/** The first `limit` hits; stops reading there. */
function firstHits<Found>(
  found: Iterable<Found>,
  limit: number,
  toHit: (found: Found) => TurnHit | undefined,
): TurnHit[] {
  const hits: TurnHit[] = [];
  for (const candidate of found) {
    if (hits.length >= limit) break;
    const hit = toHit(candidate);
    if (hit !== undefined) hits.push(hit);
  }
  return hits;
}
