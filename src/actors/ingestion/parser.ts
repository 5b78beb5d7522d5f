// Parser actor: reads one document at a time, on a thread of its own (see parser-protocol.ts).

import { isFault } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { chunksOf } from './chunks.ts';
import { PARSE_MS_MAX } from './limits.ts';
import { Outline } from './outline.ts';
import {
  CHUNKS_PER_PART,
  type Chunk,
  type ParsedPart,
  type ParseOrder,
  parser,
  parserFaults,
} from './parser-protocol.ts';
import { type ReadText, readText } from './reading.ts';

export const parserActor = actor({
  module: import.meta.url,
  exportName: 'parserActor',
  protocol: parser,
  setup: (context: ActorContext<typeof parser>) => ({
    parse: async function* (order, { signal }) {
      yield* partsOf(await readWithin(context, order, signal));
    },
  }),
});

async function readWithin(
  { clock }: ActorContext<typeof parser>,
  order: ParseOrder,
  asked: AbortSignal,
): Promise<ReadText> {
  const overdue = new AbortController();
  const timer = clock.startTimer(PARSE_MS_MAX, () => overdue.abort());
  try {
    return await readText(order, AbortSignal.any([asked, overdue.signal]));
  } catch (error) {
    if (!overdue.signal.aborted || isFault(error)) throw error;
    throw parserFaults.document_too_slow(`Reading it took more than ${PARSE_MS_MAX / 1_000} seconds`);
  } finally {
    timer.cancel();
  }
}

function* partsOf({ text, kind, pageStarts }: ReadText): Generator<ParsedPart> {
  const outline = new Outline(text, kind, pageStarts);
  let from = 0;
  let chunks: Chunk[] = [];
  for (const chunk of chunksOf(text, outline, pageStarts)) {
    chunks.push(chunk);
    if (chunks.length < CHUNKS_PER_PART) continue;
    yield { text: text.slice(from, chunk.end), chunks };
    from = chunk.end;
    chunks = [];
  }
  yield { text: text.slice(from), chunks };
}
