// Direct: the same files read and cut by the same code, one after the other on one thread, and nothing done with what comes of it.

import { chunksOf } from '../../src/actors/ingestion/chunks.ts';
import { Outline } from '../../src/actors/ingestion/outline.ts';
import { readText } from '../../src/actors/ingestion/reading.ts';
import { serve } from '../load/child.ts';

export interface DirectFile {
  readonly filename: string;
  readonly path: string;
}

const door = {
  async read(files: readonly DirectFile[]) {
    const { signal } = new AbortController();
    const chunks: number[] = [];
    const startedMs = performance.now();
    for (const file of files) {
      const { text, kind, pageStarts } = await readText(file, signal);
      let count = 0;
      for (const _ of chunksOf(text, new Outline(text, kind, pageStarts), pageStarts)) count += 1;
      chunks.push(count);
    }
    return { tookMs: performance.now() - startedMs, chunks };
  },
};
export type DirectDoor = typeof door;
serve(door);
