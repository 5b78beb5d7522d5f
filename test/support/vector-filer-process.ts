// A process that files passages with vectors for good, settles their index meanwhile and keeps snapshot after snapshot of it. It
// prints the number of passages that are acknowledged. To be killed at any moment.

import { openStorage } from '../../src/storage/storage.ts';
import { VectorRoom } from '../../src/storage/vector-room.ts';
import { FILED_ENGINE, FILED_IN, filedVector } from './filed-vectors.ts';

const PER_COMMIT = 25;

const [directory = ''] = process.argv.slice(2);
const storage = await openStorage({ directory, primary: true });
const passages = storage.passages(FILED_IN);
const index = passages.openIndex(FILED_ENGINE, {
  room: new VectorRoom(64 * 1024 * 1024),
  graphVectorsMin: 20,
  prefersGraph: true,
  snapshotChangesMin: 20,
});
for (let count = passages.count(); ; count += PER_COMMIT) {
  await storage.write('committed', (tx) => {
    for (let n = count; n < count + PER_COMMIT; n += 1) {
      const embedding = { engine: FILED_ENGINE, vector: filedVector(n) };
      tx.putPassage(passages, { id: `p${n}`, owner: 'ada', text: `number ${n}`, embedding });
    }
  });
  console.log(count + PER_COMMIT);
  while (await index.work());
}
