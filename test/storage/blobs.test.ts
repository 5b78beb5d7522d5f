// Blobs: what their references promise, and what a crash or a refusal leaves.

import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Blobs, PlacedBlob, Storage } from '../../src/storage/contract.ts';
import { storageOfThisTest } from '../support/storage.ts';
import { blobFiles } from '../support/uploads.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

async function place(blobs: Blobs, ...pieces: readonly string[]): Promise<PlacedBlob> {
  const draft = await blobs.draft();
  for (const piece of pieces) await draft.write(Buffer.from(piece));
  return draft.place();
}

/** Placed and referred to once. */
async function keep(storage: Storage, text: string): Promise<string> {
  const placed = await place(storage.blobs, text);
  await storage.write('flushed', (tx) => storage.blobs.retain(tx, placed));
  placed.letGo();
  return placed.sha256;
}

const release = (storage: Storage, hash: string) =>
  storage.write('flushed', (tx) => storage.blobs.release(tx, hash));

async function read(blobs: Blobs, hash: string, first?: number, last?: number): Promise<string> {
  const blob = await blobs.open(hash);
  const pieces: Uint8Array[] = [];
  for await (const piece of blob.read(first, last)) pieces.push(piece);
  await blob.close();
  return Buffer.concat(pieces).toString();
}

test('what comes in pieces is found whole under its hash', async () => {
  const { storage, directory } = await storageOfThisTest();
  const placed = await place(storage.blobs, 'one ', 'two ', 'three');
  expect(placed).toMatchObject({ sha256: sha256('one two three'), sizeBytes: 13 });
  expect(await read(storage.blobs, placed.sha256)).toBe('one two three');
  expect(await read(storage.blobs, placed.sha256, 4, 6)).toBe('two');
  expect(await readFile(storage.blobs.pathOf(placed.sha256), 'utf8')).toBe('one two three');
  expect(await blobFiles(directory)).toEqual({ blobs: [placed.sha256], drafts: [] });
});

test('a draft that is discarded leaves nothing, and nothing can be written to it', async () => {
  const { storage, directory } = await storageOfThisTest();
  const draft = await storage.blobs.draft();
  await draft.write(Buffer.from('half'));
  expect((await blobFiles(directory)).drafts).toHaveLength(1);
  await Promise.all([draft.discard(), draft.discard()]);
  expect(() => draft.write(Buffer.from('more'))).toThrow(/ended/);
  expect(await blobFiles(directory)).toEqual({ blobs: [], drafts: [] });
});

test('equal bytes are one file, which goes with its last reference', async () => {
  const { storage, directory } = await storageOfThisTest();
  const hash = await keep(storage, 'shared');
  expect(await keep(storage, 'shared')).toBe(hash);
  await release(storage, hash);
  await storage.blobs.sweep();
  expect((await blobFiles(directory)).blobs).toEqual([hash]);
  await release(storage, hash);
  expect((await blobFiles(directory)).blobs).toEqual([hash]);
  await storage.blobs.sweep();
  expect((await blobFiles(directory)).blobs).toEqual([]);
  await expect(storage.blobs.open(hash)).rejects.toMatchObject({ code: 'blob_missing' });
});

test('a reference that is not committed is none', async () => {
  const { storage, directory } = await storageOfThisTest();
  const placed = await place(storage.blobs, 'refused');
  const refused = storage.write('flushed', (tx) => {
    storage.blobs.retain(tx, placed);
    throw new Error('no room for it');
  });
  await expect(refused).rejects.toThrow('no room');
  placed.letGo();
  await storage.blobs.sweep();
  expect((await blobFiles(directory)).blobs).toEqual([]);
});

test('what is held is not swept; a sweep takes it once it is let go', async () => {
  const { storage, directory } = await storageOfThisTest();
  const held = await place(storage.blobs, 'held');
  const alsoHeld = await place(storage.blobs, 'held');
  held.letGo();
  held.letGo();
  await storage.blobs.sweep();
  expect((await blobFiles(directory)).blobs).toEqual([held.sha256]);
  alsoHeld.letGo();
  await storage.blobs.sweep();
  expect((await blobFiles(directory)).blobs).toEqual([]);
});

test('bytes that come again while their file is being deleted are there in the end', async () => {
  const { storage } = await storageOfThisTest();
  for (let round = 0; round < 20; round += 1) {
    const text = `again ${round}`;
    const hash = await keep(storage, text);
    await release(storage, hash);
    await Promise.all([storage.blobs.sweep(), keep(storage, text)]);
    expect(await read(storage.blobs, hash)).toBe(text);
  }
});

test('a reader of a blob that is deleted reads on', async () => {
  const { storage } = await storageOfThisTest();
  const hash = await keep(storage, 'being read');
  const blob = await storage.blobs.open(hash);
  await release(storage, hash);
  await storage.blobs.sweep();
  const pieces: Uint8Array[] = [];
  for await (const piece of blob.read()) pieces.push(piece);
  await blob.close();
  expect(Buffer.concat(pieces).toString()).toBe('being read');
});

test('what a crash leaves, at any point of the way, is swept by the next life', async () => {
  const temporary = await storageOfThisTest();
  const { storage, directory } = temporary;
  const kept = await keep(storage, 'kept');
  await writeFile(join(directory, 'blobs', 'drafts', '17'), 'being written');
  await place(storage.blobs, 'placed, and never referred to');
  await release(storage, await keep(storage, 'released, and never deleted'));
  expect((await blobFiles(directory)).blobs).toHaveLength(3);

  const next = await temporary.reopen();
  await next.blobs.sweep();
  expect(await blobFiles(directory)).toEqual({ blobs: [kept], drafts: [] });
  expect(await read(next.blobs, kept)).toBe('kept');
});

test('a storage that is closed takes its drafts with it', async () => {
  const temporary = await storageOfThisTest();
  const draft = await temporary.storage.blobs.draft();
  await draft.write(Buffer.from('being written'));
  await temporary.reopen();
  expect(await blobFiles(temporary.directory)).toEqual({ blobs: [], drafts: [] });
});

test('a file that was lost comes back with the same bytes', async () => {
  const { storage } = await storageOfThisTest();
  const hash = await keep(storage, 'lost');
  await rm(storage.blobs.pathOf(hash));
  await expect(storage.blobs.open(hash)).rejects.toMatchObject({ code: 'blob_missing' });
  await keep(storage, 'lost');
  expect(await read(storage.blobs, hash)).toBe('lost');
});

test('a folder that cannot be written to is a fault, not a crash', async () => {
  const { storage, directory } = await storageOfThisTest();
  await mkdir(join(directory, 'blobs'), { recursive: true });
  await writeFile(join(directory, 'blobs', 'drafts'), 'in the way');
  await expect(storage.blobs.draft()).rejects.toThrow();
});

test(`references follow a model through any sequence of steps and restarts (TEST_SEED=${seed})`, async () => {
  const TEXTS = ['a', 'b', 'c'];
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ does: fc.constant('keep' as const), text: fc.constantFrom(...TEXTS) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ does: fc.constant('release' as const), text: fc.constantFrom(...TEXTS) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ does: fc.constant('placeOnly' as const), text: fc.constantFrom(...TEXTS) }),
    },
    { weight: 2, arbitrary: fc.constant({ does: 'sweep' as const, text: '' }) },
    { weight: 1, arbitrary: fc.constant({ does: 'restart' as const, text: '' }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const temporary = await storageOfThisTest();
      let { storage } = temporary;
      const counts = new Map<string, number>();
      for (const { does, text } of steps) {
        const count = counts.get(text) ?? 0;
        if (does === 'keep') {
          await keep(storage, text);
          counts.set(text, count + 1);
        } else if (does === 'release' && count > 0) {
          await release(storage, sha256(text));
          counts.set(text, count - 1);
        } else if (does === 'placeOnly') (await place(storage.blobs, text)).letGo();
        else if (does === 'sweep') await storage.blobs.sweep();
        else if (does === 'restart') storage = await temporary.reopen();
        for (const [kept, references] of counts) {
          if (references > 0) expect(await read(storage.blobs, sha256(kept))).toBe(kept);
        }
      }
      await storage.blobs.sweep();
      const expected = [...counts].filter(([, references]) => references > 0).map(([text]) => sha256(text));
      const found = await blobFiles(temporary.directory);
      expect({ ...found, blobs: found.blobs.sort() }).toEqual({ blobs: expected.sort(), drafts: [] });
    }),
    { seed, numRuns: 15 },
  );
});
