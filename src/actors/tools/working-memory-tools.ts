// Working memory tools: notes that the model keeps about the conversation it is in. The conversation owns them.

import { Type } from '../../std/schema.ts';
import {
  conversations,
  SCRATCHPAD_LENGTH_MAX,
  STATE_ENTRIES_MAX,
  STATE_NARRATIVE_LENGTH_MAX,
  STATE_SLOTS,
  type StateSlot,
} from '../conversations/protocol.ts';
import { defineTool, errorAnswer, jsonAnswer, type Tool } from './tool.ts';

const CHECKPOINT_TEXT_LENGTH_MAX = 2_000;
const CHECKPOINT_DECISIONS_MAX = 20;

const CheckpointText = (description: string) =>
  Type.String({ maxLength: CHECKPOINT_TEXT_LENGTH_MAX, description });

export const workingMemoryTools: readonly Tool[] = [
  defineTool({
    name: 'checkpoint',
    description:
      'Anchors where the work stands. Checkpoints come back in every later turn of this conversation, when older turns ' +
      'may have left the context.',
    writesMemory: true,
    parameters: Type.Object({
      summary: Type.String({ minLength: 1, maxLength: CHECKPOINT_TEXT_LENGTH_MAX }),
      decisions: Type.Array(CheckpointText('A decision and its reason.'), {
        maxItems: CHECKPOINT_DECISIONS_MAX,
        default: [],
      }),
      next_step: Type.String({ maxLength: CHECKPOINT_TEXT_LENGTH_MAX, default: '' }),
      replace: Type.Boolean({ default: false, description: 'Replaces the newest checkpoint.' }),
    }),
    async run(args, context) {
      const summary = args.summary.trim();
      if (summary === '') return errorAnswer('summary must not be blank');
      const { count } = await context.ask(conversations, 'add_checkpoint', {
        ...args,
        summary,
        conversation_id: context.caller.conversation_id,
      });
      return jsonAnswer({ status: 'saved', checkpoints: count });
    },
  }),
  defineTool({
    name: 'scratchpad_note',
    description:
      'A free working note of this conversation: adds a note, replaces everything with it, or only reads it.',
    writesMemory: true,
    parameters: Type.Object({
      note: Type.Optional(Type.String({ maxLength: SCRATCHPAD_LENGTH_MAX })),
      replace: Type.Boolean({ default: false }),
      read: Type.Boolean({ default: false, description: 'Reads the scratchpad and changes nothing.' }),
    }),
    async run({ note, replace, read }, context) {
      const adds = !read && note !== undefined && (note.trim() !== '' || replace);
      const { text } = await context.ask(conversations, 'scratchpad', {
        conversation_id: context.caller.conversation_id,
        ...(adds ? { note } : {}),
        replace: adds && replace,
      });
      return jsonAnswer({ status: adds ? 'saved' : 'read', scratchpad: text });
    },
  }),
  defineTool({
    name: 'update_conversation_state',
    description:
      'Keeps structured notes about this conversation: goals, decisions, open threads, artifacts, or a narrative. ' +
      'Adds entries to a slot, or replaces all of it.',
    writesMemory: true,
    offeredWhen: (settings) => settings['context.conversation_state_enabled'],
    parameters: Type.Object({
      slot: Type.Enum([...STATE_SLOTS]),
      entries: Type.Array(Type.String({ maxLength: STATE_NARRATIVE_LENGTH_MAX }), {
        maxItems: STATE_ENTRIES_MAX,
      }),
      replace: Type.Boolean({ default: false }),
    }),
    async run({ slot, entries, replace }, context) {
      const written = entries.map((entry) => entry.trim()).filter((entry) => entry !== '');
      if (written.length === 0 && !replace) return errorAnswer('entries must hold at least one text');
      const state = await context.ask(conversations, 'note_state', {
        conversation_id: context.caller.conversation_id,
        slot: slot as StateSlot,
        entries: written,
        replace,
      });
      return jsonAnswer({ status: 'saved', slot, entries: state[slot as StateSlot].length });
    },
  }),
];
