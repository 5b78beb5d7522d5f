// Embedding: the vectors of a part's chunks. A document is found by its words without them, so their lack holds nothing up:
// they are made in the background when there is an engine again.

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { BULK_DEADLINE_MS, embeddings } from '../embeddings/protocol.ts';
import type { MadeChunk } from './document-store.ts';
import type { Chunk } from './parser-protocol.ts';

const TEXTS_PER_SLICE = 16;
const FULL_RETRY_MS = 1_000;
const FULL_RETRIES_MAX = 60;

export async function embedded(
  context: ActorContext,
  chunks: readonly Chunk[],
  signal: AbortSignal,
): Promise<readonly MadeChunk[]> {
  const slices: (readonly Chunk[])[] = [];
  for (let from = 0; from < chunks.length; from += TEXTS_PER_SLICE) {
    slices.push(chunks.slice(from, from + TEXTS_PER_SLICE));
  }
  return (await Promise.all(slices.map((slice) => embedSlice(context, slice, signal)))).flat();
}

async function embedSlice(
  context: ActorContext,
  chunks: readonly Chunk[],
  signal: AbortSignal,
): Promise<readonly MadeChunk[]> {
  const texts = chunks.map(({ text }) => text);
  for (let tried = 0; ; tried += 1) {
    try {
      const { vectors, engine } = await context.ask(
        embeddings,
        'embed',
        { texts, kind: 'passage', priority: 'bulk' },
        { signal, deadlineMs: BULK_DEADLINE_MS },
      );
      return chunks.map((chunk, i) => {
        const vector = vectors[i];
        return vector === undefined ? chunk : { ...chunk, embedding: { engine, vector } };
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!isFault(error)) throw error;
      if (error.code !== 'embeddings_full' || tried >= FULL_RETRIES_MAX) {
        context.log.warn({ error: error.message }, 'passages are filed without vectors for now');
        return chunks;
      }
    }
    await new Promise<void>((resolve) => void context.clock.startTimer(FULL_RETRY_MS, resolve));
  }
}
