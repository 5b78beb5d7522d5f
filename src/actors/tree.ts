// Tree: the whole supervision tree on one page. Actor, parent, restart, thread, mailbox.
//
//   root (one_for_one)
//   ├─ config, tool-outputs, workspaces, conversations, providers, aggregator, mcp-auth, tools, usage,
//   │  vectors, service, runtime                                                edge thread, permanent
//   │     mcp-auth > envoy   thread mcp, permanent: started with the first sign-in
//   │     vectors > index   thread vectors, permanent: started with the first message to it
//   ├─ embeddings                                                               edge thread, permanent
//   │  └─ 1, 2 … (embedders)                 a thread of their own each, temporary: while there is work
//   ├─ mcp                                                                      edge thread, permanent
//   │  └─ <server> …       thread mcp, temporary: started with the first of them, started again by mcp
//   ├─ ingestion                                                                edge thread, permanent
//   │  └─ indexing-1 > parser-1, parser-2 …, completions
//   │                                        all but the last a thread of their own, temporary: while there is work
//   └─ chat (rest_for_one: a new directory wants new hosts)
//      ├─ runs                                                                 edge thread, permanent
//      ├─ run-hosts (one_for_one)
//      │  ├─ run-1   thread run-1, permanent: after a lost thread, on the spare
//      │  │  ├─ completions                                                 permanent
//      │  │  └─ <run id> …                                                  temporary: settled, never repeated
//      │  └─ run-2 …
//      ├─ jobs                                                                 edge thread, permanent
//      ├─ direct-completions (a router)                                        its routees on run-1, run-2 …, permanent
//      │  └─ 0, 1 … > completions
//      └─ chat-completions, mcp-outward                                        edge thread, permanent
//
// Children start in this order and stop in reverse: a run that is being stopped still finds the conversations to save to.

import type { Supervision } from '../supervisor/actor.ts';
import { type ChildSpec, child } from '../supervisor/children.ts';
import { router } from '../supervisor/routing/router.ts';
import { supervise } from '../supervisor/supervisor.ts';
import { aggregatorActor } from './aggregator/actor.ts';
import { chatCompletionsActor } from './chat-completions/actor.ts';
import { directCompletionsActor } from './chat-completions/direct.ts';
import { configActor } from './config/actor.ts';
import type { OperatorSettings } from './config/operator-file.ts';
import { conversationsActor } from './conversations/actor.ts';
import { embeddingsActor } from './embeddings/actor.ts';
import { ingestionActor } from './ingestion/actor.ts';
import { jobsActor } from './jobs/actor.ts';
import { mcpActor } from './mcp/actor.ts';
import { mcpAuthActor } from './mcp-auth/actor.ts';
import { mcpOutwardActor } from './mcp-outward/actor.ts';
import type * as mcpSessions from './mcp-sessions/actor.ts';
import { providersActor } from './providers/actor.ts';
import { completionsActor } from './providers/completions.ts';
import { runsActor } from './runs/actor.ts';
import { runHostActor } from './runs/run-host.ts';
import { runtimeActor } from './runtime/actor.ts';
import { serviceActor } from './service/actor.ts';
import { toolOutputsActor } from './tool-outputs/actor.ts';
import { toolsActor } from './tools/actor.ts';
import { usageActor } from './usage/actor.ts';
import { vectorsActor } from './vectors/actor.ts';
import { workspacesActor } from './workspaces/actor.ts';

export interface TreeOptions {
  /** What seeds the configuration on first boot. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where the key that seals stored secrets lives. */
  readonly keyFile: string;
  /** Where the models lie that the service makes itself. */
  readonly modelsFolder: string;
  /** What the operator sets instead of the defaults. */
  readonly operator: OperatorSettings;
  /** Worker threads that carry runs. */
  readonly runHosts: number;
  /** Where the service listens; null before it does, and without a server of its own. */
  readonly servedAt: () => string | null;
}

/** A lost thread is a rare and grave event; a run host that keeps dying is worth more patience than a crash loop on the edge. */
const HOST_SUPERVISION: Partial<Supervision> = {
  intensity: { restartsMax: 10, withinMs: 60_000 },
  backoff: { initialMs: 0, maxMs: 5_000 },
};

/** Runs are stopped and saved, hosts wound down, one after the other. */
const CHAT_SHUTDOWN_MS = 4_500;
const HOST_SHUTDOWN_MS = 4_000;

/** How long the answers under way are waited for when their thread is left; nothing that is stopped needs as long. */
const DIRECT_DRAIN_MS = 60_000;

/** The sessions of MCP servers end their processes first. */
const MCP_SHUTDOWN_MS = 7_000;

/** Named, not imported: what a session needs is loaded by its own thread, and not before there is one. */
const MCP_SESSION = {
  module: siblingModule('mcp-sessions/actor'),
  exportName: 'mcpSessionActor' satisfies keyof typeof mcpSessions,
};

export function troupeTree({
  environment,
  keyFile,
  modelsFolder,
  operator,
  runHosts,
  servedAt,
}: TreeOptions): readonly ChildSpec[] {
  const callbackBase = environment['SVC_AGGREGATOR_CALLBACK_BASE'];
  const redirectOverride = environment['SVC_OAUTH_REDIRECT_URL'];
  const publicHost = environment['SVC_PUBLIC_HOST'];
  return [
    child(configActor, { environment, keyFile, operator }, { id: 'config', name: true }),
    child(toolOutputsActor, undefined, { id: 'tool-outputs', name: true }),
    child(workspacesActor, undefined, { id: 'workspaces', name: true }),
    child(conversationsActor, undefined, { id: 'conversations', name: true }),
    child(providersActor, { isExposed: isExposed(environment) }, { id: 'providers', name: true }),
    child(aggregatorActor, { callbackBase, publicHost, servedAt }, { id: 'aggregator', name: true }),
    child(mcpAuthActor, { keyFile, redirectOverride, servedAt }, { id: 'mcp-auth', name: true }),
    child(
      mcpActor,
      { keyFile, environment, isExposed: isExposed(environment), session: MCP_SESSION },
      { id: 'mcp', name: true, shutdownMs: MCP_SHUTDOWN_MS },
    ),
    child(toolsActor, undefined, { id: 'tools', name: true }),
    child(usageActor, undefined, { id: 'usage', name: true }),
    child(embeddingsActor, { modelsFolder }, { id: 'embeddings', name: true }),
    child(vectorsActor, undefined, { id: 'vectors', name: true }),
    child(ingestionActor, { completions: completionsModule() }, { id: 'ingestion', name: true }),
    child(serviceActor, undefined, { id: 'service', name: true }),
    child(runtimeActor, undefined, { id: 'runtime', name: true }),
    supervise(
      { id: 'chat', shutdownMs: CHAT_SHUTDOWN_MS },
      [
        child(runsActor, undefined, { id: 'runs', name: true }),
        supervise(
          { id: 'run-hosts', shutdownMs: HOST_SHUTDOWN_MS },
          runHostNames(runHosts).map(runHostChild),
          HOST_SUPERVISION,
        ),
        child(jobsActor, undefined, { id: 'jobs', name: true }),
        directCompletionsChild(runHosts),
        child(chatCompletionsActor, undefined, { id: 'chat-completions', name: true }),
        child(mcpOutwardActor, undefined, { id: 'mcp-outward', name: true }),
      ],
      { strategy: 'rest_for_one' },
    ),
  ];
}

/** The operator says so by naming the address or the token under which the API is reached from outside. */
function isExposed(environment: TreeOptions['environment']): boolean {
  return Boolean(environment['SVC_PUBLIC_HOST'] || environment['SVC_GATEWAY_TOKEN']);
}

function runHostNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `run-${i + 1}`);
}

/** One on each run-host thread, and each call where the fewest are. */
function directCompletionsChild(runHosts: number): ChildSpec {
  const pool = router(
    directCompletionsActor,
    { completions: completionsModule() },
    {
      strategy: 'least_loaded',
      routees: runHosts,
      placements: runHostNames(runHosts).map((thread) => ({ thread })),
      supervision: HOST_SUPERVISION,
      routee: { shutdownMs: DIRECT_DRAIN_MS },
    },
  );
  return child(...pool, { id: 'direct-completions', name: true });
}

function runHostChild(name: string): ChildSpec {
  return child(
    runHostActor,
    { name, completions: completionsModule() },
    { id: name, placement: { thread: name }, shutdownMs: HOST_SHUTDOWN_MS },
  );
}

/** How an actor on another thread finds the model client. */
function completionsModule(): { readonly module: string; readonly exportName: string } {
  const { module, exportName } = completionsActor;
  return { module, exportName };
}

/** What a run-host thread loads before it is ready. */
export const RUN_HOST_MODULES: readonly string[] = [
  runHostActor.module,
  completionsActor.module,
  directCompletionsActor.module,
];

/** A module below this one: `.ts` in the checkout, `.js` in the published package. */
function siblingModule(path: string): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./${path}.${extension}`, import.meta.url).href;
}
