// Indexing actor: takes documents through parsing, embedding and filing, on a thread of its own: what it files it also breaks
// into words, and that is work. The parsers have threads of their own below it, since they may loop.
// X1 One part of a document is embedded while the one before it is filed; nothing else of the document is in memory.
// X2 What is done with a document is done in turn. An ingest that nobody waits for any more ends soon, but may be at its last commit:
//    what comes after it, a newer revision or a deletion, must find all that it leaves.

import { stepBack } from '../../std/thread-priority.ts';
import { Turns } from '../../std/turns.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import { loadBehaviour } from '../../supervisor/threads/load-behaviour.ts';
import type { completions } from '../providers/protocol.ts';
import type { IngestionStage, PendingDocument } from '../workspaces/protocol.ts';
import { DESCRIBED_CHARS_MAX, type Description, describe } from './description.ts';
import { DocumentStore, type StoredPart } from './document-store.ts';
import { embedded } from './embedding.ts';
import { type Indexed, type IndexOrder, indexing, indexingFaults } from './indexing-protocol.ts';
import { parserActor } from './parser.ts';
import type { ParsedPart } from './parser-protocol.ts';
import { Parsers } from './parsers.ts';
import { ingestion } from './protocol.ts';

import '../services.ts';

/** A file in whose reading the service has ended so often is not read any more. */
const READINGS_MAX = 3;

interface Named {
  readonly module: string;
  readonly exportName: string;
}

export interface IndexingArguments {
  /** The model client's behaviour, by module and name: its folder is not ours to import. */
  readonly completions: Named;
  /** What reads documents, when it is not the parser of this folder. */
  readonly parser?: Named;
}

export const indexingActor = actor({
  module: import.meta.url,
  exportName: 'indexingActor',
  protocol: indexing,
  async setup(
    context: ActorContext<typeof indexing>,
    { completions: client, parser = parserActor }: IndexingArguments,
  ) {
    stepBack();
    const store = new DocumentStore(context.services.storage);
    const parsers = new Parsers(context, await loadBehaviour(parser.module, parser.exportName));
    const behaviour = await loadBehaviour(client.module, client.exportName);
    const model: Ref<typeof completions> = context.spawn(behaviour, undefined, {
      id: 'completions',
      restart: 'permanent',
    });

    const turns = new Turns(); // X2

    return {
      index: (order, { signal }) =>
        turns.take(order.document.document_id, async () => {
          signal.throwIfAborted();
          return new Ingest(context, store, parsers, model, order, signal).run();
        }),
      async forget({ document_ids }) {
        for (const id of document_ids) await turns.take(id, () => store.removeOthers(id, null));
        return {};
      },
    };
  },
});

class Ingest {
  readonly #context: ActorContext;
  readonly #store: DocumentStore;
  readonly #parsers: Parsers;
  readonly #client: Ref<typeof completions>;
  readonly #order: IndexOrder;
  readonly #document: PendingDocument;
  readonly #signal: AbortSignal;
  /** Of the text, as far as it describes the document. */
  #beginning = '';
  #description: Promise<Description> | null = null;
  #chars = 0;
  #chunks = 0;
  #filedChars = 0;

  constructor(
    context: ActorContext,
    store: DocumentStore,
    parsers: Parsers,
    client: Ref<typeof completions>,
    order: IndexOrder,
    signal: AbortSignal,
  ) {
    this.#context = context;
    this.#store = store;
    this.#parsers = parsers;
    this.#client = client;
    this.#order = order;
    this.#document = order.document;
    this.#signal = signal;
  }

  async run(): Promise<Indexed> {
    const { document_id, revision } = this.#document;
    this.#tell('reading', null);
    if ((await this.#store.begin(this.#document)) > READINGS_MAX) {
      throw indexingFaults.document_given_up('The service ended several times while it was read');
    }
    // D2 of the store: what an earlier try has left.
    const kept = this.#store.published(document_id)?.revision ?? null;
    if (kept !== revision && kept !== null) await this.#store.removeOthers(document_id, kept);
    await this.#file();
    this.#tell('describing', null);
    const { tags, summary } = await (this.#description ?? this.#describe());
    await this.#store.publish(this.#document, this.#chars, this.#chunks);
    await this.#store.removeOthers(document_id, revision);
    return { tags, summary, chunk_count: this.#chunks };
  }

  /** X1. */
  async #file(): Promise<void> {
    let number = 0;
    let filing: Promise<void> = Promise.resolve();
    for await (const { text, chunks, textLength } of this.#parts()) {
      const start = this.#chars;
      this.#chars += text.length;
      this.#chunks += chunks.length;
      this.#begin(text);
      const part = { number, start, text, chunks: await embedded(this.#context, chunks, this.#signal) };
      number += 1;
      await filing;
      filing = this.#add(part, textLength);
      // Awaited with the next part: should that fail first, this one's failure is not news.
      filing.catch(() => undefined);
    }
    await filing;
  }

  async #add(part: StoredPart, textLength: number): Promise<void> {
    await this.#store.addPart(this.#document, part, this.#signal);
    this.#filedChars += part.text.length;
    this.#tell('embedding', textLength === 0 ? null : this.#filedChars / textLength);
  }

  async *#parts(): AsyncGenerator<ParsedPart> {
    const { path, filename, document_id } = this.#document;
    const { parseMs, parserHeapMb } = this.#order;
    const order = { path, filename, withinMs: parseMs };
    let isReading = true;
    const readingEnded = async (): Promise<void> => {
      if (isReading) await this.#store.readingEnded(document_id);
      isReading = false;
    };
    try {
      for await (const news of this.#parsers.parse(order, parserHeapMb, this.#signal)) {
        if (news.kind === 'progress') {
          this.#tell('reading', news.fraction);
          continue;
        }
        await readingEnded();
        yield news;
      }
    } catch (error) {
      await readingEnded();
      throw error;
    }
  }

  #begin(text: string): void {
    if (this.#description !== null) return;
    this.#beginning = (this.#beginning + text).slice(0, DESCRIBED_CHARS_MAX);
    if (this.#beginning.length === DESCRIBED_CHARS_MAX) this.#description = this.#describe();
  }

  #describe(): Promise<Description> {
    const beginning = this.#beginning.toWellFormed();
    const described = describe(this.#context, this.#client, this.#document, beginning, this.#signal);
    // Awaited when all else is done, if it comes to that.
    described.catch(() => undefined);
    return described;
  }

  #tell(stage: IngestionStage, fraction: number | null): void {
    const { document_id, revision } = this.#document;
    this.#context.tell(ingestion, 'progressed', { document_id, revision, stage, fraction });
  }
}
