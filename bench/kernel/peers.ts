// Peers: the packages that the kernel is compared with. They are declared in bench/package.json, so that users of Troupe do
// not install them; the bench does, once, and goes on without them when that fails.
// E1 Their types are written here as far as they are used: a checkout without them must compile.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const folder = fileURLToPath(new URL('..', import.meta.url));

/** nact 7 */
export interface NactRef {
  readonly name: string;
}
export interface NactContext {
  readonly reset: unknown;
}
export interface Nact {
  start(): NactRef;
  stop(actor: NactRef): void;
  spawn<State, Message>(
    parent: NactRef,
    handle: (state: State | undefined, message: Message, context: NactContext) => State,
    name?: string,
    options?: {
      readonly onCrash?: (message: Message, error: unknown, context: NactContext) => unknown;
      readonly initialStateFunc?: () => State;
      readonly afterStop?: () => void;
    },
  ): NactRef;
  dispatch(actor: NactRef, message: unknown): void;
  query<Reply>(actor: NactRef, message: (sender: NactRef) => unknown, timeoutMs: number): Promise<Reply>;
}

/** comedy 2 */
export interface ComedyActor {
  createChild(behaviour: unknown, options: { readonly mode: 'threaded' }): Promise<ComedyActor>;
  send(topic: string, message: unknown): PromiseLike<unknown>;
  sendAndReceive<Reply>(topic: string, message?: unknown): PromiseLike<Reply>;
}
export interface Comedy {
  createSystem(options: { readonly test: true }): {
    rootActor(): PromiseLike<ComedyActor>;
    destroy(): PromiseLike<void>;
  };
}

/** xstate 5 */
export interface Xstate {
  createActor(logic: unknown): {
    start(): unknown;
    send(event: { readonly type: string }): void;
    stop(): void;
  };
  fromTransition<State>(next: (state: State, event: unknown) => State, initial: State): unknown;
}

/** piscina 5 */
export interface Piscina {
  run(task: unknown): Promise<unknown>;
  destroy(): Promise<void>;
}
export type PiscinaClass = new (options: {
  readonly filename: string;
  readonly minThreads: number;
  readonly maxThreads: number;
  readonly concurrentTasksPerWorker?: number;
}) => Piscina;

interface Peers {
  readonly nact: Nact;
  readonly comedy: Comedy;
  readonly xstate: Xstate;
  readonly piscina: PiscinaClass;
}

let areLeftOut = false;

/** From now on nobody is installed. */
export function leavePeersOut(): void {
  areLeftOut = true;
}

/** A list of one, or of none when the peer is not installed. */
export function peer<Name extends keyof Peers, T>(name: Name, use: (peer: Peers[Name]) => T): T[] {
  return areLeftOut || installedVersion(name) === undefined ? [] : [use(require(name) as Peers[Name])];
}

/** Installs what is missing. Answers the versions, one word each; empty when there are none. */
export function installPeers(): readonly string[] {
  const { devDependencies } = readJson('package.json') as { devDependencies: Record<string, string> };
  const wanted = Object.entries(devDependencies);
  if (wanted.some(([name, version]) => installedVersion(name) !== version)) {
    console.error('Installing the peers: npm ci --prefix bench');
    const args = [
      'ci',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ];
    const { status } = spawnSync('npm', args, { stdio: ['ignore', 2, 2] });
    if (status !== 0) console.error('They could not be installed; the bench goes on without them.');
  }
  return wanted.flatMap(([name]) => {
    const version = installedVersion(name);
    return version === undefined ? [] : `${name}@${version}`;
  });
}

function installedVersion(name: string): string | undefined {
  try {
    return (readJson(`node_modules/${name}/package.json`) as { version: string }).version;
  } catch {
    return undefined;
  }
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'));
}
