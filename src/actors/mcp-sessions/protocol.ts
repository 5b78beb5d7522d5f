// McpSession: one configured MCP server, for as long as somebody wants to be connected to it. Owns the client, the transport,
// the child process and the catalogue. The directory of servers starts one, under `sessionName`, on the thread MCP_THREAD, and
// stops it to disconnect.
// M1 It connects by itself when it starts, after a crash too, and goes on trying with a growing delay if the server wants that
//    (`auto_reconnect`), a bounded number of times. What waiting cannot mend (the configuration, a missing sign-in) is not
//    tried again. `connect` begins an attempt in either case, or joins the one that is under way.
// M2 A tool call is executed at most once. It is made a second time, on a new connection, only when it has certainly not reached
//    the server, or when the server refused it because it did not know the session any more (404).
// M3 A call that nobody waits for any more is cancelled at the server.
// M4 A child process and all of its process group are gone when the session has stopped, and when it, its thread or the whole
//    service is killed.
// M5 What a server says is bounded before it gets here: pages, entries, texts, results, log lines, notifications.
// M6 The listener hears every change of state in order; of progress, logs and catalogues it may miss what came in a flood.

import type { EgressPolicy } from '../../egress/guard.ts';
import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol, stream, tell } from '../../supervisor/protocol.ts';

export const mcpSessionFaults = declareFaults({
  /** The configuration cannot work as it is: an unset variable, a bad address, a command that is not there. */
  mcp_config_invalid: 'invalid',
  mcp_transport_unsupported: 'invalid',
  mcp_sign_in_required: 'unauthenticated',
  /** It could not be reached, did not answer in time, or spoke something else. */
  mcp_connect_failed: 'unavailable',
  mcp_tool_not_found: 'not_found',
  /** As many calls as may wait for this server do so already. */
  mcp_busy: 'rate_limited',
  mcp_timeout: 'timeout',
  /** The connection broke while the server may have been working on it: whether it did is unknown. */
  mcp_interrupted: 'upstream',
  /** The server answered an error. */
  mcp_failed: 'upstream',
  mcp_result_too_large: 'upstream',
});

/** Starts with the first session. */
export const MCP_THREAD = 'mcp';

/** The name under which the session of a server is registered. */
export const sessionName = (server: string): string => `mcp-session:${server}`;

const Text = Type.String();
const optional = Type.Optional;
const TextOrNull = Type.Union([Text, Type.Null()]);

export const McpAuth = Type.Object({
  type: Type.Literal('oauth'),
  scope: optional(Text),
  client_id: optional(Text),
  /** May name a variable. */
  client_secret: optional(Text),
});
export type McpAuth = Static<typeof McpAuth>;

/** A server as it is stored: variables in `env`, `headers` and `auth` are not resolved. */
export interface McpServer {
  readonly name: string;
  readonly transport: 'stdio' | 'sse' | 'streamable_http' | 'websocket';
  readonly command: string | null;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly url: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Seconds to connect and, until a progress report, to answer a call; null: as the settings say. */
  readonly timeout: number | null;
  readonly auto_reconnect: boolean;
  readonly auth: McpAuth | null;
}

export interface McpSessionArgs {
  readonly server: McpServer;
  /** The registered name of an actor whose protocol has the messages of `mcpSessionEvents`. */
  readonly listener: string;
  /** Where `$VAR` and `${VAR}` are looked up. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** To which addresses `url` may lead. */
  readonly egress: EgressPolicy;
}

export const McpTool = Type.Object({
  name: Text,
  title: TextOrNull,
  description: Text,
  /** A JSON schema whose type is object; not checked any further. */
  input_schema: Type.Record(Text, Type.Unknown()),
});
export type McpTool = Static<typeof McpTool>;

export const McpResource = Type.Object({
  uri: Text,
  name: Text,
  description: Text,
  mime_type: TextOrNull,
});
export type McpResource = Static<typeof McpResource>;

export interface McpResourceTemplate {
  readonly uri_template: string;
  readonly name: string;
  readonly description: string;
  readonly mime_type: string | null;
}

export interface McpPrompt {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
  }[];
}

export interface McpCatalogue {
  readonly tools: readonly McpTool[];
  readonly resources: readonly McpResource[];
  readonly resource_templates: readonly McpResourceTemplate[];
  readonly prompts: readonly McpPrompt[];
  /** What the server says of itself, for a prompt; untrusted, as all of this is. */
  readonly instructions: string | null;
  /** Why the list is not complete. */
  readonly tool_discovery_error: string | null;
  readonly resource_discovery_error: string | null;
}

export interface McpServerInfo {
  readonly name: string;
  readonly version: string;
  readonly protocol_version: string;
}

export type McpSessionState =
  | { readonly kind: 'connecting' }
  | {
      readonly kind: 'connected';
      readonly server: McpServerInfo;
      readonly tools_count: number;
      readonly resources_count: number;
    }
  /** Closed because nobody called for long; the catalogue stands, and a call connects again. */
  | { readonly kind: 'idle' }
  | { readonly kind: 'reconnecting'; readonly attempt: number; readonly error: string }
  | { readonly kind: 'auth_required' }
  | { readonly kind: 'error'; readonly error: string };

export type ConnectOutcome =
  | Extract<McpSessionState, { kind: 'connected' }>
  | { readonly kind: 'auth_required' };

/** A piece of what a tool, a prompt or a resource gives. Media are base64. */
export type McpContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mime_type: string }
  | {
      readonly type: 'resource';
      readonly uri: string;
      readonly mime_type: string | null;
      readonly text: string;
    }
  | { readonly type: 'blob'; readonly uri: string; readonly mime_type: string | null; readonly data: string }
  | {
      readonly type: 'resource_link';
      readonly uri: string;
      readonly name: string;
      readonly description: string;
      readonly mime_type: string | null;
    };

export interface McpToolResult {
  readonly content: readonly McpContent[];
  /** Present where the server gave any. */
  readonly structured_content?: unknown;
  /** The tool says that it failed; `content` tells how. */
  readonly is_error: boolean;
  /** Something was left out because it was too much. */
  readonly is_cut: boolean;
}

export interface McpProgress {
  readonly progress: number;
  readonly total: number | null;
  readonly message: string | null;
}

/** Any number of progress reports, the newest when many come at once, then the result. */
export type McpCallItem =
  | ({ readonly kind: 'progress' } & McpProgress)
  | ({ readonly kind: 'result' } & McpToolResult);

export interface McpCallRequest {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Milliseconds without an answer or progress; the server's own `timeout` or the settings' when absent. */
  readonly timeoutMs?: number;
}

export const mcpSession = protocol('mcp-session', {
  /** M1. Answers how the attempt ended; may take as long as the server's timeout. */
  connect: call<Record<string, never>, ConnectOutcome>({ faults: mcpSessionFaults }),
  state: call<Record<string, never>, McpSessionState>(),
  /** Empty before the first connection. */
  catalogue: call<Record<string, never>, McpCatalogue>(),
  /** M2, M3: leaving the stream cancels the call. Waits for a connection, if there is to be one. */
  call: stream<McpCallRequest, McpCallItem>({ faults: mcpSessionFaults }),
  /** Also of a template, once its variables are filled in. */
  readResource: call<{ readonly uri: string }, { readonly contents: readonly McpContent[] }>({
    faults: mcpSessionFaults,
  }),
  getPrompt: call<
    { readonly name: string; readonly arguments: Readonly<Record<string, string>> },
    {
      readonly description: string | null;
      readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: McpContent }[];
    }
  >({ faults: mcpSessionFaults }),
});

/** What sessions tell their listener; part of the listener's own protocol. */
export const mcpSessionMessages = {
  sessionChanged: tell<{ readonly server: string; readonly state: McpSessionState }>(),
  /** After each connection, and when the server said that its lists have changed. */
  catalogueChanged: tell<{ readonly server: string; readonly catalogue: McpCatalogue }>(),
  /** A line that the server logged or wrote to its standard error; secrets of its configuration are masked. */
  serverLogged: tell<{
    readonly server: string;
    readonly level: 'debug' | 'info' | 'warn' | 'error';
    readonly source: string;
    readonly line: string;
  }>(),
};

export const mcpSessionEvents = protocol('mcp-session-events', mcpSessionMessages);
