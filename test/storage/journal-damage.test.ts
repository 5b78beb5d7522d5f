import { describe, expect, test } from 'vitest';
import { isFault } from '../../src/std/errors.ts';
import type { SpaceName } from '../../src/storage/environment.ts';
import { type JournalParts, openJournalParts } from '../support/journal-parts.ts';
import { folderOfThisTest } from '../support/storage.ts';

const NAME = 'ordered';
const ENTRIES = 60;

async function storeWith(
  space: SpaceName,
): Promise<{ readonly directory: string; readonly parts: JournalParts }> {
  const directory = await folderOfThisTest();
  const parts = openJournalParts(directory);
  const journals = parts.journals<string>(NAME);
  const values = Array.from({ length: ENTRIES }, (_, index) => `event ${index}`);
  await Promise.all(values.map((value, index) => journals.append('a', index + 1, [value])));
  if (space === 'log') return { directory, parts };
  await journals.seal('a');
  await parts.compaction.work();
  return { directory, parts };
}

/** The only record of a space that holds entries. */
function recordIn(parts: JournalParts, space: SpaceName): { readonly key: Buffer; readonly value: Buffer } {
  const range = { lower: Buffer.alloc(8, 0).fill(1, 3, 4), upper: Buffer.alloc(9, 0xff) };
  const [record] = [...parts.environment.scan(space, range, { fresh: true })];
  if (record === undefined) throw new Error('there is no record');
  return { key: record.key, value: Buffer.from(record.value) };
}

async function replace(parts: JournalParts, space: SpaceName, key: Buffer, value: Buffer): Promise<void> {
  await parts.environment.commit({
    unconditional: [{ space, key, value }],
    conditions: new Map(),
    conditional: [],
    notes: new Map(),
  });
}

/** What reading the journal comes to on a thread that has not looked at it before. */
function outcome(directory: string): {
  readonly code?: string;
  readonly entries?: number;
  readonly bug?: unknown;
} {
  const parts = openJournalParts(directory);
  try {
    return { entries: parts.journals<string>(NAME).read('a', 0).length };
  } catch (error) {
    return isFault(error) ? { code: error.code } : { bug: error };
  }
}

describe.each(['log', 'journals'] as const)('a record in %s', (space) => {
  test('that is cut short anywhere is a declared fault', async () => {
    const { directory, parts } = await storeWith(space);
    const { key, value } = recordIn(parts, space);
    const step = Math.ceil(value.length / 40);
    for (let length = 0; length < value.length; length += step) {
      await replace(parts, space, key, value.subarray(0, length));
      const { code, bug } = outcome(directory);
      expect(bug).toBeUndefined();
      // A page of which nothing is left is a page that is not there.
      if (length > 0) expect(code).toBe('storage_damaged');
    }
    await replace(parts, space, key, value);
    expect(outcome(directory)).toEqual({ entries: ENTRIES });
  });

  test('with a wrong byte anywhere is read as something, or is a declared fault', async () => {
    const { directory, parts } = await storeWith(space);
    const { key, value } = recordIn(parts, space);
    const step = Math.ceil(value.length / 60);
    for (let at = 0; at < value.length; at += step) {
      const wrong = Buffer.from(value);
      wrong.writeUInt8(wrong.readUInt8(at) ^ 0xff, at);
      await replace(parts, space, key, wrong);
      const { code, bug } = outcome(directory);
      expect(bug).toBeUndefined();
      if (code !== undefined) expect(code).toBe('storage_damaged');
    }
  });
});
