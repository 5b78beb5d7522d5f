// Sessions: one child of the directory per server that somebody wants to be connected to, all on the thread `mcp`, which starts
// with the first of them.
// K1 A session that ends by itself (it crashed, its thread was lost) is started again, ever later the oftener it does; no other
//    session notices. One that was stopped is not.
// K2 What is known of a server comes from its session. While there is none it is not connected.
// K3 Stops and starts of one server come one after the other: a new session never meets the one before it.

import type { EgressPolicy } from '../../egress/guard.ts';
import type { ActorContext, Behaviour, TerminationReason } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import {
  MCP_THREAD,
  type McpCatalogue,
  type McpServer,
  type McpSessionArgs,
  type McpSessionState,
  mcpSession,
  sessionName,
} from '../mcp-sessions/protocol.ts';
import { mcpFaults, type ServerConfig } from './protocol.ts';

export interface SessionsOptions {
  /** Where the session's behaviour is found: its folder is not ours to import, and its packages are not for this thread. */
  readonly behaviour: { readonly module: string; readonly exportName: string };
  readonly environment: McpSessionArgs['environment'];
  /** The registered name of this directory. */
  readonly listener: string;
  /** Something that others see has changed. */
  readonly onChange: () => void;
}

interface Session {
  readonly config: ServerConfig;
  readonly egress: EgressPolicy;
  /** Null while it waits to be started again. */
  ref: Ref<typeof mcpSession> | null;
  state: McpSessionState;
  catalogue: McpCatalogue | null;
  /** Ends by itself since it was last up for long. */
  ends: number;
  startedMs: number;
}

export type SessionView = Readonly<Pick<Session, 'state' | 'catalogue'>>;

/** A session that was up for so long has got over what ended it before. */
const STEADY_MS = 60_000;
const RESTART_DELAY_FIRST_MS = 100;
const RESTART_DELAY_MAX_MS = 30_000;
/** Of a child process that does not want to end, with all that it has started. */
const SHUTDOWN_MS = 6_000;

export class Sessions {
  readonly #context: ActorContext;
  readonly #options: SessionsOptions;
  readonly #live = new Map<string, Session>();
  /** K3. */
  readonly #stopping = new Map<string, Promise<void>>();

  constructor(context: ActorContext, options: SessionsOptions) {
    this.#context = context;
    this.#options = options;
  }

  get(server: string): SessionView | undefined {
    return this.#live.get(server);
  }

  get names(): readonly string[] {
    return [...this.#live.keys()];
  }

  /**
   * Answers how to reach it; starts it when it is not there, with the configuration of that moment.
   * @throws mcp_server_not_found when there is none any more
   */
  async start(
    server: string,
    configNow: () => ServerConfig | undefined,
    egress: EgressPolicy,
  ): Promise<Ref<typeof mcpSession>> {
    for (let ending = this.#stopping.get(server); ending; ending = this.#stopping.get(server)) await ending;
    const config = configNow();
    if (config === undefined) throw mcpFaults.mcp_server_not_found(`Unknown MCP server: ${server}`);
    const session = this.#live.get(server) ?? newSession(config, egress);
    this.#live.set(server, session);
    return session.ref ?? this.#spawn(server, session);
  }

  /** False when there was none. */
  async stop(server: string): Promise<boolean> {
    const session = this.#live.get(server);
    if (session === undefined) {
      await this.#stopping.get(server);
      return false;
    }
    this.#live.delete(server);
    this.#options.onChange();
    const ending = session.ref === null ? Promise.resolve() : this.#context.stopChild(server);
    this.#stopping.set(server, ending);
    try {
      await ending;
    } finally {
      this.#stopping.delete(server);
    }
    return true;
  }

  /** As its session tells; one that is being stopped is not listened to any more. */
  sessionChanged(server: string, state: McpSessionState): void {
    const session = this.#live.get(server);
    if (session === undefined) return;
    session.state = state;
    this.#options.onChange();
  }

  catalogueChanged(server: string, catalogue: McpCatalogue): void {
    const session = this.#live.get(server);
    if (session === undefined) return;
    session.catalogue = catalogue;
    this.#options.onChange();
  }

  #spawn(server: string, session: Session): Ref<typeof mcpSession> {
    const { behaviour, environment, listener } = this.#options;
    const args: McpSessionArgs = {
      server: serverOf(server, session.config),
      listener,
      environment,
      egress: session.egress,
    };
    session.startedMs = this.#context.clock.monotonicMs();
    const ref = this.#context.spawn(sessionBehaviour(behaviour), args, {
      id: server,
      name: sessionName(server),
      // Its restarts are ours (K1): those of a supervisor share one budget, and end with the supervisor.
      restart: 'temporary',
      placement: { thread: MCP_THREAD },
      shutdownMs: SHUTDOWN_MS,
    });
    session.ref = ref;
    this.#context.watch(ref, ({ reason }) => {
      if (session.ref === ref) this.#ended(server, session, reason);
    });
    return ref;
  }

  /** K1. */
  #ended(server: string, session: Session, reason: TerminationReason): void {
    session.ref = null;
    if (this.#live.get(server) !== session) return;
    const { clock, random, log } = this.#context;
    session.ends = clock.monotonicMs() - session.startedMs > STEADY_MS ? 1 : session.ends + 1;
    const delayMs = Math.min(RESTART_DELAY_FIRST_MS * 2 ** (session.ends - 1), RESTART_DELAY_MAX_MS);
    session.state = {
      kind: 'reconnecting',
      attempt: session.ends,
      error: 'Its session ended unexpectedly and is started again',
    };
    log.warn(
      { category: 'mcp', server, reason: reason.kind, ends: session.ends },
      'a session ended by itself',
    );
    this.#context.after(`restart ${server}`, delayMs * (0.5 + random.float()), () => {
      if (this.#live.get(server) === session && session.ref === null) this.#spawn(server, session);
    });
    this.#options.onChange();
  }
}

function newSession(config: ServerConfig, egress: EgressPolicy): Session {
  return {
    config,
    egress,
    ref: null,
    state: { kind: 'connecting' },
    catalogue: null,
    ends: 0,
    startedMs: 0,
  };
}

/** It is loaded on its own thread; this one only needs to know where it is. */
function sessionBehaviour({
  module,
  exportName,
}: SessionsOptions['behaviour']): Behaviour<typeof mcpSession, McpSessionArgs> {
  const setup = (): never => {
    throw new Error('sessions live on a thread of their own');
  };
  return { protocol: mcpSession, module, exportName, setup };
}

function serverOf(name: string, config: ServerConfig): McpServer {
  const { transport, command, args, env, url, headers, timeout, auto_reconnect, auth } = config;
  const base = { name, transport, command, args, env, url, headers, timeout, auto_reconnect };
  return { ...base, auth: auth as McpServer['auth'] };
}
