// Embeddings actor: one on the edge thread. Knows which engine is locked and which the settings want, and has the dispatcher
// make the vectors. Promises B1 to B6 stand in protocol.ts.
// G1 The settings are looked at one after the other; what they name is opened before it is locked, so a mistake in them costs
//    no vector: the engine stays what it was, and the status says what is wrong.
// G2 What could not be opened is tried again after a while, and when the settings change.
// G3 The lock is changed by the settings and by a switch, one after the other: each decides by what the one before has left.

import { isFault } from '../../std/errors.ts';
import { Turns } from '../../std/turns.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { follow } from '../../supervisor/following.ts';
import { loadBehaviour } from '../../supervisor/threads/load-behaviour.ts';
import { config, type Settings } from '../config/protocol.ts';
import { Dispatcher } from './dispatcher.ts';
import { embedderActor } from './embedder.ts';
import {
  type EngineLock,
  type EngineRecord,
  engineRecord,
  isSameLock,
  lockFor,
  switched,
} from './engine-lock.ts';
import { type EngineSource, isSameSource, sourceOf } from './engine-source.ts';
import { ensureLexicalModel, lexicalFacts } from './lexical-model.ts';
import { assertFolder } from './model-folder.ts';
import { assertServed, listOf, textsOf } from './openai-embeddings.ts';
import {
  type Embedded,
  type EmbedRequest,
  embeddingFaults,
  embeddings,
  TEXT_LENGTH_MAX,
  TEXTS_MAX,
} from './protocol.ts';
import { Status } from './status.ts';
import { openEngineStore } from './store.ts';
import type { EmbedderBehaviour, ThreadLimits } from './threads.ts';

import '../services.ts';

export interface EmbeddingsArguments {
  /** For the built-in model. */
  readonly modelsFolder: string;
  /** What runs on the threads instead of the real embedder. */
  readonly embedder?: { readonly module: string; readonly exportName: string };
}

/** Of a client's request: who sends more does not wait at a prompt. */
const INTERACTIVE_TEXTS_MAX = 8;
/** G2. */
const INSPECT_AGAIN_MS = 30_000;
const BYTES_PER_MB = 1024 * 1024;

export const embeddingsActor = actor({
  module: import.meta.url,
  exportName: 'embeddingsActor',
  protocol: embeddings,
  async setup(context: ActorContext<typeof embeddings>, { modelsFolder, embedder }: EmbeddingsArguments) {
    const store = openEngineStore(context.services.storage);
    let lock = store.read();
    const turns = new Turns();
    let settings = await context.ask(config, 'settings', {});
    const status = new Status(lock);
    const behaviour: EmbedderBehaviour =
      embedder === undefined ? embedderActor : await loadBehaviour(embedder.module, embedder.exportName);
    const dispatcher = new Dispatcher(context, {
      behaviour,
      limits: limitsNow,
      cacheBytesMax: settings['embeddings.cache_mb'] * BYTES_PER_MB,
      onEngine: noteEngine,
    });
    /** G1. A look that is under way, and one that is wanted behind it. */
    let isLooking = false;
    let wantedLook: { readonly isChanged: boolean } | null = null;
    /** What is begun to be written is there, or not, when this actor has stopped. */
    let modelWritten: Promise<unknown> = Promise.resolve();
    context.onStop(() => modelWritten.then(nothing, nothing));
    context.exposeState(() => ({ status: status.now, ...dispatcher.view() }));
    follow(
      context,
      config,
      'changes',
      {},
      {
        onBegun: () => look(false),
        // Another key or address may be what a remote engine was waiting for.
        onItem: (keys) => keys.some((key) => /^(embeddings|providers)[.]/.test(key)) && look(false),
      },
    );

    return {
      async create(request, { signal }) {
        const texts = textsOf(request);
        const engine = engineFor(undefined);
        assertServed(request, engine);
        const priority = texts.length <= INTERACTIVE_TEXTS_MAX ? 'interactive' : 'bulk';
        const made = await embed({ texts, kind: 'passage', priority }, engine, signal);
        return listOf(made, request);
      },

      embed: (request, { signal }) => {
        assertTexts(request);
        return embed(request, engineFor(request.engine), signal);
      },

      engine: () => status.now,
      engines: (_, { signal }) => status.follow(signal),
      progressed: ({ engine, ...progress }) => status.progressed(engine, progress),

      async switched({ engine }) {
        await change(() => {
          const after = switched(lock, engine);
          if (after === null && lock.current?.id !== engine)
            throw embeddingFaults.engine_unknown('this engine is not the next one any more');
          return after ?? lock;
        });
        return status.now;
      },
    };

    async function embed(
      request: EmbedRequest,
      engine: EngineRecord,
      signal: AbortSignal,
    ): Promise<Embedded> {
      const { texts, kind, priority } = request;
      const made = await dispatcher.embed(engine, texts, kind, priority, signal);
      return { ...made, dimensions: engine.dimensions, engine: engine.id, model: engine.model };
    }

    function engineFor(id: string | undefined): EngineRecord {
      const { current, next } = lock;
      if (id === undefined) {
        if (current !== null) return current;
        throw embeddingFaults.engine_unavailable(status.now.error ?? 'the engine is not open yet');
      }
      const engine = [current, next].find((one) => one?.id === id);
      if (engine == null)
        throw embeddingFaults.engine_unknown('this engine is neither the current nor the next one');
      return engine;
    }

    function limitsNow(): ThreadLimits {
      return {
        threadsMax: settings['embeddings.threads'],
        idleMs: settings['embeddings.idle_seconds'] * 1000,
        args: { modelsFolder, threads: settings['embeddings.threads_per_run'] },
      };
    }

    /** What a batch met. */
    function noteEngine(engine: EngineRecord, error: unknown): void {
      if (!isFault(error)) {
        if (engine.id === lock.current?.id) status.current(null);
        return;
      }
      if (engine.id === lock.current?.id) {
        status.current(error.message);
        context.after('look again', INSPECT_AGAIN_MS, () => look(false)); // G2
      }
      // Its files were replaced: what is there now is another engine.
      if (error.code === 'engine_changed') look(true);
    }

    /** G1. `isChanged`: what is there is not what was locked. */
    function look(isChanged: boolean): void {
      wantedLook = { isChanged: isChanged || wantedLook?.isChanged === true };
      if (!isLooking) context.background(lookWhileWanted());
    }

    async function lookWhileWanted(): Promise<void> {
      isLooking = true;
      while (wantedLook !== null && !context.signal.aborted) {
        const { isChanged } = wantedLook;
        wantedLook = null;
        await lookAt(isChanged);
      }
      isLooking = false;
    }

    async function lookAt(isChanged: boolean): Promise<void> {
      let source: EngineSource | null = null;
      try {
        const latest = await context.ask(config, 'settings', {});
        apply(latest);
        source = sourceOf(latest);
        const found = await engineAt(source, isChanged);
        status.wanted(null);
        await change(() => lockFor(lock, found));
        if (lock.current?.id === found.id) status.current(null);
      } catch (error) {
        if (context.signal.aborted) return;
        if (!isFault(error)) throw error;
        const isCurrent =
          source !== null && lock.current !== null && isSameSource(source, lock.current.source);
        if (isCurrent) status.current(error.message);
        else status.wanted(error.message);
        context.log.warn({ error: error.message }, 'the engine that the settings name cannot be used');
        context.after('look again', INSPECT_AGAIN_MS, () => look(false)); // G2
      }
    }

    function apply(latest: Settings): void {
      const before = limitsNow();
      settings = latest;
      dispatcher.cache.resize(latest['embeddings.cache_mb'] * BYTES_PER_MB);
      if (JSON.stringify(before) !== JSON.stringify(limitsNow())) dispatcher.renewThreads();
    }

    async function engineAt(source: EngineSource, isChanged: boolean): Promise<EngineRecord> {
      if (source.kind === 'builtin') {
        modelWritten = ensureLexicalModel(modelsFolder, context.random);
        await modelWritten;
        return engineRecord(source, lexicalFacts);
      }
      const known = [lock.current, lock.next].find((one) => one !== null && isSameSource(one.source, source));
      if (known != null && !isChanged && status.now.state === 'ready') {
        // No thread is started for an engine that nobody asks; a folder that is gone is told at once all the same.
        if (source.kind === 'folder') await assertFolder(source.directory);
        return known;
      }
      return engineRecord(source, await dispatcher.inspect(source, context.signal));
    }

    /** G3. Durable first. */
    function change(decide: () => EngineLock): Promise<void> {
      return turns.take('lock', async () => {
        const after = decide();
        if (isSameLock(lock, after)) return;
        await store.write(after);
        lock = after;
        status.locked(after);
      });
    }
  },
});

function nothing(): void {}

function assertTexts({ texts }: EmbedRequest): void {
  if (texts.length > TEXTS_MAX)
    throw embeddingFaults.embedding_refused(`at most ${TEXTS_MAX} texts come in one message`);
  if (texts.every((text) => text.length <= TEXT_LENGTH_MAX)) return;
  throw embeddingFaults.embedding_refused(`a text has at most ${TEXT_LENGTH_MAX} characters`);
}
