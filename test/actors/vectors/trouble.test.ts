// What the actors of passages do when one of them crashes, when too much comes, and when nobody waits any more.

import { expect, test } from 'vitest';
import {
  DOCUMENTS,
  type NewPassage,
  PASSAGES_MAX,
  passageIndex,
} from '../../../src/actors/vectors/protocol.ts';
import { eventually } from '../../support/eventually.ts';
import { openVectors } from '../../support/vectors.ts';

const collection = DOCUMENTS;
const named = (prefix: string, count: number): NewPassage[] =>
  Array.from({ length: count }, (_, n) => ({ id: `${prefix}#${n}`, owner: 'ada', text: '' }));

test('after a crash of the index everything that was acknowledged is found by its successor', async () => {
  const { vectors, system } = await openVectors();
  const embedding = { engine: 'test-1', vector: Float32Array.of(0.6, 0.8) };
  await vectors.ask('put', { collection, passages: [{ id: 'one', owner: 'ada', text: 'cats', embedding }] });
  const bug = { collection, passages: null as unknown as NewPassage[] };
  await expect(system.named(passageIndex).ask('put', bug)).rejects.toThrow();
  const search = async (): Promise<string[]> => {
    const { hits } = await vectors.ask('search', { collections: [collection], ...embedding, k: 3 });
    return hits.map(({ id }) => id);
  };
  await eventually(() => search().catch(() => [])).toEqual(['one']);
});

test('what is more than may wait is asked to come again, and what nobody waits for is filed no further', async () => {
  const { vectors, storage, system } = await openVectors();
  await vectors.ask('put', { collection, passages: named('first', 1) });
  const abort = new AbortController();
  const big = ['a', 'b'].map((prefix) =>
    vectors.ask('put', { collection, passages: named(prefix, PASSAGES_MAX) }, { signal: abort.signal }),
  );
  const settled = Promise.allSettled(big);
  await expect(vectors.ask('put', { collection, passages: named('c', 1) })).rejects.toMatchObject({
    code: 'vectors_full',
    retryable: true,
  });
  abort.abort();
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const waiting = async (): Promise<unknown> => {
    const state = (await system.introspection.getState('vectors')) as { readonly passagesWaiting: number };
    return state.passagesWaiting;
  };
  await eventually(waiting).toBe(0);
  await eventually(() => vectors.ask('put', { collection, passages: named('d', 1) })).toEqual({});
  expect(storage.passages(collection).count()).toBeLessThan(2 * PASSAGES_MAX);
}, 60_000);

test('the state of the indexes can be looked at from outside', async () => {
  const { vectors, system } = await openVectors();
  const embedding = { engine: 'test-1', vector: Float32Array.of(0.6, 0.8) };
  await vectors.ask('put', { collection, passages: [{ id: 'one', owner: 'ada', text: 'cats', embedding }] });
  const state = () => system.introspection.getState('vectors/index');
  await eventually(state).toMatchObject({
    memoryBytesMax: 1024 ** 3,
    indexes: [{ collection, engine: 'test-1', vectors: 1, inMemory: 1, isFull: false }],
  });
});

test('nothing is started, and no thread, before the first passage', async () => {
  const { system } = await openVectors();
  expect(system.threads().map(({ name }) => name)).not.toContain('vectors');
});
