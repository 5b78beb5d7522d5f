// MCP: the directory of tool servers that speak the Model Context Protocol: what is configured, what is connected, what they
// offer. A connected server has a session (mcp-sessions), an actor of its own on the thread `mcp`, which tells here what
// becomes of it, and which takes the calls of its tools.
// M1 A configuration is flushed before it is answered for, and sealed: its env, headers and auth may hold secrets.
// M2 `${VAR}` and `$VAR` in env and headers are kept and shown as they are written; only a session resolves them.
// M3 Who was connected with success is connected again at the next start, until somebody disconnects it.
// M4 What a server says of itself is not trusted: it is bounded, and its schemas are rewritten before a model's API sees them.

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol } from '../../supervisor/protocol.ts';
import { mcpSessionMessages } from '../mcp-sessions/protocol.ts';

export const mcpFaults = declareFaults({
  mcp_config_invalid: 'invalid',
  /** Neither a server nor all of them were named. */
  mcp_server_required: 'invalid',
  mcp_transport_unsupported: 'invalid',
  mcp_server_not_found: 'not_found',
  mcp_server_exists: 'conflict',
  mcp_servers_full: 'conflict',
  mcp_not_connected: 'not_found',
  mcp_connection_failed: 'failed',
  mcp_registry_query_required: 'invalid',
  mcp_registry_unreachable: 'upstream',
});

/** Each is a process or a connection while it is connected, and its tools are part of every prompt. */
export const SERVERS_MAX = 200;
/** What a connect waits for an answer from a server that its user has to sign in to; it goes on behind the answer. */
export const SIGN_IN_WAIT_MS = 8_000;
/** Of a server's patience in seconds, as its configuration may set it. */
export const TIMEOUT_SECONDS_DEFAULT = 30;
export const TIMEOUT_SECONDS_MAX = 600;
/** Whoever has no agent of its own calls tools as this one. */
export const AGENT_DEFAULT = 'default';

const Text = Type.String();
const TextOrNull = Type.Union([Text, Type.Null()]);
const Texts = Type.Array(Text);
const TextMap = Type.Record(Text, Text);
const optional = Type.Optional;

/** `websocket` can be configured, and not be connected. */
export const TRANSPORTS = ['stdio', 'sse', 'streamable_http', 'websocket'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** As it is stored: read and completed by `server-config.ts`, whatever a client has left out. */
const configFields = {
  transport: Type.Enum([...TRANSPORTS]),
  /** stdio. */
  command: TextOrNull,
  args: Texts,
  env: TextMap,
  /** The other transports. */
  url: TextOrNull,
  headers: TextMap,
  timeout: Type.Number({ description: 'Seconds without a sign of life after which a call is given up.' }),
  auto_reconnect: Type.Boolean(),
  auto_connect: Type.Boolean({ description: 'It is connected at the start of the service.' }),
  tags: Texts,
  groups: Texts,
  allowed_agent_ids: Type.Union([Texts, Type.Null()], { description: 'Null: all agents.' }),
  allowed_tools: Type.Union([Texts, Type.Null()], { description: 'Names of its tools; null: all.' }),
  blocked_tools: Type.Array(Text, { description: 'Names of its tools; wins over the allowed ones.' }),
  auth: Type.Union([Type.Record(Text, Type.Unknown()), Type.Null()], {
    description: '`{ "type": "oauth" }` for a remote server that is signed in to.',
  }),
};
export const ServerConfig = Type.Object(configFields);
export type ServerConfig = Static<typeof ServerConfig>;

const AuthState = Type.Object({
  authorized: Type.Boolean(),
  expired: Type.Union([Type.Boolean(), Type.Null()]),
  refreshable: Type.Boolean(),
  pending: Type.Boolean(),
  error: TextOrNull,
});

const ServerStatus = Type.Enum(['connected', 'disconnected', 'auth_required', 'error']);
export type ServerStatus = Static<typeof ServerStatus>;

export const Server = Type.Object({
  name: Text,
  ...configFields,
  status: ServerStatus,
  error: Type.Union([Text, Type.Null()], { description: 'Why it is not connected.' }),
  tools: Type.Array(Text, { description: 'Names.' }),
  tools_count: Type.Integer(),
  resources_count: Type.Integer(),
  tool_discovery_error: TextOrNull,
  resource_discovery_error: TextOrNull,
  auth_state: Type.Union([AuthState, Type.Null()], { description: 'Null where nobody signs in.' }),
});
export type Server = Static<typeof Server>;

/** As a client sends it; what is wrong with it is told by name. */
const GivenConfig = Type.Record(Text, Type.Unknown());
const Named = { name: Type.String({ maxLength: 200 }) };
const Which = {
  server: optional(Type.Union([Type.String({ maxLength: 200 }), Type.Null()])),
  all: optional(Type.Union([Type.Boolean(), Type.Null()])),
};
const Filter = Type.Object({ server: optional(Type.String({ maxLength: 200 })) });

const ConnectResult = Type.Object({
  status: Type.Enum(['connected', 'auth_required', 'error']),
  tools_count: optional(Type.Integer()),
  resources_count: optional(Type.Integer()),
  authorization_url: optional(Text),
  error: optional(Text),
});
export type ConnectResult = Static<typeof ConnectResult>;

export const RegistryEntry = Type.Object({
  name: Text,
  description: Text,
  version: Text,
  repository_url: TextOrNull,
  remotes: Type.Array(Type.Object({ type: Text, url: Text })),
  packages: Type.Array(Type.Object({ registry_type: Text, identifier: Text, runtime_hint: TextOrNull })),
});
export type RegistryEntry = Static<typeof RegistryEntry>;

// ---- Between actors only.

/** A tool as a model's API takes it. */
export interface OfferedServerTool {
  /** What the model calls it: letters, digits, `_` and `-`, at most 64. */
  readonly name: string;
  /** `server.tool`: what people, events and transcripts call it. */
  readonly label: string;
  readonly server: string;
  /** What the server calls it. */
  readonly tool: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Null: all agents. */
  readonly allowed_agent_ids: readonly string[] | null;
}

export const mcp = protocol('mcp', {
  servers: call({
    summary: 'The configured tool servers, and what is known of each.',
    request: Type.Object({}),
    reply: Type.Object({ servers: Type.Array(Server) }),
  }),
  add: call({
    summary: 'Configures a tool server; it is not connected by that.',
    request: Type.Object({
      name: optional(Text),
      config: optional(GivenConfig),
      server: optional(GivenConfig),
    }),
    reply: Type.Object({ status: Text, server: Server }),
    faults: mcpFaults,
  }),
  validate: call({
    summary: 'Says what is wrong with a configuration, without keeping it.',
    request: Type.Object({
      name: optional(TextOrNull),
      config: optional(Type.Unknown()),
      server: optional(Type.Unknown()),
    }),
    reply: Type.Object({ valid: Type.Boolean(), errors: Texts }),
  }),
  server: call({
    summary: 'One server: its configuration, as it was written, and how it stands.',
    request: Type.Object(Named),
    reply: Server,
    faults: mcpFaults,
  }),
  replace: call({
    summary: 'Replaces a configuration, and the name with `rename`; a live connection is dropped.',
    request: Type.Object({
      ...Named,
      config: optional(GivenConfig),
      rename: optional(TextOrNull),
    }),
    reply: Type.Object({ status: Text, server: Server }),
    faults: mcpFaults,
  }),
  remove: call({
    summary: 'Forgets a server; a live connection is dropped.',
    request: Type.Object(Named),
    reply: Type.Object({ status: Text, server: Text }),
    faults: mcpFaults,
  }),
  connect: call({
    summary:
      'Connects one server, or `all`, and at every start from then on. Status 202: its user has to sign in at ' +
      '`authorization_url` first, and the connecting goes on meanwhile.',
    request: Type.Object(Which),
    reply: Type.Object({
      status: optional(Type.Enum(['connected', 'auth_required'])),
      server: optional(Text),
      tools_count: optional(Type.Integer()),
      resources_count: optional(Type.Integer()),
      authorization_url: optional(Text),
      results: optional(Type.Record(Text, ConnectResult)),
    }),
    faults: mcpFaults,
  }),
  disconnect: call({
    summary: 'Disconnects one server, or `all`; it is not connected at the next start.',
    request: Type.Object(Which),
    reply: Type.Object({ status: Text, server: optional(Text) }),
    faults: mcpFaults,
  }),
  tools: call({
    summary: 'The tools of the connected servers, or of one of them.',
    request: Filter,
    reply: Type.Object({
      tools: Type.Array(
        Type.Object({
          name: Text,
          description: Text,
          input_schema: Type.Record(Text, Type.Unknown()),
          server_name: Text,
        }),
      ),
      count: Type.Integer(),
    }),
  }),
  resources: call({
    summary: 'The resources of the connected servers, or of one of them.',
    request: Filter,
    reply: Type.Object({
      resources: Type.Array(
        Type.Object({
          uri: Text,
          name: Text,
          description: TextOrNull,
          mime_type: TextOrNull,
          server_name: Text,
        }),
      ),
      count: Type.Integer(),
    }),
  }),
  resetAuth: call({
    summary: 'Forgets the tokens and the registration of a server; a live connection is dropped.',
    request: Type.Object(Named),
    reply: Type.Object({ status: Text, server: Text, cleared: Type.Boolean() }),
    faults: mcpFaults,
  }),
  cancelAuth: call({
    summary: 'Ends a sign-in that is under way; tokens stay.',
    request: Type.Object(Named),
    reply: Type.Object({ status: Text, server: Text, cancelled: Type.Boolean() }),
    faults: mcpFaults,
  }),
  searchRegistry: call({
    summary: 'Looks for servers in the public registry; what it says is untrusted, and only fills in a form.',
    request: Type.Object({
      q: optional(Type.String({ maxLength: 200 })),
      limit: optional(Type.Integer({ minimum: 1, maximum: 50, default: 20 })),
    }),
    reply: Type.Object({ results: Type.Array(RegistryEntry), count: Type.Integer() }),
    faults: mcpFaults,
  }),
  toolsPrompt: call({
    summary: 'The tools of the connected servers, as a prompt may tell of them.',
    request: Type.Object({}),
    reply: Type.Object({ mcp_tools_prompt: Text, tools_count: Type.Integer() }),
  }),

  // Between actors only.
  /** What the tools of all connected servers are to models; null when the list is the one of version `known`. */
  offer: call<
    { readonly known: string },
    { readonly version: string; readonly tools: readonly OfferedServerTool[] | null }
  >(),
  /**
   * Makes sure of the session of a server that is wanted, and answers when it is connected: for whoever found it down.
   * @throws mcp_server_not_found, mcp_not_connected
   */
  reconnect: call<{ readonly server: string }, Record<string, never>>({ faults: mcpFaults }),

  ...mcpSessionMessages,
});
