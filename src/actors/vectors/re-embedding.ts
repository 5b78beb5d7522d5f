// ReEmbedding: makes the vectors that are missing, of the engine that is to serve, in the background (V3). The same work
// whether a passage was filed without a vector, or another engine was set: then all are missing.
// R1 There is no list of what is left to do: what has no vector of the engine is. So a restart goes on where it was.
// R2 The old vectors serve until every passage has a new one and all of that is flushed. Then the engine is switched, at once,
//    and the old ones are deleted.
// R3 It gives way: the texts are bulk work to the engine, and this thread has a rest after each batch.
// R4 A text that its engine cannot work holds up nobody: the passage stays without a vector, found by its words.
// R5 An engine that works no text at all is itself at fault: the old vectors are not given up for it, and it is tried again.

import { type Fault, isFault } from '../../std/errors.ts';
import { sha256Hex } from '../../std/hashes.ts';
import type { Passages, PassageText } from '../../storage/contract.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { BULK_DEADLINE_MS, type EngineStatus, embeddingFaults, embeddings } from '../embeddings/protocol.ts';

import '../services.ts';

/** Two of the engine's own batches. */
const BATCH_PASSAGES = 64;
const REST_MS = 20;
/** Ids that are looked through before others get their turn. */
const LOOKED_THROUGH_MAX = 500;
/** More than so many are no fault of the texts. */
const UNWORKABLE_MAX = 1_000;
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;

export interface ReEmbeddingState {
  readonly engine: string | null;
  readonly done: number;
  readonly total: number;
  /** R4. */
  readonly unworkable: number;
  /** Why it does not go on for the moment. */
  readonly waitsFor: string | null;
}

export class ReEmbedding {
  readonly #context: ActorContext;
  #status: EngineStatus | undefined;
  /** R4. By collection and id: the hash of the text. */
  #unworkable = new Map<string, string>();
  #underWay: { readonly engine: string; readonly abort: AbortController } | undefined;
  #isDueAgain = false;
  #waitsFor: string | null = null;

  constructor(context: ActorContext) {
    this.#context = context;
  }

  state(): ReEmbeddingState {
    const engine = this.#underWay?.engine ?? null;
    const unworkable = this.#unworkable.size;
    return { engine, ...this.#progress(engine), unworkable, waitsFor: this.#waitsFor };
  }

  /** Nothing of its vectors was deleted so far: that begins when another one is known to be switched to (R2). */
  serves(engine: string): boolean {
    return this.#status?.current == null || this.#status.current.id === engine;
  }

  /** As the engines are now. What was under way for another one is given up. */
  follow(status: EngineStatus): void {
    const before = targetOf(this.#status);
    this.#status = status;
    if (targetOf(status) !== before) {
      this.#unworkable.clear();
      this.#underWay?.abort.abort();
    }
    this.look();
  }

  /** Whether there is something to do; if so, it is done. */
  look(): void {
    if (this.#underWay !== undefined) {
      this.#isDueAgain = true;
      return;
    }
    const engine = targetOf(this.#status);
    if (engine === null) return;
    this.#forgetOutdated();
    if (!this.#hasWork(engine)) return;
    const abort = new AbortController();
    this.#underWay = { engine, abort };
    this.#isDueAgain = false;
    const signal = AbortSignal.any([abort.signal, this.#context.signal]);
    this.#context.pipe(this.#work(engine, signal), () => {
      this.#underWay = undefined;
      if (this.#isDueAgain) this.look();
    });
  }

  /** Cheap: figures only. */
  #hasWork(engine: string): boolean {
    const { done, total } = this.#progress(engine);
    if (done + this.#unworkable.size < total || this.#status?.next != null) return true;
    return this.#collections().some((passages) => passages.engines().some((made) => made.engine !== engine));
  }

  #progress(engine: string | null): { readonly done: number; readonly total: number } {
    let done = 0;
    let total = 0;
    for (const passages of this.#collections()) {
      total += passages.count();
      done += passages.engines().find((made) => made.engine === engine)?.count ?? 0;
    }
    return { done, total };
  }

  async #work(engine: string, signal: AbortSignal): Promise<void> {
    for (let retryMs = RETRY_FIRST_MS; !signal.aborted; retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)) {
      try {
        for (const passages of this.#collections()) await this.#embedAll(passages, engine, signal);
        if (signal.aborted) return;
        await this.#settle(engine, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!isFault(error)) throw error;
        this.#context.log.info({ engine, error: error.message, retryMs }, 'embedding has to wait');
        this.#waitsFor = error.message;
        await this.#pause(retryMs, signal);
        this.#waitsFor = null;
      }
    }
  }

  async #embedAll(passages: Passages, engine: string, signal: AbortSignal): Promise<void> {
    let batch: PassageText[] = [];
    let after: string | undefined = '';
    while (after !== undefined && !signal.aborted) {
      const found: Looked = this.#lookThrough(passages, engine, after, BATCH_PASSAGES - batch.length);
      batch.push(...found.missing);
      after = found.last;
      if (batch.length === BATCH_PASSAGES || (after === undefined && batch.length > 0)) {
        await this.#embed(passages, engine, batch, signal);
        batch = [];
        this.#tellProgress(engine);
      }
      await this.#pause(REST_MS, signal);
    }
  }

  #lookThrough(passages: Passages, engine: string, after: string, missingMax: number): Looked {
    const missing: PassageText[] = [];
    let last: string | undefined;
    for (const id of passages.ids({ after, limit: LOOKED_THROUGH_MAX })) {
      last = id;
      if (passages.isEmbedded(id, engine)) continue;
      const passage = passages.get(id);
      if (passage !== undefined && !this.#isUnworkable(passages, passage)) missing.push(passage);
      if (missing.length === missingMax) break;
    }
    return { missing, last };
  }

  /** All at once; if that cannot be done, one by one (R4). */
  async #embed(
    passages: Passages,
    engine: string,
    batch: readonly PassageText[],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const { vectors } = await this.#context.ask(
        embeddings,
        'embed',
        { texts: batch.map(({ text }) => text), kind: 'passage', priority: 'bulk', engine },
        { signal, deadlineMs: BULK_DEADLINE_MS },
      );
      await this.#context.services.storage.write('committed', (tx) => {
        for (const [i, vector] of vectors.entries()) {
          const { id, text } = batch[i] as PassageText;
          tx.embedPassage(passages, id, text, { engine, vector });
        }
      });
    } catch (error) {
      if (!isFault(error) || !isOfTheText(error) || this.#unworkable.size >= UNWORKABLE_MAX) throw error;
      if (batch.length > 1) {
        for (const one of batch) await this.#embed(passages, engine, [one], signal);
        return;
      }
      for (const { id, text } of batch) this.#unworkable.set(keyOf(passages, id), sha256Hex(text));
      this.#context.log.warn({ engine, error: error.message }, 'a passage cannot be embedded');
    }
  }

  /** R2. */
  async #settle(engine: string, signal: AbortSignal): Promise<void> {
    const { done, total } = this.#progress(engine);
    // Something was filed meanwhile: another round.
    if (done + this.#unworkable.size < total) {
      this.#isDueAgain = true;
      return;
    }
    if (this.#status?.next?.id === engine && done === 0 && total > 0) {
      this.#unworkable.clear();
      throw embeddingFaults.embedding_failed('the next engine makes no vector of any text'); // R5
    }
    await this.#context.services.storage.flushed();
    if (this.#status?.next?.id === engine) {
      this.#status = await this.#context.ask(embeddings, 'switched', { engine }, { signal });
    }
    for (const passages of this.#collections()) {
      for (const { engine: old } of passages.engines()) {
        if (old !== engine && !signal.aborted) await passages.dropVectors(old);
      }
    }
  }

  #tellProgress(engine: string): void {
    if (this.#status?.next?.id !== engine) return;
    this.#context.tell(embeddings, 'progressed', { engine, ...this.#progress(engine) });
  }

  #isUnworkable(passages: Passages, { id, text }: PassageText): boolean {
    const hash = this.#unworkable.get(keyOf(passages, id));
    return hash !== undefined && hash === sha256Hex(text);
  }

  /** What was removed, or has another text now, is not in the way any more. */
  #forgetOutdated(): void {
    for (const passages of this.#collections()) {
      for (const key of [...this.#unworkable.keys()]) {
        if (!key.startsWith(keyOf(passages, ''))) continue;
        const passage = passages.get(key.slice(keyOf(passages, '').length));
        if (passage === undefined || !this.#isUnworkable(passages, passage)) this.#unworkable.delete(key);
      }
    }
  }

  #collections(): readonly Passages[] {
    const { storage } = this.#context.services;
    return storage.passageCollections().map((name) => storage.passages(name));
  }

  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#context.after('re-embedding', delayMs, resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    return promise.then(cancel);
  }
}

interface Looked {
  readonly missing: readonly PassageText[];
  /** Undefined when all were looked through. */
  readonly last: string | undefined;
}

function keyOf({ name }: Passages, id: string): string {
  return `${name} ${id}`;
}

function targetOf(status: EngineStatus | undefined): string | null {
  return status?.next?.id ?? status?.current?.id ?? null;
}

/** That another try, or another engine, would not help with. */
function isOfTheText(fault: Fault): boolean {
  return fault.kind === 'unprocessable' || fault.kind === 'invalid';
}
