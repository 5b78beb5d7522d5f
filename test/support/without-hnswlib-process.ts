// A process on a machine where hnswlib-node could not be compiled: files vectors, settles their index, and prints what it says of
// itself and whether it finds each of them.

import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith('hnswlib-node')) throw new Error(`Cannot find package '${specifier}'`);
    return next(specifier, context);
  },
});
const { openStorage } = await import('../../src/storage/storage.ts');
const { VectorRoom } = await import('../../src/storage/vector-room.ts');
const { FILED_ENGINE, FILED_IN, filedVector } = await import('./filed-vectors.ts');

const COUNT = 100;

const [directory = ''] = process.argv.slice(2);
const storage = await openStorage({ directory, primary: true });
const passages = storage.passages(FILED_IN);
await storage.write('committed', (tx) => {
  for (let n = 0; n < COUNT; n += 1) {
    const embedding = { engine: FILED_ENGINE, vector: filedVector(n) };
    tx.putPassage(passages, { id: `p${n}`, owner: 'ada', text: '', embedding });
  }
});
const index = passages.openIndex(FILED_ENGINE, { room: new VectorRoom(1024 ** 2), graphVectorsMin: 20 });
while (await index.work());
const found = Array.from(
  { length: COUNT },
  (_, n) => index.search({ vector: filedVector(n), limit: 1 })[0]?.id,
);
const areFound = found.every((id, n) => id === `p${n}`);
console.log(JSON.stringify({ ...index.statistics(), areFound }));
await index.close();
await storage.close();
