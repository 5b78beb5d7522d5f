// Parser actor: reads one document at a time, on a thread of its own (see parser-protocol.ts). Nobody waits for it as for an answer:
// where there are fewer cores than threads, it is the one that waits.

import { isFault } from '../../std/errors.ts';
import { stepBack } from '../../std/thread-priority.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { chunksOf } from './chunks.ts';
import { Outline } from './outline.ts';
import {
  CHUNKS_PER_PART,
  type Chunk,
  type ParsedPart,
  type ParseOrder,
  parser,
  parserFaults,
  type ReadingProgress,
} from './parser-protocol.ts';
import { type ReadText, readText } from './reading.ts';

const TELL_EVERY_MS = 250;
const NOTHING_READ: ReadText = { text: '', kind: 'text', pageStarts: [] };

export const parserActor = actor({
  module: import.meta.url,
  exportName: 'parserActor',
  protocol: parser,
  setup: (context: ActorContext<typeof parser>) => {
    stepBack();
    return {
      parse: async function* (order, { signal }) {
        yield* partsOf(yield* readWithin(context, order, signal));
      },
    };
  },
});

async function* readWithin(
  { clock }: ActorContext<typeof parser>,
  order: ParseOrder,
  asked: AbortSignal,
): AsyncGenerator<ReadingProgress, ReadText> {
  const overdue = new AbortController();
  const timer = clock.startTimer(order.withinMs, () => overdue.abort());
  const reading = readText(order, AbortSignal.any([asked, overdue.signal]));
  let toldMs = clock.monotonicMs();
  try {
    for (;;) {
      const step = await reading.next();
      if (step.done === true) return step.value;
      const nowMs = clock.monotonicMs();
      if (nowMs - toldMs < TELL_EVERY_MS) continue;
      toldMs = nowMs;
      yield { kind: 'progress', fraction: step.value };
    }
  } catch (error) {
    if (!overdue.signal.aborted || isFault(error)) throw error;
    throw parserFaults.document_too_slow(
      `Reading it took longer than is allowed (${order.withinMs / 1_000} s)`,
    );
  } finally {
    timer.cancel();
    // Of one that nobody follows any more.
    await reading.return(NOTHING_READ);
  }
}

function* partsOf({ text, kind, pageStarts }: ReadText): Generator<ParsedPart> {
  const outline = new Outline(text, kind, pageStarts);
  let from = 0;
  let chunks: Chunk[] = [];
  for (const chunk of chunksOf(text, outline, pageStarts)) {
    chunks.push(chunk);
    if (chunks.length < CHUNKS_PER_PART) continue;
    yield { kind: 'part', text: text.slice(from, chunk.end), chunks, textLength: text.length };
    from = chunk.end;
    chunks = [];
  }
  yield { kind: 'part', text: text.slice(from), chunks, textLength: text.length };
}
