// History tools: what was said, in this conversation and in others. Both bound their answer themselves, so that it is
// read at once and never stored.

import { Type } from '../../std/schema.ts';
import { conversations, type Message } from '../conversations/protocol.ts';
import { boundedAnswer } from './bounded-answer.ts';
import { excerpt } from './excerpt.ts';
import { defineTool, errorAnswer, type Tool, type ToolContext } from './tool.ts';

/** Rows on either side of the one that was asked for; without one, twice as many of the newest. */
const ROWS_AROUND = 8;

export const historyTools: readonly Tool[] = [
  defineTool({
    name: 'read_thread',
    description:
      'Reads turns of a conversation word for word: the newest ones, or those around center_turn. ' +
      'Pass "current" for this conversation; the turn in progress is not part of it yet.',
    parameters: Type.Object({
      conversation_id: Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'A conversation id, or "current".',
      }),
      center_turn: Type.Optional(
        Type.Integer({
          minimum: 0,
          description: 'turn_index to read around, e.g. from recall_user_history.',
        }),
      ),
    }),
    async run({ conversation_id, center_turn }, context) {
      const id = conversation_id === 'current' ? context.caller.conversation_id : conversation_id;
      const { rows, total } = await readWindow(id, center_turn, context);
      if (rows.length === 0) return errorAnswer(`There are no such turns in conversation ${id}`);
      return boundedAnswer((charsMax) => ({
        conversation_id: id,
        total_turns: total,
        turns: rows.map(({ turn_index, role, timestamp, content }) => ({
          turn_index,
          role,
          timestamp,
          content: excerpt(content, charsMax),
        })),
      }));
    },
  }),
  defineTool({
    name: 'recall_user_history',
    description:
      'Finds what the user said in past conversations: the best matches for a topic, or the newest messages without one. ' +
      'Use read_thread with conversation_id and turn_index to see what was said around a match.',
    parameters: Type.Object({
      topic: Type.Optional(Type.String({ maxLength: 500, description: 'Words to look for.' })),
      limit: Type.Integer({ minimum: 1, maximum: 20, default: 10 }),
    }),
    async run({ topic, limit }, context) {
      const query = topic?.trim() ?? '';
      const { hits } = await context.ask(conversations, 'search_turns', {
        ...(query === '' ? {} : { query }),
        limit,
        roles: ['user'],
      });
      return boundedAnswer((charsMax) => ({
        topic: query === '' ? null : query,
        count: hits.length,
        turns: hits.map(({ conversation_id, turn_index, timestamp, content }) => ({
          conversation_id,
          turn_index,
          timestamp,
          content: excerpt(content, charsMax),
        })),
      }));
    },
  }),
];

async function readWindow(
  conversation_id: string,
  centerTurn: number | undefined,
  context: ToolContext,
): Promise<{ readonly rows: readonly Message[]; readonly total: number }> {
  if (centerTurn === undefined) {
    const newest = await context.ask(conversations, 'history', { conversation_id, rowsMax: 2 * ROWS_AROUND });
    return { rows: newest.rows, total: newest.olderCount + newest.rows.length };
  }
  const whole = await context.ask(conversations, 'messages', { conversation_id });
  const near = (row: Message): boolean => Math.abs(row.turn_index - centerTurn) <= ROWS_AROUND;
  return { rows: whole.messages.filter(near), total: whole.message_count };
}
