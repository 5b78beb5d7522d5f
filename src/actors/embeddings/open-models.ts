// OpenModels: the models that are open on one thread, by where they come from.
// H1 At most MODELS_OPEN_MAX stay open: the engine that is current and the one that is next. What is in use is not closed.
// H2 One that could not be opened is tried again at the next order: what was missing may be there by then.

import type { EngineSource } from './engine-source.ts';
import type { Model } from './model.ts';

const MODELS_OPEN_MAX = 2;

interface Entry {
  readonly model: Promise<Model>;
  users: number;
}

export class OpenModels {
  readonly #open: (source: EngineSource) => Promise<Model>;
  /** The one that was used last comes last. */
  readonly #entries = new Map<string, Entry>();

  constructor(open: (source: EngineSource) => Promise<Model>) {
    this.#open = open;
  }

  async use<Result>(source: EngineSource, work: (model: Model) => Promise<Result>): Promise<Result> {
    const key = JSON.stringify(source);
    const entry = this.#entries.get(key) ?? { model: this.#open(source), users: 0 };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users += 1;
    try {
      return await work(await this.#opened(key, entry));
    } finally {
      entry.users -= 1;
      if (this.#entries.get(key) !== entry) await closeUnused(entry);
      await this.#closeOthers();
    }
  }

  /** Opened anew the next time: the files behind it may be others now. */
  async forget(source: EngineSource): Promise<void> {
    const key = JSON.stringify(source);
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry !== undefined) await closeUnused(entry);
  }

  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.allSettled(entries.map(async ({ model }) => (await model).close()));
  }

  async #opened(key: string, entry: Entry): Promise<Model> {
    try {
      return await entry.model;
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#entries.delete(key); // H2
      throw error;
    }
  }

  /** H1. */
  async #closeOthers(): Promise<void> {
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= MODELS_OPEN_MAX) return;
      if (entry.users > 0) continue;
      this.#entries.delete(key);
      await closeUnused(entry);
    }
  }
}

/** Whoever uses it last closes it. */
async function closeUnused({ users, model }: Entry): Promise<void> {
  if (users > 0) return;
  const opened = await model.catch(() => null);
  await opened?.close();
}
