// Tools: what the model can call. The tool loop of a run asks here for the list and for every call.
// T1 A failing tool is an answer for the model (`success: false`), never a fault of the run.
// T2 Arguments come from a model: they are checked against the tool's schema before it runs; those of a tool of an MCP server by
//    the server, whose schema it is.
// T3 What a tool of an MCP server answers is not trusted: it is text for the model, and media for the user, and nothing else.

import { type Static, Type } from '../../std/schema.ts';
import { call, protocol, stream } from '../../supervisor/protocol.ts';
import type { MediaRef } from '../providers/protocol.ts';

export interface ToolDescription {
  /** The name as the model sees it. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Of a tool of an MCP server: `server.tool`, as events and transcripts call it. */
  readonly label?: string;
}

const Nullable = Type.Union([Type.String(), Type.Null()]);
const Title = Type.Optional(Nullable);
const MEDIA_URL = '^/api/workspaces/[A-Za-z0-9_-]+/documents/[A-Za-z0-9_-]+/raw$';

/** One element of an exhibit, as the clients render it; bounds as in the wire format. */
export const ExhibitElement = Type.Union([
  Type.Object({ type: Type.Literal('mermaid'), content: Type.String({ minLength: 1 }), title: Title }),
  Type.Object({
    type: Type.Literal('choice'),
    prompt: Title,
    options: Type.Array(Type.String(), { minItems: 1, maxItems: 10 }),
    title: Title,
  }),
  Type.Object({
    type: Type.Literal('table'),
    columns: Type.Array(Type.String(), { minItems: 1, maxItems: 12 }),
    rows: Type.Array(Type.Array(Type.String())),
    caption: Title,
    title: Title,
  }),
  Type.Object({
    type: Type.Literal('citation'),
    sources: Type.Array(
      Type.Object({
        label: Type.String({ minLength: 1 }),
        url: Title,
        quote: Title,
        kind: Type.Union([Type.Literal('active'), Type.Literal('passive')]),
        source_type: Type.Optional(
          Type.Union([Type.Literal('web'), Type.Literal('memory'), Type.Literal('doc'), Type.Null()]),
        ),
      }),
      { minItems: 1, maxItems: 50 },
    ),
    title: Title,
  }),
  Type.Object({
    type: Type.Literal('image'),
    url: Type.String({ pattern: MEDIA_URL }),
    alt: Title,
    title: Title,
  }),
  Type.Object({
    type: Type.Literal('audio'),
    url: Type.String({ pattern: MEDIA_URL }),
    caption: Title,
    title: Title,
  }),
  Type.Object({
    type: Type.Literal('video'),
    url: Type.String({ pattern: MEDIA_URL }),
    caption: Title,
    title: Title,
  }),
  Type.Object({ type: Type.Literal('text'), content: Type.String({ minLength: 1 }), title: Title }),
]);
export type ExhibitElement = Static<typeof ExhibitElement>;

export const Exhibit = Type.Object({
  schema_version: Type.Literal(1),
  id: Type.String({ minLength: 1 }),
  title: Nullable,
  layout: Type.Union([Type.Literal('stack'), Type.Literal('grid')]),
  elements: Type.Array(ExhibitElement, { minItems: 1 }),
});
export type Exhibit = Static<typeof Exhibit>;

/** What a tool may know about the turn that calls it. */
export interface ToolCaller {
  readonly run_id: string;
  readonly conversation_id: string;
  readonly user_id: string;
  /** False in an ephemeral turn (`use_memory: false`), which must leave nothing behind. */
  readonly durable: boolean;
  /** Which tools of MCP servers it may call; the default agent when absent. */
  readonly agent_id?: string;
  /** The project that the turn works in; outside of any when absent. */
  readonly workspace_id?: string | undefined;
  /** Its model sees images. */
  readonly sees?: boolean;
}

export interface ToolResult {
  /** What the model reads. Longer than TOOL_RESULT_INLINE_CHARS_MAX: already stored, this is the reference and a preview. */
  readonly content: string;
  readonly success: boolean;
  readonly durationMs: number;
  /** Shown to the user instead of a tool card (`present_exhibit`) or after it. */
  readonly exhibits?: readonly Exhibit[];
  /** For the model to see in its next call. */
  readonly images?: readonly MediaRef[];
  /** Tools that were found, to be offered from the next model call of the turn on. */
  readonly loaded?: readonly ToolDescription[];
}

/** Whose list it is. */
export interface ToolAudience {
  readonly durable: boolean;
  /** The default agent when absent. */
  readonly agent_id?: string | undefined;
  /** What was loaded in it is offered too. */
  readonly conversation_id?: string;
  /** Inside of a project its tools are offered. */
  readonly workspace_id?: string | undefined;
  /** False for a model that would have no use of images. */
  readonly sees?: boolean | undefined;
}

export interface ToolCall {
  readonly tool: string;
  readonly tool_call_id: string;
  /** The object that the model sent, unchecked. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly caller: ToolCaller;
}

/** What a call says on its way, at most a few times a second, and what it came to. */
export type ToolCallItem =
  | {
      readonly kind: 'progress';
      /** For the user; null when the tool has none. */
      readonly message: string | null;
      /** From 0 to 1; null when nobody knows. */
      readonly progress: number | null;
    }
  | { readonly kind: 'result'; readonly result: ToolResult };

export const tools = protocol('tools', {
  /** The tools that a turn may offer to its model. */
  list: call<ToolAudience, { readonly tools: readonly ToolDescription[] }>(),
  /**
   * The same for who asks again and again: `tools` is null when the list is the one of version `known`. `loaded` comes on top of
   * it: what was found in this conversation.
   */
  offer: call<
    ToolAudience & { readonly known: string },
    {
      readonly version: string;
      readonly tools: readonly ToolDescription[] | null;
      readonly loaded: readonly ToolDescription[];
    }
  >(),
  /** T1, T2. */
  call: call<ToolCall, ToolResult>(),
  /** The same for tools that may take long: leaving the stream cancels the call. */
  perform: stream<ToolCall, ToolCallItem>(),
});
