// Parsing for tests: a file with these bytes, read as ingestion reads it.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chunksOf } from '../../src/actors/ingestion/chunks.ts';
import { Outline } from '../../src/actors/ingestion/outline.ts';
import type { Chunk } from '../../src/actors/ingestion/parser-protocol.ts';
import { type DocumentFile, type ReadText, readText } from '../../src/actors/ingestion/reading.ts';
import { isFault } from '../../src/std/errors.ts';
import { folderOfThisTest } from './storage.ts';

export interface ParsedFile {
  readonly text: string;
  readonly chunks: readonly Chunk[];
}

export async function parseFile(filename: string, content: Uint8Array | string): Promise<ParsedFile> {
  const path = join(await folderOfThisTest(), 'file');
  await writeFile(path, content);
  const { text, kind, pageStarts } = await readWhole({ path, filename });
  return { text, chunks: [...chunksOf(text, new Outline(text, kind, pageStarts), pageStarts)] };
}

async function readWhole(file: DocumentFile): Promise<ReadText> {
  const reading = readText(file, new AbortController().signal);
  for (;;) {
    const step = await reading.next();
    if (step.done === true) return step.value;
  }
}

/** The code of the fault with which it ends. */
export function refusal(parsing: Promise<unknown>): Promise<string> {
  return parsing.then(
    () => 'it was read',
    (error: unknown) => (isFault(error) ? error.code : `a bug: ${String(error)}`),
  );
}
