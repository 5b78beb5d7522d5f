// A question that is on its way while another engine is switched to. The engines are played, so that the test says when.

import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { configActor } from '../../../src/actors/config/actor.ts';
import { embeddings } from '../../../src/actors/embeddings/protocol.ts';
import { vectorsActor } from '../../../src/actors/vectors/actor.ts';
import { DOCUMENTS, vectors } from '../../../src/actors/vectors/protocol.ts';
import { actor } from '../../../src/supervisor/actor.ts';
import { child } from '../../../src/supervisor/children.ts';
import { createActorSystem } from '../../../src/supervisor/system.ts';
import { eventually } from '../../support/eventually.ts';
import { storageOfThisTest } from '../../support/storage.ts';

const engineOf = (id: string) => ({ id, provider: 'local', model: id, dimensions: 2 });
const [OLD, NEW] = [engineOf('old'), engineOf('new')];
const ABOUT_CATS = 'felines';

/** Two engines that are of one mind: `cats` means the same as `felines`. The old one makes no question a vector before its time. */
function openEngines() {
  const asked = Promise.withResolvers<void>();
  const isTime = Promise.withResolvers<void>();
  const isNamed = Promise.withResolvers<void>();
  const ready = { state: 'ready', error: null, progress: null } as const;
  let status = { ...ready, current: OLD, next: null as typeof NEW | null };
  const behaviour = actor({
    module: import.meta.url,
    exportName: '(closes over its test)',
    protocol: embeddings,
    setup: () => ({
      create: () => Promise.reject(new Error('nobody asks for it')),
      async embed({ texts, kind, engine = status.current.id }) {
        if (kind === 'query' && engine === OLD.id) {
          asked.resolve();
          await isTime.promise;
        }
        const made = texts.map((text) => Float32Array.of(...(text === 'dogs' ? [0, 1] : [1, 0])));
        return { vectors: made, dimensions: 2, engine, model: engine, tokens: 1 };
      },
      engine: () => status,
      async *engines() {
        yield status;
        await isNamed.promise;
        yield status;
      },
      progressed: () => undefined,
      switched: () => {
        status = { ...status, current: NEW, next: null };
        return status;
      },
    }),
  });
  return {
    behaviour,
    asked: asked.promise,
    goOn: isTime.resolve,
    nameNext() {
      status = { ...status, next: NEW };
      isNamed.resolve();
    },
  };
}

test('a question of which the old engine made a vector is answered by its meaning when the old vectors are gone', async () => {
  const { storage, directory } = await storageOfThisTest();
  const engines = openEngines();
  const keyFile = join(directory, 'settings.key');
  const system = await createActorSystem({
    services: { storage, version: '0.0.0' },
    children: [
      child(configActor, { environment: {}, keyFile, operator: {} }, { id: 'config', name: true }),
      child(engines.behaviour, undefined, { id: 'embeddings', name: true }),
      child(vectorsActor, undefined, { id: 'vectors', name: true }),
    ],
  });
  onTestFinished(() => system.stop());
  const door = system.named(vectors);
  const passages = [ABOUT_CATS, 'dogs'].map((text) => ({ id: text, owner: 'ada', text }));
  await door.ask('put', { collection: DOCUMENTS, passages });
  const made = () =>
    storage
      .passages(DOCUMENTS)
      .engines()
      .map(({ engine, count }) => [engine, count]);
  await eventually(made).toEqual([[OLD.id, 2]]);

  const answer = door.ask('hybrid', { collections: [DOCUMENTS], text: 'cats', k: 1 }, { deadlineMs: 60_000 });
  await engines.asked;
  engines.nameNext();
  await eventually(made).toEqual([[NEW.id, 2]]);
  engines.goOn();
  expect(await answer).toMatchObject({
    hits: [{ id: ABOUT_CATS, words_rank: null, meaning_rank: 1 }],
    by: 'words_and_meaning',
    note: null,
  });
});
