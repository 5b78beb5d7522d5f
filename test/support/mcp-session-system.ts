// Sessions with MCP servers: a real system with the settings, a listener that keeps what it is told, and sessions with whatever
// servers are wanted. For benches too; tests come in by `mcp-sessions.ts`, so that all of it ends with the test.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configActor } from '../../src/actors/config/actor.ts';
import { config } from '../../src/actors/config/protocol.ts';
import { mcpSessionActor } from '../../src/actors/mcp-sessions/actor.ts';
import {
  MCP_THREAD,
  type McpCallItem,
  type McpCallRequest,
  type McpServer,
  type McpSessionArgs,
  mcpSession,
  mcpSessionEvents,
  sessionName,
} from '../../src/actors/mcp-sessions/protocol.ts';
import { openStorage } from '../../src/storage/storage.ts';
import { actor } from '../../src/supervisor/actor.ts';
import { child } from '../../src/supervisor/children.ts';
import type { AskOptions, CallsOf, ReplyFrom, RequestOf, RequestTo } from '../../src/supervisor/protocol.ts';
import { type ActorSystem, createActorSystem } from '../../src/supervisor/system.ts';
import { temporaryFolder } from './storage.ts';

const SERVER = fileURLToPath(new URL('./mcp-stdio-server.ts', import.meta.url));
const LISTENER = 'mcp-listener';
const PATIENCE_MS = 120_000;

type Told<Name extends keyof (typeof mcpSessionEvents)['messages']> = RequestOf<
  (typeof mcpSessionEvents)['messages'][Name]
>;

export interface Heard {
  readonly states: Told<'sessionChanged'>['state'][];
  readonly catalogues: Told<'catalogueChanged'>['catalogue'][];
  readonly lines: Told<'serverLogged'>[];
}

export interface TestSession {
  readonly heard: Heard;
  ask<Name extends CallsOf<typeof mcpSession>>(
    name: Name,
    message: RequestTo<typeof mcpSession, Name>,
    options?: AskOptions,
  ): Promise<ReplyFrom<typeof mcpSession, Name>>;
  /** Calls a tool and reads to the end. */
  call(request: Partial<McpCallRequest> & { tool: string }, signal?: AbortSignal): Promise<McpCallItem[]>;
  /** The text of what a tool gives. */
  text(tool: string, given?: Record<string, unknown>): Promise<string>;
  stop(): Promise<void>;
}

export interface McpSessions {
  readonly system: ActorSystem;
  open(server?: Partial<McpServer>, args?: Partial<McpSessionArgs>): TestSession;
  configure(settings: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

/** A configuration of the test's own server, with its flags. */
export function stdioServer(
  flags: readonly string[] = [],
  more: Partial<McpServer> = {},
): Partial<McpServer> {
  return { transport: 'stdio', command: process.execPath, args: [SERVER, ...flags], ...more };
}

export function remoteServer(url: string, more: Partial<McpServer> = {}): Partial<McpServer> {
  return { transport: 'streamable_http', command: null, url, ...more };
}

/** On threads of their own, as in the service, when the test says so. */
export async function createMcpSessions({ onThread = false } = {}): Promise<McpSessions> {
  const folder = await temporaryFolder();
  const storage = await openStorage({ directory: folder.directory, primary: true });
  const heard = new Map<string, Heard>();
  const heardOf = (server: string): Heard => {
    let own = heard.get(server);
    if (own === undefined) {
      own = { states: [], catalogues: [], lines: [] };
      heard.set(server, own);
    }
    return own;
  };
  const listenerActor = actor({
    module: import.meta.url,
    exportName: 'listenerActor',
    protocol: mcpSessionEvents,
    setup: () => ({
      sessionChanged: ({ server, state }) => void heardOf(server).states.push(state),
      catalogueChanged: ({ server, catalogue }) => void heardOf(server).catalogues.push(catalogue),
      serverLogged: (line) => void heardOf(line.server).lines.push(line),
    }),
  });
  const system = await createActorSystem({
    services: { storage, version: '0.0.0' },
    supervision: { intensity: { restartsMax: 10_000, withinMs: 1_000 }, backoff: { initialMs: 0, maxMs: 0 } },
    children: [
      child(
        configActor,
        { environment: {}, keyFile: `${folder.directory}/key`, operator: {} },
        { id: 'config', name: true },
      ),
      child(listenerActor, undefined, { id: 'listener', name: LISTENER }),
    ],
    ...(onThread
      ? {
          threads: {
            spare: false,
            bootstrap: {
              module: new URL('../../src/boot-thread.ts', import.meta.url).href,
              data: { dataDir: folder.directory, version: '0.0.0' },
            },
          },
        }
      : {}),
  });
  let opened = 0;
  const close = async (): Promise<void> => {
    await system.stop();
    await storage.close();
    await folder[Symbol.asyncDispose]();
  };
  return {
    system,
    open(server = stdioServer(), args = {}) {
      opened += 1;
      const name = server.name ?? `server-${opened}`;
      system.spawn(
        mcpSessionActor,
        {
          listener: LISTENER,
          environment: process.env,
          egress: 'private_too',
          ...args,
          server: { ...SERVER_DEFAULT, ...server, name, env: { ...MARK, ...server.env } },
        },
        { id: name, name: sessionName(name), placement: { thread: MCP_THREAD } },
      );
      const named = system.named(mcpSession, sessionName(name));
      /** Its thread has to start first, and after a crash it has to start anew. */
      const present = async (): Promise<void> => {
        const giveUpAtMs = Date.now() + PATIENCE_MS;
        for (;;) {
          const failure = await named.ask('state', {}).then(
            () => null,
            ({ code }) => code,
          );
          if (failure !== 'actor_unavailable' && failure !== 'actor_terminated') return;
          if (Date.now() > giveUpAtMs) throw new Error(`the session ${name} does not come up`);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      const session: TestSession = {
        heard: heardOf(name),
        async ask(message, request, options) {
          await present();
          return named.ask(message, request, { deadlineMs: PATIENCE_MS, ...options });
        },
        async call(request, signal) {
          await present();
          const items: McpCallItem[] = [];
          const options = signal === undefined ? {} : { signal };
          for await (const item of named.stream('call', { arguments: {}, ...request }, options))
            items.push(item);
          return items;
        },
        async text(tool, given = {}) {
          const result = (await session.call({ tool, arguments: given })).at(-1);
          const content = result?.kind === 'result' ? result.content[0] : undefined;
          if (content?.type !== 'text') throw new Error(`no text: ${JSON.stringify(result)}`);
          return content.text;
        },
        stop: () => system.stopChild(name),
      };
      return session;
    },
    async configure(settings) {
      await system.named(config).ask('update', settings);
    },
    close,
  };
}

/** So that a process that is left behind is found at the end of the run: a child gets no environment but its own. */
const MARK = process.env['TROUPE_TEST_RUN'] === undefined ? {} : { TROUPE_TEST_RUN: '$TROUPE_TEST_RUN' };

const SERVER_DEFAULT: Omit<McpServer, 'name'> = {
  transport: 'stdio',
  command: null,
  args: [],
  env: {},
  url: null,
  headers: {},
  timeout: null,
  auto_reconnect: true,
  auth: null,
};

/** Processes of a group that still run; a zombie is dead, and waits for its parent only. */
export function livingInGroup(group: number): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((id) => Number.isInteger(id) && statOf(id)?.group === group);
}

/** Null for what does not run (any more). */
function statOf(id: number): { readonly group: number } | null {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? null : { group: Number(group) };
  } catch {
    return null;
  }
}
