// McpOutward: what Troupe offers to programs that speak MCP: tools over its own agents (ADR 18). One actor on the edge thread.
// It knows calls and answers, nothing of MCP's wire: that is the edge's (src/http/mcp) and the stdio bridge's (src/mcp-server).
// U1 Nothing is offered, and nothing is called, while `mcp.server.enabled` is off.
// U2 A tool is one file and one line of the registry.
// U3 A reader that leaves is no cancel. `cancel` is a message of its own; what it means to the call is the tool's to say.
// U4 What goes wrong in a tool is an answer that says so in a sentence; a fault is only what was never a call of a tool.
// U5 At most CALLS_OPEN_MAX calls at once, and none is waited on for longer than WAIT_MAX_SECONDS.

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol, stream, tell } from '../../supervisor/protocol.ts';

export const mcpOutwardFaults = declareFaults({
  mcp_server_disabled: 'not_found',
  tool_unknown: 'invalid',
  agent_unknown: 'not_found',
  project_unknown: 'not_found',
  calls_full: 'unavailable',
});

/** Each is at least a connection and two followers of a run. */
export const CALLS_OPEN_MAX = 256;
/** How long a call may wait for a run; the run itself goes on, and its result is read again by its id. */
export const WAIT_MAX_SECONDS = 3600;
/** Said again after so long without news, so that a client that counts its patience from the last word does not give up. */
export const PROGRESS_INTERVAL_MS = 10_000;

const Text = Type.String();
const JsonSchema = Type.Record(Text, Type.Unknown());

/** As MCP describes a tool. */
export const OfferedTool = Type.Object({
  name: Text,
  title: Text,
  description: Text,
  inputSchema: JsonSchema,
  outputSchema: JsonSchema,
  annotations: Type.Object({
    readOnlyHint: Type.Boolean(),
    destructiveHint: Type.Boolean(),
    idempotentHint: Type.Boolean(),
    openWorldHint: Type.Boolean(),
  }),
});
export type OfferedTool = Static<typeof OfferedTool>;

export interface OutwardCall {
  /** The caller's own, by which it may cancel; not to be guessed. */
  readonly call_id: string;
  readonly user_id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** False where nobody listens to it: then nothing is followed for it. */
  readonly wantsProgress: boolean;
}

/** What a call says: any number of progress reports, of which a slow reader gets the newest, then its answer. */
export type CallNews =
  | { readonly kind: 'progress'; readonly message: string }
  | { readonly kind: 'answer'; readonly answer: OutwardAnswer };

export interface OutwardAnswer {
  /** For a model to read: the first one is the answer itself. */
  readonly texts: readonly string[];
  /** The same for a program, as the tool's `outputSchema` says; absent from an error. */
  readonly structured?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

export const mcpOutward = protocol('mcp-outward', {
  /** Also the way to ask whether there is anything here at all. */
  offer: call<Record<string, never>, { readonly tools: readonly OfferedTool[] }>({
    faults: { mcp_server_disabled: mcpOutwardFaults.mcp_server_disabled },
  }),
  call: stream<OutwardCall, CallNews>({ faults: mcpOutwardFaults }),
  /** The client has given the call up. Its stream ends without an answer. */
  cancel: tell<{ readonly call_id: string }>(),
});
