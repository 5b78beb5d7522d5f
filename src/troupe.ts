// Troupe: the composition root. Storage, then the actor tree, then the HTTP edge; stopped in reverse.
// Z1 Nothing is half up: what fails to start takes down what was started before it, and says why.
// Z2 A stop drains first: no new runs, the live ones get DRAIN_MS, then they are stopped and saved as interrupted, while
//    their readers are still there to hear it.
// Z3 What forbids to start at all is found before anything is written: a port that is taken, a folder that is in use.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readOperatorFile } from './actors/config/operator-file.ts';
import { runs, STOP_GRACE_MS } from './actors/runs/protocol.ts';
import { RUN_HOST_MODULES, troupeTree } from './actors/tree.ts';
import { allowedOrigins } from './http/cors.ts';
import { assertPortFree } from './http/port.ts';
import { createHttpEdge, type HttpEdge } from './http/server.ts';
import { type LogLevel, openLog } from './std/log.ts';
import type { Storage } from './storage/contract.ts';
import { openStorage } from './storage/storage.ts';
import type { TerminationReason } from './supervisor/actor.ts';
import { type ActorSystem, createActorSystem } from './supervisor/system.ts';

import './actors/services.ts';

export interface TroupeOptions {
  /** Everything that is kept lives here; made when missing. */
  readonly dataDir: string;
  /** Interface to listen on; 127.0.0.1 when absent. */
  readonly host?: string;
  /** 12319 when absent; 0 picks a free one; null: no server of its own (see `troupePlugin`). */
  readonly port?: number | null;
  readonly logLevel?: LogLevel;
  /** Worker threads that carry runs; 2 when absent. */
  readonly runHosts?: number;
  /** Seeds the configuration on first boot and names the CORS origins; empty when absent: a host passes what it wants to pass. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface Troupe {
  /** Where the API is served; null without a server of its own. */
  readonly url: string | null;
  readonly version: string;
  /** The actor system: `troupe.system.named(protocol)` reaches every domain. */
  readonly system: ActorSystem;
  /** Resolves when the actor tree has ended, after `stop` or because it failed for good. */
  readonly terminated: Promise<TerminationReason>;
  /** Z2. May be called more than once. */
  stop(): Promise<void>;
}

export const PORT_DEFAULT = 12_319;
const HOST_DEFAULT = '127.0.0.1';
const RUN_HOSTS_DEFAULT = 2;
const DRAIN_MS = 3_000;

/** Brings the service up. @throws storage_locked, storage_unwritable, storage_newer_version, what the port refused, or what is
 * wrong with the operator's file. */
export async function createTroupe(options: TroupeOptions): Promise<Troupe> {
  const dataDir = resolve(options.dataDir);
  const version = packageVersion();
  const logLevel = options.logLevel ?? 'warn';
  const log = openLog(logLevel);
  const environment = options.environment ?? {};
  if (options.port !== null) await assertPortFree(options.host ?? HOST_DEFAULT, options.port ?? PORT_DEFAULT); // Z3
  const storage = await openStorage({ directory: dataDir, primary: true });
  const started: { system?: ActorSystem; edge?: HttpEdge } = {};
  let url: string | null = null;
  const stopStarted = (): Promise<void> => stopInOrder(started, storage);
  try {
    started.system = await createActorSystem({
      services: { storage, version },
      log,
      children: troupeTree({
        environment,
        keyFile: join(dataDir, 'settings.key'),
        modelsFolder: join(dataDir, 'models'),
        operator: await readOperatorFile(join(dataDir, 'settings.json')),
        runHosts: options.runHosts ?? RUN_HOSTS_DEFAULT,
        servedAt: () => url,
      }),
      threads: {
        bootstrap: {
          module: siblingModule('boot-thread'),
          data: { dataDir, version },
          preload: RUN_HOST_MODULES,
          logLevel,
        },
      },
    });
    url = options.port === null ? null : await listen(started, options, environment, version, log);
    let stopping: Promise<void> | null = null;
    return {
      url,
      version,
      system: started.system,
      terminated: started.system.terminated,
      stop: () => {
        stopping ??= stopStarted();
        return stopping;
      },
    };
  } catch (error) {
    await stopStarted();
    throw error;
  }
}

async function listen(
  started: { system?: ActorSystem; edge?: HttpEdge },
  { host = HOST_DEFAULT, port }: TroupeOptions,
  environment: NonNullable<TroupeOptions['environment']>,
  version: string,
  log: ReturnType<typeof openLog>,
): Promise<string> {
  const { system } = started;
  if (system === undefined) throw new Error('the actor system must be up before the edge');
  started.edge = await createHttpEdge({
    door: system,
    log: log.child({ category: 'core' }),
    version,
    host,
    port: port ?? PORT_DEFAULT,
    origins: allowedOrigins({
      allowedOrigins: environment['CORS_ALLOWED_ORIGINS'],
      publicHost: environment['SVC_PUBLIC_HOST'],
    }),
    publicHost: environment['SVC_PUBLIC_HOST'] ?? '',
  });
  return started.edge.listen();
}

/** Z1, Z2. */
async function stopInOrder(
  { system, edge }: { system?: ActorSystem; edge?: HttpEdge },
  storage: Storage,
): Promise<void> {
  if (system !== undefined) {
    // A tree that has failed has nobody to drain; that is no reason not to stop the rest.
    await system
      .named(runs)
      .ask('drain', { withinMs: DRAIN_MS }, { deadlineMs: DRAIN_MS + STOP_GRACE_MS + 500 })
      .catch(() => undefined);
  }
  await edge?.close();
  await system?.stop();
  await storage.close();
}

function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** A module beside this one: `.ts` in the checkout, `.js` in the published package. */
function siblingModule(name: string): string {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./${name}.${extension}`, import.meta.url).href;
}
