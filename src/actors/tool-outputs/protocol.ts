// Tool outputs: long tool results and long user messages, kept for an hour under a key that the model can page through.

import { declareFaults } from '../../std/errors.ts';
import { Type } from '../../std/schema.ts';
import { call, protocol } from '../../supervisor/protocol.ts';

export const toolOutputFaults = declareFaults({ tool_output_not_found: 'not_found' });

export const TOOL_OUTPUT_LIFETIME_MS = 3600 * 1000;
/** A longer tool result is stored and referenced. */
export const TOOL_RESULT_INLINE_CHARS_MAX = 12_000;
/** A longer user message is stored, and only its first part reaches the model. */
export const USER_MESSAGE_INLINE_CHARS_MAX = 5_000;
export const USER_MESSAGE_PREVIEW_CHARS = 2_000;

// The wire has two sets of names for the same members; both are served.
const Metadata = {
  storage_key: Type.String(),
  tool: Type.String(),
  size: Type.Integer(),
  created_at: Type.String(),
  key: Type.String(),
  tool_name: Type.String(),
  tool_call_id: Type.String(),
  size_chars: Type.Integer(),
  stored_at: Type.String(),
};
export const ToolOutput = Type.Object(Metadata);
export const ToolOutputSlice = Type.Object({
  ...Metadata,
  content: Type.Optional(Type.String()),
  offset: Type.Optional(Type.Integer()),
  limit: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  total_size: Type.Optional(Type.Integer()),
});

const Key = Type.String({ minLength: 1, maxLength: 200 });

export const toolOutputs = protocol('tool-outputs', {
  list: call({
    summary: 'Stored tool outputs, newest first.',
    request: Type.Object({ pattern: Type.Optional(Type.String({ default: '*', maxLength: 200 })) }),
    reply: Type.Object({ outputs: Type.Array(ToolOutput), count: Type.Integer() }),
  }),
  read: call({
    summary: 'A stored output: whole, a slice in characters, or its metadata only.',
    request: Type.Object({
      storage_key: Key,
      offset: Type.Optional(Type.Integer({ minimum: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 1 })),
      metadata_only: Type.Optional(Type.Boolean()),
    }),
    reply: ToolOutputSlice,
    faults: toolOutputFaults,
  }),
  remove: call({
    summary: 'Deletes a stored output.',
    request: Type.Object({ storage_key: Key }),
    reply: Type.Object({ deleted: Type.Boolean(), key: Type.String() }),
    faults: toolOutputFaults,
  }),

  // Between actors only.
  /** Stores a text and answers its key: `{tool}_{HHMMSS}_{8 hex of sha256}`, or `msg_{HHMMSS}_{8 hex}` for a user message. */
  keep: call<
    {
      readonly tool: string;
      readonly tool_call_id: string;
      readonly content: string;
      readonly kind: 'tool' | 'message';
    },
    { readonly key: string }
  >(),
});
