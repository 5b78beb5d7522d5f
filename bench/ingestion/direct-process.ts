// Direct: the same files read and cut by the same code, one after the other on one thread, and nothing done with what comes of it.

import { chunksOf } from '../../src/actors/ingestion/chunks.ts';
import { Outline } from '../../src/actors/ingestion/outline.ts';
import { type DocumentFile, type ReadText, readText } from '../../src/actors/ingestion/reading.ts';
import { serve } from '../load/child.ts';

const door = {
  async read(files: readonly DocumentFile[]) {
    const chunks: number[] = [];
    const startedMs = performance.now();
    for (const file of files) {
      const { text, kind, pageStarts } = await readWhole(file);
      let count = 0;
      for (const _ of chunksOf(text, new Outline(text, kind, pageStarts), pageStarts)) count += 1;
      chunks.push(count);
    }
    return { tookMs: performance.now() - startedMs, chunks };
  },
};
export type DirectDoor = typeof door;
serve(door);

async function readWhole(file: DocumentFile): Promise<ReadText> {
  const reading = readText(file, new AbortController().signal);
  for (;;) {
    const step = await reading.next();
    if (step.done === true) return step.value;
  }
}
