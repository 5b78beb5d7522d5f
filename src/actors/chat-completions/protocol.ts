// ChatCompletions: the door for programs that speak OpenAI's API. `chat-completions` (edge thread) takes their requests;
// `direct-completions` (a pool on the run-host threads) makes those that name a model.
// C1 A model's name is a direct completion: the client's messages and tools, nothing of ours added, nothing stored. It takes
//    the route that a turn would take, down the same chain as long as nothing was said.
// C2 An agent's name (`agent:default`) is a turn of Troupe: its prompt, its tools, its answer.
// C3 A request ends with its connection, and after CALL_DEADLINE_MS: then the model is not asked any further.
// C4 What cannot be done is refused by name; only what changes no answer is passed over.
// C5 At most CALLS_OPEN_MAX at once: one more is told to come again.

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol, stream } from '../../supervisor/protocol.ts';
import { type CompletionRequest, providerFaults } from '../providers/protocol.ts';
import { usageFaults } from '../usage/protocol.ts';

export const chatCompletionFaults = declareFaults({
  /** What was asked for makes no sense, or is not done here. */
  completion_refused: 'invalid',
  model_unknown: 'not_found',
  completions_full: 'unavailable',
  completion_overdue: 'timeout',
  /** The model, or the agent's turn, ended without an answer. */
  completion_failed: 'upstream',
});

/** As long as OpenAI's own client waits. */
export const CALL_DEADLINE_MS = 600_000;
/** Each is a connection in, one out, and at most an answer in memory. */
export const CALLS_OPEN_MAX = 512;
/** What lists the models waits for the providers' own lists. */
export const MODELS_DEADLINE_MS = 15_000;

const MESSAGES_MAX = 4_096;
/** As the API has it. */
const TOOLS_MAX = 128;
const STOPS_MAX = 4;

const Text = Type.String();
const Free = Type.Record(Type.String(), Type.Unknown());
const orNull = <const T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

const ToolCall = Type.Object({
  id: Text,
  type: Text,
  function: Type.Object({ name: Text, arguments: Text }),
});
export type ToolCall = Static<typeof ToolCall>;

export interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: { readonly url: string };
}

const Message = Type.Object({
  role: Type.Union([
    Type.Literal('system'),
    Type.Literal('developer'),
    Type.Literal('user'),
    Type.Literal('assistant'),
    Type.Literal('tool'),
  ]),
  content: Type.Optional(
    Type.Unsafe<string | readonly ContentPart[] | null>(
      Type.Union([
        Text,
        Type.Array(
          Type.Object({
            type: Text,
            text: Type.Optional(Text),
            image_url: Type.Optional(
              Type.Object({
                url: Type.String({
                  description:
                    'An image that was uploaded here, by its url: /api/workspaces/{id}/documents/{id}/raw.',
                }),
              }),
            ),
          }),
        ),
        Type.Null(),
      ]),
    ),
  ),
  tool_calls: orNull(Type.Array(ToolCall, { maxItems: TOOLS_MAX })),
  tool_call_id: Type.Optional(Text),
});
export type Message = Static<typeof Message>;

const Tool = Type.Object({
  type: Text,
  function: Type.Optional(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 64 }),
      description: Type.Optional(Text),
      parameters: orNull(Free),
      strict: orNull(Type.Boolean()),
    }),
  ),
});

/** Members that are not named here change no answer, and are passed over. */
export const ChatCompletionRequest = Type.Object({
  model: orNull(
    Type.String({
      maxLength: 300,
      description:
        'agent:default, provider:model, role:name; the default model when it is empty or "default".',
    }),
  ),
  messages: Type.Array(Message, { minItems: 1, maxItems: MESSAGES_MAX }),
  stream: orNull(Type.Boolean()),
  stream_options: orNull(Type.Object({ include_usage: Type.Optional(Type.Boolean()) })),
  tools: orNull(Type.Array(Tool, { maxItems: TOOLS_MAX })),
  tool_choice: Type.Optional(
    Type.Unsafe<string | { readonly type: string; readonly function?: { readonly name: string } } | null>(
      Type.Union([
        Text,
        Type.Object({ type: Text, function: Type.Optional(Type.Object({ name: Text })) }),
        Type.Null(),
      ]),
    ),
  ),
  parallel_tool_calls: orNull(Type.Boolean()),
  response_format: orNull(
    Type.Object({
      type: Type.Union([Type.Literal('text'), Type.Literal('json_object'), Type.Literal('json_schema')]),
      json_schema: Type.Optional(
        Type.Object({
          name: Text,
          description: Type.Optional(Text),
          schema: Type.Optional(Free),
          strict: orNull(Type.Boolean()),
        }),
      ),
    }),
  ),
  temperature: orNull(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: orNull(Type.Number({ minimum: 0, maximum: 1 })),
  frequency_penalty: orNull(Type.Number({ minimum: -2, maximum: 2 })),
  presence_penalty: orNull(Type.Number({ minimum: -2, maximum: 2 })),
  max_tokens: orNull(Type.Integer({ minimum: 1 })),
  max_completion_tokens: orNull(Type.Integer({ minimum: 1 })),
  stop: Type.Optional(
    Type.Unsafe<string | readonly string[] | null>(
      Type.Union([Text, Type.Array(Text, { maxItems: STOPS_MAX }), Type.Null()]),
    ),
  ),
  seed: orNull(Type.Integer()),
  n: orNull(Type.Integer()),
  logprobs: orNull(Type.Boolean()),
  modalities: orNull(Type.Array(Text)),
  functions: orNull(Type.Array(Type.Unknown())),
  metadata: orNull(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'With an agent: `session_id` names the conversation that the turn belongs to.',
    }),
  ),
  user_id: Text,
});
export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>;

const Usage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  prompt_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
  completion_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
});
export type Usage = Static<typeof Usage>;

export const ChatCompletion = Type.Object({
  id: Text,
  object: Text,
  created: Type.Integer(),
  model: Type.String({ description: 'The one that answered.' }),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Text,
        content: Type.Union([Text, Type.Null()]),
        refusal: Type.Null(),
        reasoning_content: Type.Optional(Text),
        tool_calls: Type.Optional(Type.Array(ToolCall)),
      }),
      logprobs: Type.Null(),
      finish_reason: Text,
    }),
  ),
  usage: Type.Optional(Usage),
});
export type ChatCompletion = Static<typeof ChatCompletion>;

const ModelEntry = Type.Object({
  id: Text,
  object: Text,
  created: Type.Integer(),
  owned_by: Text,
});

/** A part of an answer that is streamed: one data line, without an event's name. */
export interface CompletionFrame {
  readonly data: string;
}

const faults = { ...chatCompletionFaults, ...providerFaults, ...usageFaults };

export const chatCompletions = protocol('chat-completions', {
  complete: call({
    summary: 'Completes a chat as OpenAI does: by a model, or by an agent of Troupe. Streams if asked to.',
    request: ChatCompletionRequest,
    reply: ChatCompletion,
    faults,
  }),
  stream: stream({
    summary: 'The same, piece by piece.',
    request: ChatCompletionRequest,
    reply: Type.Unsafe<readonly CompletionFrame[]>(Type.Array(Type.Unknown())),
    faults,
  }),
  models: call({
    summary:
      'What a completion may name as its model: the agents, and the models of the configured providers.',
    request: Type.Object({}),
    reply: Type.Object({ object: Text, data: Type.Array(ModelEntry) }),
  }),
  model: call({
    summary: 'One of them.',
    request: Type.Object({ model: Text }),
    reply: ModelEntry,
    faults: { model_unknown: chatCompletionFaults.model_unknown },
  }),
});

/** A direct completion, parsed; its route is still to be found. */
export interface DirectOrder {
  /** Of the completion, and of its turn in the usage ledger. */
  readonly id: string;
  /** A reference, or the default model when null. */
  readonly model: string | null;
  readonly request: Omit<CompletionRequest, 'connection' | 'modelId' | 'price'>;
  readonly wantsUsage: boolean;
}

export const directCompletions = protocol('direct-completions', {
  complete: call<DirectOrder, ChatCompletion>({ faults }),
  stream: stream<DirectOrder, readonly CompletionFrame[]>({ faults }),
});
