// Runs without HTTP: the whole supervision tree on a storage and a clock that a test may tamper with. For what needs another
// user, hours of time, or trouble in the right moment. On one thread, unless a test asks for worker threads.

import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { conversations, type Message } from '../../src/actors/conversations/protocol.ts';
import { type ChatRequest, type RunFrame, runs } from '../../src/actors/runs/protocol.ts';
import { RUN_HOST_MODULES, troupeTree } from '../../src/actors/tree.ts';
import { type Clock, systemClock } from '../../src/std/clock.ts';
import type { Storage } from '../../src/storage/contract.ts';
import { type ActorSystem, type ActorSystemOptions, createActorSystem } from '../../src/supervisor/system.ts';
import { type ProviderDouble, type ProviderDoubleOptions, startProviderDouble } from './provider-double.ts';
import type { ReadEvent } from './sse-reader.ts';
import { openTemporaryStorage } from './storage.ts';

export const USER = 'ada';

export interface RunsSystem {
  readonly system: ActorSystem;
  readonly storage: Storage;
  readonly double: ProviderDouble;
  start(request: ChatRequest, userId?: string): Promise<string>;
  /** Follows a run. */
  events(runId: string, options?: { readonly after?: number; readonly userId?: string }): RunEventReader;
  /** The status in the list; undefined when the user has no such run. */
  status(runId: string, userId?: string): Promise<string | undefined>;
  rows(conversationId: string): Promise<readonly Message[]>;
}

export interface RunEventReader {
  /** Reads on until an event of that name, and answers it. @throws when the stream ends before. */
  until(event: string, matches?: (data: ReadEvent['data']) => boolean): Promise<ReadEvent>;
  rest(): Promise<readonly ReadEvent[]>;
}

export interface RunsSystemOptions extends Partial<ProviderDoubleOptions> {
  readonly clock?: Clock;
  /** What the last process left behind. */
  readonly left?: (storage: Storage) => Promise<void>;
  /** Changes what the actors of this thread see of the storage. */
  readonly storage?: (storage: Storage) => Storage;
  /** Run hosts on threads of their own, as in the service. */
  readonly threads?: boolean;
}

export async function openRunsSystem(options: RunsSystemOptions = {}): Promise<RunsSystem> {
  const double = await startProviderDouble({ script: { text: 'Hello from the double.' }, ...options });
  const folder = await openTemporaryStorage();
  await options.left?.(folder.storage);
  const storage = options.storage?.(folder.storage) ?? folder.storage;
  const system = await createActorSystem({
    services: { storage, version: '0.0.0' },
    clock: options.clock ?? systemClock,
    ...(options.threads ? { threads: workerThreads(folder.directory) } : {}),
    children: troupeTree({
      environment: { LMSTUDIO_BASE_URL: double.baseUrl },
      modelsFolder: join(folder.directory, 'models'),
      keyFile: join(folder.directory, 'settings.key'),
      operator: {},
      runHosts: 2,
      servedAt: () => null,
    }),
  });
  onTestFinished(async () => {
    double.release();
    await system.stop();
    await double.stop();
    await folder.close();
  });
  const directory = system.named(runs);
  return {
    system,
    storage,
    double,
    async start(request, userId = USER) {
      const asked = { model: 'lmstudio:double-1', ...request, user_id: userId };
      return (await directory.ask('start', asked)).run_id;
    },
    events: (run_id, { after = 0, userId = USER } = {}) =>
      eventReader(directory.stream('tail', { run_id, after, user_id: userId })),
    async status(runId, userId = USER) {
      const listed = await directory.ask('list', { user_id: userId });
      return listed.runs.find(({ run_id }) => run_id === runId)?.status;
    },
    async rows(conversation_id) {
      return (await system.named(conversations).ask('messages', { conversation_id })).messages;
    },
  };
}

function workerThreads(dataDir: string): NonNullable<ActorSystemOptions['threads']> {
  const module = new URL('../../src/boot-thread.ts', import.meta.url).href;
  return { bootstrap: { module, data: { dataDir, version: '0.0.0' }, preload: RUN_HOST_MODULES } };
}

function eventReader(batches: AsyncIterableIterator<readonly RunFrame[]>): RunEventReader {
  const read: ReadEvent[] = [];
  const frames = framesOf(batches);
  const next = async (): Promise<ReadEvent | null> => {
    const { done, value } = await frames.next();
    if (done === true) return null;
    const event = { id: value.seq, event: value.event, data: JSON.parse(value.data) };
    read.push(event);
    return event;
  };
  return {
    async until(name, matches = () => true) {
      for (let event = await next(); event !== null; event = await next()) {
        if (event.event === name && matches(event.data)) return event;
      }
      throw new Error(`the stream ended before ${name}; it had ${read.map(({ event }) => event).join(', ')}`);
    },
    async rest() {
      while ((await next()) !== null);
      return read;
    },
  };
}

async function* framesOf(
  batches: AsyncIterableIterator<readonly RunFrame[]>,
): AsyncGenerator<RunFrame, void> {
  for await (const batch of batches) yield* batch;
}
