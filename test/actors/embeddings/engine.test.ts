import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { embeddings } from '../../../src/actors/embeddings/protocol.ts';
import { bertGraph, SMALL_BERT, writeBertFolder } from '../../support/bert-model.ts';
import { eventually } from '../../support/eventually.ts';
import { tampered } from '../../support/tampered-storage.ts';
import { cosine, openEmbeddings, PATIENT_MS } from './embeddings-system.ts';

const LEXICAL = { provider: 'local', model: 'troupe-lexical-v1', dimensions: 384 };
const SMALL = { provider: 'local', model: 'small-bert', dimensions: 16 };

async function openWithFolder() {
  const opened = await openEmbeddings();
  const folder = await writeBertFolder(join(opened.directory, 'small-bert'), SMALL_BERT);
  return { ...opened, folder };
}

describe('the engine is locked', () => {
  test('to the built-in one at the first start, without a thread', async () => {
    const { status, threads } = await openEmbeddings();
    expect(await status()).toEqual({
      current: { ...LEXICAL, id: expect.stringMatching(/^local:troupe-lexical-v1:384:[0-9a-f]{12}$/) },
      next: null,
      state: 'ready',
      error: null,
      progress: null,
    });
    expect(await threads()).toBe(0);
  });

  test('another one in the settings is the next, and both answer until its vectors are there', async () => {
    const { configure, until, embed, system, folder, restart, status } = await openWithFolder();
    const before = (await embed(['river']))[0] as Float32Array;
    await configure({ embeddings: { model_dir: folder } });
    const { current, next } = await until((now) => now.next !== null);
    expect([current, next]).toMatchObject([LEXICAL, SMALL]);
    // A search goes on with the old vectors, and whoever makes the new ones asks for them by name.
    expect(cosine((await embed(['river']))[0] as Float32Array, before)).toBeCloseTo(1, 5);
    expect((await embed(['river'], { engine: next?.id as string }))[0]).toHaveLength(16);

    const ref = system.named(embeddings);
    ref.tell('progressed', { engine: next?.id as string, done: 3, total: 10 });
    await expect.poll(async () => (await status()).progress).toEqual({ done: 3, total: 10 });
    const refused = ref.ask('switched', { engine: 'another' });
    await expect(refused).rejects.toMatchObject({ code: 'engine_unknown' });
    expect(await ref.ask('switched', { engine: next?.id as string })).toMatchObject({
      current: SMALL,
      next: null,
      progress: null,
    });
    // Said twice, because the answer was lost.
    expect(await ref.ask('switched', { engine: next?.id as string })).toMatchObject({ current: SMALL });
    await expect(embed(['river'], { engine: current?.id as string })).rejects.toMatchObject({
      code: 'engine_unknown',
    });
    expect((await embed(['river']))[0]).toHaveLength(16);

    const again = await restart();
    expect(await again.status()).toMatchObject({ current: SMALL, next: null, state: 'ready' });
    expect(await again.threads()).toBe(0);
    expect((await again.embed(['river']))[0]).toHaveLength(16);
  });

  test('and stays what it was when the settings turn back', async () => {
    const { configure, until, folder, restart } = await openWithFolder();
    await configure({ embeddings: { model_dir: folder } });
    await until(({ next }) => next !== null);
    // A restart in between loses nothing.
    const again = await restart();
    expect(await again.status()).toMatchObject({ current: LEXICAL, next: SMALL });
    await again.configure({ embeddings: { model_dir: null } });
    expect(await again.until(({ next }) => next === null)).toMatchObject({ current: LEXICAL, error: null });
  });
});

test(
  'what the settings name while another engine is switched to is not forgotten',
  async () => {
    const isTime = Promise.withResolvers<void>();
    const came = Promise.withResolvers<void>();
    let isHeld = false;
    const storage = tampered({
      async write() {
        if (!isHeld) return;
        came.resolve();
        await isTime.promise;
      },
    });
    const { configure, until, system, directory, status } = await openEmbeddings({ storage });
    const [second, third] = [
      await writeBertFolder(join(directory, 'second'), SMALL_BERT),
      await writeBertFolder(join(directory, 'third'), { ...SMALL_BERT, seed: 99 }),
    ];
    await configure({ embeddings: { model_dir: second } });
    const { next } = await until((now) => now.next?.model === 'second');
    await configure({ embeddings: { model_dir: third } });
    isHeld = true;
    await came.promise;
    const ref = system.named(embeddings);
    const switched = ref.ask('switched', { engine: next?.id as string }).catch(({ code }) => code);
    await ref.ask('engine', {}); // An answer means that what was asked before has arrived.
    isTime.resolve();
    await switched;
    await eventually(async () => (await status()).next?.model).toBe('third');
  },
  2 * PATIENT_MS,
);

describe(
  'what cannot be opened',
  () => {
    test('is told, and the old engine goes on', async () => {
      const { configure, until, embed, directory } = await openEmbeddings();
      await configure({ embeddings: { model_dir: join(directory, 'nowhere') } });
      const { current, state, error } = await until((status) => status.error !== null);
      expect([current, state, error]).toMatchObject([
        LEXICAL,
        'ready',
        'the folder of the model is not there',
      ]);
      expect((await embed(['river']))[0]).toHaveLength(384);
      // As soon as it is there, and the settings are touched, it is found.
      await writeBertFolder(join(directory, 'nowhere'), SMALL_BERT);
      await configure({ embeddings: { threads: 1 } });
      expect(await until(({ next }) => next !== null)).toMatchObject({
        next: { model: 'nowhere' },
        error: null,
      });
    });

    test('at a first start leaves no engine, rather than another one than was asked for', async () => {
      const { status, embed } = await openEmbeddings({ settings: { embeddings: { model_dir: '/nowhere' } } });
      expect(await status()).toMatchObject({
        current: null,
        state: 'unavailable',
        error: 'the folder of the model is not there',
      });
      await expect(embed(['river'])).rejects.toMatchObject({
        code: 'engine_unavailable',
        retryable: true,
        message: 'the folder of the model is not there',
      });
    });

    test('a folder that is gone is told from the start on, and found again when it is back', async () => {
      const first = await openWithFolder();
      await first.configure({ embeddings: { model_dir: first.folder } });
      const { next } = await first.until((now) => now.next !== null);
      await first.system.named(embeddings).ask('switched', { engine: next?.id as string });
      await rename(first.folder, `${first.folder}-gone`);
      const again = await first.restart();
      await again.until(({ state }) => state === 'unavailable');
      await expect(again.embed(['river'])).rejects.toMatchObject({ code: 'engine_unavailable' });
      await rename(`${first.folder}-gone`, first.folder);
      expect((await again.embed(['river']))[0]).toHaveLength(16);
      expect(await again.status()).toMatchObject({ current: SMALL, state: 'ready', error: null });
    });

    test('a folder with other files is another engine: old vectors are never mixed with new ones', async () => {
      const { configure, until, folder, embed, system, restart } = await openWithFolder();
      await configure({ embeddings: { model_dir: folder } });
      const { next } = await until((now) => now.next !== null);
      await system.named(embeddings).ask('switched', { engine: next?.id as string });
      await embed(['river']);
      const again = await restart();
      await rm(join(folder, 'onnx'), { recursive: true });
      await mkdir(join(folder, 'onnx'));
      await writeFile(join(folder, 'onnx', 'model.onnx'), bertGraph({ ...SMALL_BERT, seed: 99 }));
      await expect(again.embed(['water'])).rejects.toMatchObject({ code: 'engine_unavailable' });
      const changed = await again.until((now) => now.next !== null);
      expect(changed).toMatchObject({ current: { id: next?.id }, next: SMALL, state: 'unavailable' });
      expect((await again.embed(['water'], { engine: changed.next?.id as string }))[0]).toHaveLength(16);
    });
  },
  2 * PATIENT_MS,
);
