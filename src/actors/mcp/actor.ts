// MCP actor: one on the edge thread, the only writer of its table. Keeps the configurations in memory, answers from there and
// from what the sessions tell, and says which sessions there are to be.
// D1 A change is stored before it is answered for; what is in memory follows the store, never the other way round.
// D2 What one connect asks for goes on when nobody waits for it any more: a sign-in may take minutes.
// D3 At the start every server that was connected is connected again, a few at a time, in the background: no failure of theirs
//    holds up the service, or another server.
// D4 Changes of one server come one after the other, and each is decided on what the one before has left. A connect that comes
//    between is one with the configuration of the moment, or comes to nothing: no session outlives what it was started with.

import { errorText } from '../../std/errors.ts';
import { loadKey } from '../../std/key-file.ts';
import { sealer } from '../../std/sealing.ts';
import { Turns } from '../../std/turns.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { config as configNoun } from '../config/protocol.ts';
import { type AuthState, mcpAuth } from '../mcp-auth/protocol.ts';
import { type ConnectAnswer, Connector } from './connector.ts';
import {
  type ConnectResult,
  mcp,
  mcpFaults,
  SERVERS_MAX,
  type Server,
  type ServerConfig,
} from './protocol.ts';
import { openRegistry } from './registry.ts';
import { nameError, readServerConfig, usesSignIn } from './server-config.ts';
import { Sessions } from './sessions.ts';
import { serverStore } from './store.ts';
import { ToolOffers, toolsPrompt } from './tool-offer.ts';
import { isCallable, isUp, serverView } from './view.ts';

import '../services.ts';

export interface McpArgs {
  /** Where the key that seals stored secrets is. */
  readonly keyFile: string;
  /** Where variables of configurations are looked up. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Without a word of the operator, addresses in a private network are for a local install only. */
  readonly isExposed: boolean;
  /** The behaviour of a session. */
  readonly session: { readonly module: string; readonly exportName: string };
}

/** A server that nobody has named. */
const NAME_PLACEHOLDER = 'unnamed';
const CONNECTS_AT_ONCE_MAX = 8;

export const mcpActor = actor({
  module: import.meta.url,
  exportName: 'mcpActor',
  protocol: mcp,
  async setup(context: ActorContext<typeof mcp>, { keyFile, environment, isExposed, session }: McpArgs) {
    const { log } = context;
    const key = await loadKey(keyFile, (warning) => log.warn({ category: 'mcp' }, warning));
    const store = serverStore(context.services.storage, sealer(key));
    const loaded = store.load();
    if (loaded.unreadable.length > 0) {
      log.error(
        { category: 'mcp', servers: loaded.unreadable },
        `the configurations of these servers do not open with the key in ${keyFile}: put that file back, or add them again`,
      );
    }
    const configs = new Map(loaded.configs);
    /** Names that are being given to servers. */
    const saving = new Set<string>();
    /** D4. */
    const changes = new Turns();
    const offers = new ToolOffers();
    const sessions = new Sessions(context, {
      behaviour: session,
      environment,
      listener: mcp.name,
      onChange: () => offers.forget(),
    });
    const registry = openRegistry(context.clock);
    const connector = new Connector(context, {
      sessions,
      egress: async () => {
        const settings = await context.ask(configNoun, 'settings', {});
        const isPrivateAllowed = settings['providers.policy.allow_private_endpoints'] ?? !isExposed;
        return isPrivateAllowed ? 'private_too' : 'public_only';
      },
      configOf: (name) => configs.get(name),
      onConnected: (name) => keepConnected(name, true),
    });
    context.onStop(() => registry.close());
    context.background(reconnectAll());

    return {
      async servers() {
        const names = [...configs.keys()].sort();
        const states = await authStates(names);
        return { servers: names.map((name) => view(name, states)) };
      },

      async add({ name: named, config: given, server: whole }) {
        const stated = named ?? whole?.['name'];
        const name = typeof stated === 'string' ? stated : '';
        const config = readOrRefuse(name, given ?? whole ?? {});
        if (configs.size + saving.size >= SERVERS_MAX) {
          throw mcpFaults.mcp_servers_full(`There are ${SERVERS_MAX} MCP servers, and no more can be added`);
        }
        await reserved(name, () => save(name, config));
        return { status: 'created', server: await viewOf(name) };
      },

      validate({ name: named, config: given, server: whole }) {
        const inner = typeof whole === 'object' && whole !== null ? whole : {};
        const name = named ?? ('name' in inner ? inner.name : null) ?? NAME_PLACEHOLDER;
        const read = readServerConfig(given ?? whole);
        const errors = [nameError(name) ?? [], read.ok ? [] : read.errors].flat();
        return { valid: errors.length === 0, errors };
      },

      server: ({ name }) => viewOf(name),

      replace: ({ name, config: given, rename }) =>
        changes.take(name, async () => {
          const current = configOrRefuse(name);
          const newName = rename ?? name;
          // Whether it is connected at the start is not for a form to forget.
          const config = readOrRefuse(newName, { auto_connect: current.auto_connect, ...(given ?? current) });
          const replace = async (): Promise<void> => {
            await connector.drop(name);
            if (newName !== name && usesSignIn(config)) {
              await context.ask(mcpAuth, 'rename', { server: name, to: newName });
            }
            await save(newName, config, name);
            await connector.drop(name); // Whoever has connected it meanwhile: D4.
          };
          await (newName === name ? replace() : reserved(newName, replace));
          return { status: 'updated', server: await viewOf(newName) };
        }),

      remove: ({ name }) =>
        changes.take(name, async () => {
          const config = configOrRefuse(name);
          await connector.drop(name);
          if (usesSignIn(config)) await context.ask(mcpAuth, 'reset', { server: name });
          await store.remove(name);
          configs.delete(name);
          offers.forget();
          await connector.drop(name); // Likewise.
          return { status: 'deleted', server: name };
        }),

      async connect({ server, all }) {
        if (all === true) return { results: await connectAll() };
        const name = requiredName(server);
        const config = configOrRefuse(name);
        if (config.transport === 'websocket') throw unsupported();
        const answer = await connector.connect(name, config);
        switch (answer.kind) {
          case 'connected':
            return { status: 'connected' as const, server: name, ...countsOf(answer) };
          case 'auth_required':
            return {
              status: 'auth_required' as const,
              server: name,
              authorization_url: answer.authorizationUrl,
            };
          case 'failed':
            throw mcpFaults.mcp_connection_failed(`Connection failed: ${answer.error}`);
        }
      },

      async disconnect({ server, all }) {
        if (all === true) {
          for (const name of [...configs.keys()]) {
            await keepConnected(name, false);
            await connector.drop(name);
          }
          return { status: 'disconnected_all' };
        }
        const name = requiredName(server);
        configOrRefuse(name);
        await keepConnected(name, false);
        if (!(await connector.drop(name))) {
          throw mcpFaults.mcp_not_connected(`The MCP server ${name} is not connected`);
        }
        return { status: 'disconnected', server: name };
      },

      tools({ server }) {
        const tools = upServers(server).flatMap(({ name, catalogue }) =>
          catalogue.tools.map((tool) => ({
            name: tool.name,
            description: tool.description,
            input_schema: tool.input_schema,
            server_name: name,
          })),
        );
        return { tools, count: tools.length };
      },

      resources({ server }) {
        const resources = upServers(server).flatMap(({ name, catalogue }) =>
          catalogue.resources.map(({ uri, name: resource, description, mime_type }) => ({
            uri,
            name: resource,
            description,
            mime_type,
            server_name: name,
          })),
        );
        return { resources, count: resources.length };
      },

      async resetAuth({ name }) {
        configOrRefuse(name);
        await connector.drop(name);
        const { cleared } = await context.ask(mcpAuth, 'reset', { server: name });
        return { status: 'reset', server: name, cleared };
      },

      async cancelAuth({ name }) {
        configOrRefuse(name);
        const { cancelled } = await context.ask(mcpAuth, 'cancel', { server: name });
        return { status: 'cancelled', server: name, cancelled };
      },

      async searchRegistry({ q, limit = 20 }) {
        const query = q?.trim() ?? '';
        if (query === '') throw mcpFaults.mcp_registry_query_required('q is required: what to look for');
        const settings = await context.ask(configNoun, 'settings', {});
        try {
          const matches = await registry.search(settings['mcp.registry_url'], query);
          return { results: matches.slice(0, limit), count: matches.length };
        } catch (error) {
          log.warn({ category: 'mcp', reason: errorText(error) }, 'the registry of servers did not answer');
          throw mcpFaults.mcp_registry_unreachable('The registry of MCP servers cannot be reached');
        }
      },

      toolsPrompt() {
        const { tools } = offerNow();
        return { mcp_tools_prompt: toolsPrompt(tools), tools_count: tools.length };
      },

      offer({ known }) {
        const { version, tools } = offerNow();
        return { version, tools: version === known ? null : tools };
      },

      async reconnect({ server }) {
        const config = configOrRefuse(server);
        if (sessions.get(server) === undefined) {
          throw mcpFaults.mcp_not_connected(`The MCP server ${server} is not connected`);
        }
        const answer = await connector.resume(server, config);
        if (answer.kind === 'connected') return {};
        const why = answer.kind === 'failed' ? answer.error : 'its user has to sign in again';
        throw mcpFaults.mcp_not_connected(`The MCP server ${server} is not connected: ${why}`);
      },

      sessionChanged: ({ server, state }) => {
        if (state.kind === 'error') {
          log.warn({ category: 'mcp', server, error: state.error }, 'a server is not connected');
        }
        sessions.sessionChanged(server, state);
      },
      catalogueChanged: ({ server, catalogue }) => sessions.catalogueChanged(server, catalogue),
      serverLogged: ({ server, level, source, line }) => {
        log[level]({ category: 'mcp', server, source }, line);
      },
    };

    function configOrRefuse(name: string): ServerConfig {
      const config = configs.get(name);
      if (config === undefined) throw mcpFaults.mcp_server_not_found(`Unknown MCP server: ${name}`);
      return config;
    }

    function offerNow() {
      return offers.of(function* callable() {
        for (const [name, config] of [...configs].sort(byName)) {
          const live = sessions.get(name);
          if (live !== undefined && isCallable(live)) yield { name, config, catalogue: live.catalogue };
        }
      });
    }

    function upServers(only: string | undefined) {
      return [...configs.keys()].sort().flatMap((name) => {
        const live = sessions.get(name);
        if (live === undefined || live.catalogue === null || !isUp(live)) return [];
        return only === undefined || only === name ? [{ name, catalogue: live.catalogue }] : [];
      });
    }

    /** D1. */
    async function save(name: string, config: ServerConfig, formerName = name): Promise<void> {
      await store.put(name, config, formerName);
      if (formerName !== name) configs.delete(formerName);
      configs.set(name, config);
      offers.forget();
    }

    /** Two servers never get the same name at once. */
    async function reserved(name: string, save: () => Promise<void>): Promise<void> {
      if (configs.has(name) || saving.has(name)) {
        throw mcpFaults.mcp_server_exists(`There is an MCP server ${name} already`);
      }
      saving.add(name);
      try {
        await save();
      } finally {
        saving.delete(name);
      }
    }

    function keepConnected(name: string, auto_connect: boolean): Promise<void> {
      return changes.take(name, async () => {
        const config = configs.get(name);
        if (config === undefined || config.auto_connect === auto_connect) return;
        await save(name, { ...config, auto_connect });
      });
    }

    function view(name: string, states: Readonly<Record<string, AuthState>>): Server {
      const config = configOrRefuse(name);
      return serverView({
        name,
        config,
        session: sessions.get(name),
        failure: connector.failureOf(name),
        authState: usesSignIn(config) ? (states[name] ?? null) : null,
      });
    }

    async function viewOf(name: string): Promise<Server> {
      configOrRefuse(name);
      return view(name, await authStates([name]));
    }

    async function authStates(names: readonly string[]): Promise<Readonly<Record<string, AuthState>>> {
      const servers = names.flatMap((server) => {
        const config = configs.get(server);
        return config?.url && usesSignIn(config) ? [{ server, url: config.url }] : [];
      });
      return servers.length === 0 ? {} : context.ask(mcpAuth, 'states', { servers });
    }

    async function connectAll(): Promise<Record<string, ConnectResult>> {
      const results: Record<string, ConnectResult> = {};
      await forEachOf([...configs], async ([name, config]) => {
        const answer: ConnectAnswer =
          config.transport === 'websocket'
            ? { kind: 'failed', error: unsupported().message }
            : await connector.connect(name, config);
        results[name] = resultOf(answer);
      });
      return results;
    }

    /** D3. */
    async function reconnectAll(): Promise<void> {
      const wanted = [...configs].filter(
        ([, { auto_connect, transport }]) => auto_connect && transport !== 'websocket',
      );
      await forEachOf(wanted, async ([name]) => {
        const config = configs.get(name);
        if (!config?.auto_connect) return;
        const answer = await connector.resume(name, config);
        if (answer.kind === 'connected') return;
        const error = answer.kind === 'failed' ? answer.error : 'its user has to sign in';
        log.warn({ category: 'mcp', server: name, error }, 'a server was not connected at the start');
      });
    }
  },
});

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

/** A few at a time: those who work share what is left. */
async function forEachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const rest = items.values();
  const serve = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: CONNECTS_AT_ONCE_MAX }, serve));
}

function readOrRefuse(name: string, given: unknown): ServerConfig {
  const wrongName = nameError(name);
  const read = readServerConfig(given);
  if (read.ok && wrongName === null) return read.config;
  const errors = [wrongName ?? [], read.ok ? [] : read.errors].flat();
  throw mcpFaults.mcp_config_invalid(`The configuration is not valid: ${errors.join('; ')}`, {
    details: { errors },
  });
}

function requiredName(server: string | null | undefined): string {
  if (server) return server;
  throw mcpFaults.mcp_server_required('Name a server, or say all: true');
}

function unsupported() {
  return mcpFaults.mcp_transport_unsupported('websocket servers can be configured, but not connected');
}

function resultOf(answer: ConnectAnswer): ConnectResult {
  switch (answer.kind) {
    case 'connected':
      return { status: 'connected', ...countsOf(answer) };
    case 'auth_required':
      return { status: 'auth_required', authorization_url: answer.authorizationUrl };
    case 'failed':
      return { status: 'error', error: answer.error };
  }
}

function countsOf({ toolsCount, resourcesCount }: Extract<ConnectAnswer, { kind: 'connected' }>) {
  return { tools_count: toolsCount, resources_count: resourcesCount };
}
