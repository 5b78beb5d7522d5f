// Recall: what is remembered of past conversations: the turns that speak of something.

import { Type } from '../../std/schema.ts';
import { conversations } from '../conversations/protocol.ts';
import { defineOutwardTool } from './outward-tool.ts';

const TURNS_DEFAULT = 8;
const TURNS_MAX = 20;
const TOPIC_LENGTH_MAX = 500;
/** Of one turn: enough to see what it was about. */
const TURN_CHARS_MAX = 2_000;

const Turn = Type.Object({
  conversation_id: Type.String({ description: 'What run_agent takes to go on there.' }),
  role: Type.String({ description: '`user` or `assistant`.' }),
  timestamp: Type.String(),
  text: Type.String({ description: `At most ${TURN_CHARS_MAX} characters of it.` }),
});

export const recallTool = defineOutwardTool({
  name: 'recall',
  title: 'Recall past conversations',
  description:
    'Finds what users and agents of this Troupe service said about something in past conversations, best matches first.',
  isReadOnly: true,
  parameters: Type.Object({
    topic: Type.String({ minLength: 1, maxLength: TOPIC_LENGTH_MAX, description: 'Words to look for.' }),
    limit: Type.Integer({ default: TURNS_DEFAULT, minimum: 1, maximum: TURNS_MAX }),
  }),
  result: Type.Object({ turns: Type.Array(Turn) }),
  async run({ topic, limit }, { ask }) {
    const { hits } = await ask(conversations, 'search_turns', { query: topic, limit });
    const turns = hits.map(({ conversation_id, role, timestamp, content }) => ({
      ...{ conversation_id, role, timestamp },
      text: content.slice(0, TURN_CHARS_MAX).toWellFormed(),
    }));
    const texts = turns.map(({ role, timestamp, text }) => `${role}, ${timestamp}:\n${text}`);
    return {
      texts: texts.length === 0 ? ['Nothing was found.'] : texts,
      structured: { turns },
      isError: false,
    };
  },
});
