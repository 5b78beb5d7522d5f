// Record: what is kept about a conversation besides its rows. Pure decisions; the store keeps what they return.
// V1 The record counts the rows, so that nobody ever has to scan them: the next row's index is `rowCount`.
// V2 A conversation stays in the channel it began in, whatever channels its later turns name.
// V3 Last activity never goes back, though the wall clock may.
// V4 A change of metadata is all or nothing: one bad field refuses the others too. A null field counts as absent.

import { isoTimestamp } from '../../std/clock.ts';
import { beginning, excerpt } from './excerpt.ts';
import { type ConversationRow, conversationFaults, type NewRow, TITLE_LENGTH_MAX } from './protocol.ts';

/** Text of the first user message and of the last row that the record keeps: a list of 100 stays small. */
export const RECORD_TEXT_LENGTH_MAX = 1000;
const DERIVED_TITLE_LENGTH_MAX = 80;
const PREVIEW_LENGTH_MAX = 120;
const UNTITLED = 'New Conversation';

/** Longer content is cut, and says so: a turn that is kept without its tail beats one that is lost. */
export const ROW_CONTENT_LENGTH_MAX = 4 * 1024 * 1024;
/** A turn of forty rounds of twenty-five parallel calls, each a call and a result. */
export const ROWS_PER_APPEND_MAX = 2000;

export interface ConversationRecord {
  /** Tells its rows from those of a deleted conversation of the same id that are still being cleared away. */
  readonly generation: number;
  /** The user's own title. */
  readonly title: string | null;
  readonly archived: boolean;
  readonly channel: string;
  readonly createdAtMs: number;
  readonly lastActivityMs: number;
  readonly rowCount: number;
  readonly firstUserMessage: string;
  readonly lastMessage: string;
}

/** A row as it is kept; its index is in its key. */
export interface KeptRow {
  readonly role: NewRow['role'];
  readonly content: string;
  readonly atMs: number;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface MetaChange {
  readonly title?: string;
  readonly archived?: boolean;
}

export function newRecord(generation: number, channel: string, createdAtMs: number): ConversationRecord {
  return {
    generation,
    title: null,
    archived: false,
    channel,
    createdAtMs,
    lastActivityMs: createdAtMs,
    rowCount: 0,
    firstUserMessage: '',
    lastMessage: '',
  };
}

/** Half a character (an emoji that was cut) is kept as the sign for it: storage and wire know whole ones only. */
export function keptRow(row: NewRow): KeptRow {
  const { role, content, atMs, metadata } = row;
  return {
    role,
    content: keptContent(content.toWellFormed()),
    atMs,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** V1, V3. The record after these rows were added to it. */
export function withRows(record: ConversationRecord, rows: readonly KeptRow[]): ConversationRecord {
  const firstSaid = rows.find((row) => row.role === 'user' && row.content.trim() !== '');
  const last = rows.at(-1);
  if (last === undefined) return record;
  return {
    ...record,
    rowCount: record.rowCount + rows.length,
    lastActivityMs: Math.max(record.lastActivityMs, last.atMs),
    firstUserMessage: record.firstUserMessage || excerpt(firstSaid?.content ?? '', RECORD_TEXT_LENGTH_MAX),
    lastMessage: excerpt(last.content, RECORD_TEXT_LENGTH_MAX),
  };
}

/** V4. @throws conversation_invalid */
export function parseMetaChange(fields: {
  readonly title?: unknown;
  readonly archived?: unknown;
}): MetaChange {
  const title = parseTitle(fields.title ?? undefined);
  const archived = parseArchived(fields.archived ?? undefined);
  if (title === undefined && archived === undefined) {
    throw conversationFaults.conversation_invalid('Give a title, or archived, or both');
  }
  return { ...(title === undefined ? {} : { title }), ...(archived === undefined ? {} : { archived }) };
}

/** Which project it is in is not the transcript's to know: null where nobody says. */
export function viewRecord(
  conversationId: string,
  record: ConversationRecord,
  workspaceId: string | null = null,
): ConversationRow {
  return {
    conversation_id: conversationId,
    title: record.title ?? (excerpt(record.firstUserMessage, DERIVED_TITLE_LENGTH_MAX) || UNTITLED),
    preview: excerpt(record.lastMessage, PREVIEW_LENGTH_MAX),
    created_at: isoTimestamp(record.createdAtMs),
    last_message_at: isoTimestamp(record.lastActivityMs),
    message_count: record.rowCount,
    channel: record.channel,
    archived: record.archived,
    first_user_message: record.firstUserMessage,
    last_message: record.lastMessage,
    workspace_id: workspaceId,
  };
}

function keptContent(content: string): string {
  if (content.length <= ROW_CONTENT_LENGTH_MAX) return content;
  const kept = beginning(content, ROW_CONTENT_LENGTH_MAX);
  return `${kept}\n[${content.length - kept.length} more characters were not kept]`;
}

function parseTitle(title: unknown): string | undefined {
  if (title === undefined) return undefined;
  const trimmed = typeof title === 'string' ? title.trim() : '';
  if (trimmed === '') throw conversationFaults.conversation_invalid('title must be a text that is not empty');
  if (Array.from(trimmed).length > TITLE_LENGTH_MAX) {
    throw conversationFaults.conversation_invalid(`title must have at most ${TITLE_LENGTH_MAX} characters`);
  }
  return trimmed;
}

function parseArchived(archived: unknown): boolean | undefined {
  if (archived === undefined || typeof archived === 'boolean') return archived;
  throw conversationFaults.conversation_invalid('archived must be true or false');
}
