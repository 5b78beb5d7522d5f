// Ingestion actor: one on the edge thread. It knows which documents wait and which are read; reading happens on threads that are
// there as long as there is work. Promises G1 to G5 stand in protocol.ts.
// T1 What waits is workspaces' to know: it is asked again whenever it says so and whenever a document ends. Nothing is kept here
//    that a restart would lose.

import { errorText, isFault } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { follow } from '../../supervisor/following.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import { config } from '../config/protocol.ts';
import { DOCUMENTS, vectors } from '../vectors/protocol.ts';
import { type IngestionStage, workspaces } from '../workspaces/protocol.ts';
import { DocumentStore, ownerOf } from './document-store.ts';
import { type IndexingArguments, indexingActor } from './indexing.ts';
import type { Indexed, indexing } from './indexing-protocol.ts';
import { type FoundPassage, ingestion, ingestionFaults, PASSAGES_MAX } from './protocol.ts';
import { type Reading, Schedule } from './schedule.ts';

import '../services.ts';

/** Looked at together, so that workspaces can take turns. */
const PENDING_LOOKED_AT = 1_000;
const REMOVED_LOOKED_AT = 200;
/** The largest document, on the slowest machine, with a model that others use too. */
const INDEX_DEADLINE_MS = 6 * 60 * 60 * 1_000;
const FORGET_DEADLINE_MS = 10 * 60 * 1_000;
const LOOK_RETRY_MS = 1_000;
/** A reader that is lost may be another one's fault; the same twice is the document's. */
const LOSSES_MAX = 2;
/** Of what is found, some may be of a revision that is being replaced. */
const OVERFETCH = 3;

const GIVEN_UP = 'The document could not be read';

export const ingestionActor = actor({
  module: import.meta.url,
  exportName: 'ingestionActor',
  protocol: ingestion,
  setup(context: ActorContext<typeof ingestion>, args: IndexingArguments) {
    const { clock, log } = context;
    const store = new DocumentStore(context.services.storage);
    const schedule = new Schedule();
    const losses = new Map<string, number>();
    let indexer: { readonly id: string; readonly ref: Ref<typeof indexing> } | null = null;
    let indexers = 0;
    let forgetting = 0;
    let idleMs = 0;
    let isLooking = false;
    let looksAgain = false;
    let isClearing = false;

    const indexerNow = (): Ref<typeof indexing> => {
      if (indexer !== null) return indexer.ref;
      indexers += 1;
      const id = `indexing-${indexers}`;
      const ref = context.spawn(indexingActor, args, { id, restart: 'temporary', placement: 'dedicated' });
      indexer = { id, ref };
      context.watch(ref, () => {
        if (indexer?.id === id) indexer = null;
      });
      return ref;
    };

    /** T1. */
    const look = (): void => {
      looksAgain = true;
      if (isLooking) return;
      isLooking = true;
      context.background(lookWhileWanted());
    };

    const lookWhileWanted = async (): Promise<void> => {
      try {
        while (looksAgain) {
          looksAgain = false;
          await forgetRemoved();
          const { documents } = await context.ask(workspaces, 'pendingDocuments', {
            limit: PENDING_LOOKED_AT,
          });
          schedule.setPending(documents);
          await fill();
          lookWhenDelayEnds();
        }
      } catch (error) {
        if (!isFault(error)) throw error;
        context.after('look', LOOK_RETRY_MS, look);
      } finally {
        isLooking = false;
      }
      restWhenIdle();
    };

    const fill = async (): Promise<void> => {
      const settings = await context.ask(config, 'settings', {});
      idleMs = settings['ingestion.idle_seconds'] * 1_000;
      const limits = {
        parseMs: settings['ingestion.parse_seconds'] * 1_000,
        parserHeapMb: settings['ingestion.parser_heap_mb'],
      };
      while (schedule.liveCount < settings['ingestion.documents_at_once']) {
        const reading = schedule.begin(clock.monotonicMs());
        if (reading === null) return;
        context.pipe(
          indexerNow().ask(
            'index',
            { document: reading.document, ...limits },
            {
              signal: reading.controller.signal,
              deadlineMs: INDEX_DEADLINE_MS,
            },
          ),
          (indexed) => context.background(settle(reading, () => conclude(reading, indexed))),
          (error) => context.background(settle(reading, () => endWith(reading, error))),
        );
      }
    };

    /** Where the outcome cannot be told or saved for now, the document stays pending and is read again. */
    const settle = async (reading: Reading, tell: () => Promise<void>): Promise<void> => {
      try {
        await tell();
      } catch (error) {
        if (!isFault(error)) throw error;
        postpone(reading, error);
      }
    };

    const conclude = async (reading: Reading, indexed: Indexed): Promise<void> => {
      const { document_id, revision } = reading.document;
      const { accepted } = await context.ask(workspaces, 'ingested', { document_id, revision, ...indexed });
      log.info({ document: document_id, chunks: indexed.chunk_count, accepted }, 'a document was read');
      ended(reading);
    };

    const endWith = async (reading: Reading, error: unknown): Promise<void> => {
      const { document_id, revision } = reading.document;
      if (reading.controller.signal.aborted || isFault(error, 'document_gone')) return ended(reading);
      if (mayPass(error, reading)) return postpone(reading, error);
      log.warn({ document: document_id, error: errorText(error) }, 'a document could not be read');
      await forget([document_id]);
      const reason = isFault(error) && !LOSSES.has(error.code) ? error.message : GIVEN_UP;
      await context.ask(workspaces, 'ingestFailed', { document_id, revision, error: reason });
      ended(reading);
    };

    const postpone = (reading: Reading, error: unknown): void => {
      const { document_id } = reading.document;
      const delayMs = schedule.delay(reading, clock.monotonicMs());
      showProgress(reading, null);
      log.warn({ document: document_id, error: errorText(error), delayMs }, 'a document has to wait');
      look();
    };

    /** Each look sets the timer anew: it may fire a part of a millisecond before the delay has ended. */
    const lookWhenDelayEnds = (): void => {
      const leftMs = schedule.delayLeftMs(clock.monotonicMs());
      if (leftMs !== null) context.after('delay', leftMs, look);
    };

    const showProgress = ({ document }: Reading, progress: Progress | null): void => {
      const { document_id, revision } = document;
      context.tell(workspaces, 'ingestionProgressed', { document_id, revision, progress });
    };

    const mayPass = (error: unknown, { document }: Reading): boolean => {
      if (!isFault(error)) return false;
      if (!LOSSES.has(error.code) && error.code !== 'parser_lost') return error.retryable;
      const key = `${document.document_id} ${document.revision}`;
      const count = (losses.get(key) ?? 0) + 1;
      losses.set(key, count);
      return count < LOSSES_MAX;
    };

    const ended = (reading: Reading): void => {
      schedule.end(reading);
      showProgress(reading, null);
      losses.delete(`${reading.document.document_id} ${reading.document.revision}`);
      look();
    };

    /** What is being read is stopped first; its removal is asked for again with the next look. */
    const forgetRemoved = async (): Promise<void> => {
      const { documents } = await context.ask(workspaces, 'removedDocuments', { limit: REMOVED_LOOKED_AT });
      const ids = documents.map(({ document_id }) => document_id);
      for (const id of ids) schedule.find(id)?.controller.abort();
      const forgotten = ids.filter((id) => schedule.find(id) === undefined);
      if (forgotten.length === 0 || isClearing) return;
      isClearing = true;
      context.background(clear(forgotten));
    };

    /** A large project takes minutes, in which others are read. */
    const clear = async (ids: readonly string[]): Promise<void> => {
      try {
        for (const id of ids) {
          await forget([id]);
          await context.ask(workspaces, 'forgotten', { document_ids: [id] });
        }
        isClearing = false;
        look();
      } catch (error) {
        isClearing = false;
        if (!isFault(error)) throw error;
        context.after('look', LOOK_RETRY_MS, look);
      }
    };

    const forget = async (document_ids: readonly string[]): Promise<void> => {
      forgetting += 1;
      try {
        await indexerNow().ask('forget', { document_ids }, { deadlineMs: FORGET_DEADLINE_MS });
      } finally {
        forgetting -= 1;
      }
    };

    const restWhenIdle = (): void => {
      context.after('idle', idleMs, () => {
        if (!schedule.isIdle || forgetting > 0 || isLooking || indexer === null) return;
        const { id } = indexer;
        indexer = null;
        context.background(context.stopChild(id));
      });
    };

    context.exposeState(() => ({
      waiting: schedule.waitingCount,
      reading: Array.from(schedule.live(), ({ document: { document_id, filename }, stage, fraction }) => ({
        document_id,
        filename,
        stage,
        fraction,
      })),
    }));
    follow(context, workspaces, 'workAppeared', {}, { onItem: look });

    return {
      text({ document_id, offset, limit }) {
        const published = store.published(document_id);
        if (published === undefined)
          throw ingestionFaults.text_not_there('There is no text of this document');
        return store.page(document_id, published, offset, limit);
      },
      async passages({ user_id, workspace_id, query, k }, { signal }) {
        const wanted = Math.min(k, PASSAGES_MAX);
        const { hits, by } = await context.ask(
          vectors,
          'hybrid',
          {
            collections: [DOCUMENTS],
            text: query,
            k: wanted * OVERFETCH,
            owners: [ownerOf({ user_id, workspace_id })],
          },
          { signal },
        );
        const passages = hits.flatMap(({ id, text, score }): FoundPassage[] => {
          const place = store.placeOf(id);
          return place === null ? [] : [{ ...place, text, score }];
        });
        return { passages: passages.slice(0, wanted), by };
      },
      progressed({ document_id, revision, stage, fraction }) {
        const reading = schedule.find(document_id);
        if (reading?.document.revision !== revision) return;
        reading.stage = stage;
        reading.fraction = fraction;
        showProgress(reading, { stage, fraction });
      },
    };
  },
});

interface Progress {
  readonly stage: IngestionStage;
  readonly fraction: number | null;
}

const LOSSES: ReadonlySet<string> = new Set(['actor_terminated', 'actor_crashed', 'actor_unavailable']);
