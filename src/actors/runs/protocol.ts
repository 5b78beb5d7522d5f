// Runs: detached chat turns. `runs` (edge thread) admits them, places them on run hosts and lets readers follow their
// journals; `run-host` (one on each run-host thread) starts one `run` actor for each.
// R1 Accepting a run is a durable record before the answer.
// R2 Append to the journal, then publish: what a reader has seen is saved. Numbers run from 1 without gap or repeat.
// R3 The journal is the only buffer. A reader is a cursor; a slow or gone reader costs nothing.
// R4 Disconnect is not cancel. Cancel is a message, honoured within one event; it keeps the partial text.
// R5 A run that was not finished when its thread or the process died is settled with a reason. None stays running.
// R6 The rows of a turn are durable before its `done` is published.

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { type Address, call, protocol, stream, tell } from '../../supervisor/protocol.ts';
import { CONVERSATION_ID_LENGTH_MAX } from '../conversations/protocol.ts';
import { type TurnUsage, usageFaults } from '../usage/protocol.ts';

export const runFaults = declareFaults({
  message_required: 'invalid',
  session_id_invalid: 'invalid',
  run_id_required: 'invalid',
  run_not_found: 'not_found',
  run_not_owned: 'forbidden',
  run_not_active: 'conflict',
  /** More steers are waiting than a turn can fold in. */
  steers_full: 'conflict',
  /** As many wait as may. */
  runs_full: 'unavailable',
  /** Another turn of the conversation is under way, and the settings say to refuse a second one. */
  conversation_busy: 'conflict',
  /** The turn of a blocking chat ended without an answer. */
  run_failed: 'upstream',
  run_cancelled: 'conflict',
  service_stopped: 'unavailable',
  agent_not_found: 'not_found',
  workflow_not_found: 'not_found',
});

/** How an agent without a profile of its own signs its turns; the clients show it. */
export const AGENT_NAME_DEFAULT = 'AgentX';
export const RUN_STATUSES = ['running', 'done', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** What a run was accepted for: a stream that may be attached to and is listed, a blocking chat, a background job. */
export type RunOrigin = 'stream' | 'chat' | 'job';

/** Of one user, in the list. */
export const RUNS_LISTED_MAX = 50;
export const STEERS_PENDING_MAX = 10;
/** Of one turn in all: each is a row of it. */
export const STEERS_PER_TURN_MAX = 90;
/** A finished run can be re-attached for so long. */
export const RUN_LIFETIME_MS = 2 * 3600 * 1000;
/** A run that was lost so often may be what its hosts die of. */
export const RESUMES_MAX = 3;
/** How long a blocking chat waits for its turn; the turn itself goes on. */
export const CHAT_DEADLINE_MS = 600_000;
/** What saving the rows of stopped runs may take. */
export const STOP_GRACE_MS = 1_000;
const MESSAGE_LENGTH_MAX = 1_000_000;
const EARLIER_TURNS_MAX = 4_096;
const RUN_MESSAGE_LENGTH = 200;
/** Images of one message, and recordings of one. */
const ATTACHED_MAX = 20;
/** Some hours of speech. */
export const TRANSCRIPT_CHARS_MAX = 100_000;

const Text = Type.String();
const OptionalId = Type.Optional(Type.Union([Type.String({ maxLength: 200 }), Type.Null()]));
const SessionId = Type.Optional(
  Type.Union([Type.String({ maxLength: CONVERSATION_ID_LENGTH_MAX }), Type.Null()]),
);
const MediaId = Type.String({ minLength: 1, maxLength: 128 });
const MediaRef = Type.Object({
  workspace_id: MediaId,
  doc_id: MediaId,
  media_type: Type.Optional(Type.String({ maxLength: 100 })),
  transcript: Type.Optional(
    Type.Union([
      Type.String({
        maxLength: TRANSCRIPT_CHARS_MAX,
        description: 'What is said in a recording, when it is known already: it is not transcribed again.',
      }),
      Type.Null(),
    ]),
  ),
});
export type AttachedMedium = Static<typeof MediaRef>;
const mediaRefs = (description: string) =>
  Type.Optional(Type.Union([Type.Array(MediaRef, { maxItems: ATTACHED_MAX, description }), Type.Null()]));

const EphemeralTurn = Type.Object({
  role: Type.Union([Type.Literal('user'), Type.Literal('assistant')]),
  content: Type.String({ maxLength: MESSAGE_LENGTH_MAX }),
});
export type EphemeralTurn = Static<typeof EphemeralTurn>;

const blockingFields = {
  message: Type.Optional(Type.String({ maxLength: MESSAGE_LENGTH_MAX })),
  session_id: SessionId,
  model: OptionalId,
  profile_id: OptionalId,
  temperature: Type.Optional(Type.Union([Type.Number({ minimum: 0, maximum: 2 }), Type.Null()])),
  use_memory: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  /** Of a turn with `use_memory: false`, whose caller knows the conversation; the newest that fit are used. */
  earlier: Type.Optional(Type.Array(EphemeralTurn, { maxItems: EARLIER_TURNS_MAX })),
};

/** A turn as a client asks for it. Null members mean the same as absent ones. */
export const ChatRequest = Type.Object({
  ...blockingFields,
  agent_profile_id: OptionalId,
  workflow_id: OptionalId,
  target_agent_id: OptionalId,
  disable_delegation: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  research_mode: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  thinking_pattern: OptionalId,
  workspace_id: OptionalId,
  images: mediaRefs(
    'Images in workspaces, as /api/agent/chat/images names them. A model that cannot see is told what there is, and so is the user.',
  ),
  audio: mediaRefs('Recordings, likewise. A model that cannot hear gets their transcripts.'),
});
export type ChatRequest = Static<typeof ChatRequest>;

const ForUser = { user_id: Text };

const RunEntry = Type.Object({
  run_id: Text,
  status: Text,
  message: Text,
  session_id: Type.Union([Text, Type.Null()]),
  created_at: Text,
  updated_at: Text,
});
export type RunEntry = Static<typeof RunEntry>;

/** One journaled event as a reader gets it; the number is the SSE id. */
export interface RunFrame {
  readonly seq?: number;
  readonly event: string;
  /** One line of JSON. */
  readonly data: string;
}

const ChatReply = Type.Object({
  task_id: Text,
  status: Text,
  response: Text,
  answer: Text,
  thinking: Text,
  has_thinking: Type.Boolean(),
  session_id: Text,
  reasoning_trace: Type.Integer(),
  reasoning_steps: Type.Integer(),
  tokens_used: Type.Integer(),
  total_tokens: Type.Integer(),
  total_time_ms: Type.Number(),
});
export type ChatReply = Static<typeof ChatReply>;

/** What a run host needs to run a turn. */
export interface RunOrder {
  readonly run_id: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly request: ChatRequest;
  /** Milliseconds since 1970. */
  readonly acceptedAtMs: number;
  /** Earlier turns of a conversation that is not stored (`use_memory: false`). */
  readonly earlier: readonly EphemeralTurn[];
  /** The number of the last event that is in the journal already; the run goes on from there. */
  readonly journaledSeq: number;
  /** Accepted and journaled before the run begins; folded in like those that come later. */
  readonly steers: readonly Steer[];
}

/** A message that was sent into a turn. */
export interface Steer {
  readonly id: string;
  readonly message: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** How a run ended, as its host reports it. */
export interface RunOutcome {
  readonly run_id: string;
  readonly status: Exclude<RunStatus, 'running'>;
  /** For whoever waits on a blocking chat; null when the turn ended in an error. */
  readonly reply: ChatReply | null;
  readonly error: RunError | null;
}

/** What its host knows of it besides. */
export interface EndedRun extends RunOutcome {
  /** For the ledger; null when nothing is known. */
  readonly usage: TurnUsage | null;
}

/**
 * Why a turn is ended before it is done. `suspended`: it is left to be resumed if it is between its steps, and ended like
 * `service_stopped` if it is not.
 */
export type StopCause = 'cancelled' | 'service_stopped' | 'suspended';

export interface RunError {
  readonly code: string;
  readonly message: string;
}

export const runs = protocol('runs', {
  start: call({
    summary: 'Starts a detached chat turn and streams its events; it goes on when the client leaves.',
    request: Type.Object({ ...ChatRequest.properties, ...ForUser }),
    reply: Type.Object({
      run_id: Text,
      /** The number of the last event before this request: above 0 when its text was folded into a turn under way. */
      after: Type.Integer(),
      /** Folded into a turn that somebody else has begun, and waits for: it is not the caller's to end. */
      is_joined: Type.Boolean(),
    }),
    faults: {
      message_required: runFaults.message_required,
      session_id_invalid: runFaults.session_id_invalid,
      runs_full: runFaults.runs_full,
      conversation_busy: runFaults.conversation_busy,
    },
  }),
  tail: stream({
    summary: 'Replays the events of a run after a sequence number, then follows it live.',
    request: Type.Object({
      run_id: Type.Optional(Text),
      after: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
      ...ForUser,
    }),
    reply: Type.Unsafe<readonly RunFrame[]>(Type.Array(Type.Unknown())),
    faults: { run_id_required: runFaults.run_id_required },
  }),
  chat: call({
    summary: 'Runs a chat turn and answers when it is finished.',
    request: Type.Object({ ...blockingFields, agent_profile_id: OptionalId, ...ForUser }),
    reply: ChatReply,
    faults: { ...runFaults, ...usageFaults },
  }),
  list: call({
    summary: "The caller's detached runs, newest first.",
    request: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: RUNS_LISTED_MAX, default: RUNS_LISTED_MAX })),
      ...ForUser,
    }),
    reply: Type.Object({ runs: Type.Array(RunEntry) }),
  }),
  cancel: call({
    summary: 'Cancels a run; what it has written so far is kept.',
    request: Type.Object({ run_id: Text, ...ForUser }),
    reply: Type.Object({
      run_id: Text,
      cancel_requested: Type.Boolean(),
      status: Type.Union([Text, Type.Null()]),
    }),
  }),
  steer: call({
    summary: 'Folds a further message into a running turn at its next safe boundary.',
    request: Type.Object({
      run_id: Text,
      message: Type.Optional(Type.String({ maxLength: MESSAGE_LENGTH_MAX })),
      mode: Type.Optional(Text),
      ...ForUser,
    }),
    reply: Type.Object({ run_id: Text, steer_accepted: Type.Boolean() }),
    faults: runFaults,
  }),
  agent_status: call({
    summary: 'What the agent is doing, and with which settings.',
    request: Type.Object({}),
    reply: Type.Object({
      name: Text,
      status: Text,
      current_task: Type.Union([Text, Type.Null()]),
      tools_available: Type.Array(Text),
      config: Type.Object({
        default_model: Text,
        enable_planning: Type.Boolean(),
        enable_reasoning: Type.Boolean(),
        enable_drafting: Type.Boolean(),
        enable_memory: Type.Boolean(),
        enable_tools: Type.Boolean(),
      }),
      active_sessions: Type.Integer(),
    }),
  }),

  // Between actors only.
  /** Accepts a run under a given id (16 hex digits) that nobody lists. Asked again for a known run it changes nothing. */
  launch: call<
    {
      readonly run_id: string;
      readonly user_id: string;
      readonly request: ChatRequest;
      readonly origin: 'job';
    },
    Record<string, never>
  >({
    faults: {
      message_required: runFaults.message_required,
      session_id_invalid: runFaults.session_id_invalid,
      runs_full: runFaults.runs_full,
    },
  }),
  /** Answers when the run is settled: give it a long deadline. The answer to a settled run comes from its journal. */
  outcome: call<{ readonly run_id: string; readonly user_id: string }, RunOutcome>({
    faults: { run_not_found: runFaults.run_not_found },
  }),

  // Between run hosts and the directory. What must not be missed is a call: its sender hears that it was taken.
  host_ready: call<{ readonly name: string; readonly address: Address }, void>(),
  /** The host's thread is being left: its runs may finish, new ones go elsewhere. */
  host_retiring: call<{ readonly address: Address }, void>(),
  /** Events of these runs were committed, up to these: readers may be woken (R2). Missing one is mended by the next. */
  appended: tell<{ readonly lastSeqs: readonly (readonly [runId: string, lastSeq: number])[] }>(),
  /** The turn is over, its rows and events are saved. */
  settled: call<EndedRun, void>(),
  /** The run was stopped between its steps: all it said is saved, and it can be resumed. */
  left: call<{ readonly run_id: string }, void>(),
  /**
   * Admits no more runs and answers when none is live. Those that are live after `withinMs` are stopped: their readers hear
   * why. What is not settled STOP_GRACE_MS later either is left to the next start.
   */
  drain: call<{ readonly withinMs: number }, { readonly liveCount: number }>(),
  /** The run's actor crashed: its record and journal are for the directory to settle. */
  run_lost: call<{ readonly run_id: string; readonly message: string }, void>(),
});

export const runHost = protocol('run-host', {
  begin: call<RunOrder, void>(),
  cancel: tell<{ readonly run_id: string; readonly cause: StopCause }>(),
  steer: call<{ readonly run_id: string; readonly steer_id: string; readonly message: string }, void>({
    faults: runFaults,
  }),
});

export const run = protocol('run', {
  cancel: tell<{ readonly cause: StopCause }>(),
  steer: call<{ readonly steer_id: string; readonly message: string }, void>({ faults: runFaults }),
});

/** The first characters of a message, for the list of runs. */
export function runMessage(message: string): string {
  return message.slice(0, RUN_MESSAGE_LENGTH).toWellFormed();
}
