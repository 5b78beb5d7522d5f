// A process that appends to journals for good, half of them from a second thread, seals them now and then, and lets long ones
// expire and begin again. Prints each acknowledged number, and 0 before a journal expires. To be killed in the midst of it.
// Parameters: the data folder, and the number of journals.

import { isMainThread, Worker } from 'node:worker_threads';
import { openStorage } from '../../src/storage/storage.ts';

const SEALED_EVERY = 60;
const EXPIRED_ABOVE = 1_000;

const [, , directory = '', journalCount = '1'] = process.argv;
const storage = await openStorage({ directory, primary: isMainThread });
const journals = storage.journals<{ readonly seq: number; readonly text: string }>('runs');
if (isMainThread) new Worker(new URL(import.meta.url), { argv: [directory, journalCount] });

const half = Number(journalCount) / 2;
await Promise.all(
  Array.from({ length: half }, async (_, index) => {
    const id = `run-${isMainThread ? index : half + index}`;
    for (let seq = journals.lastSeq(id), sealedSeq = seq; ; ) {
      const batch = Array.from({ length: 1 + (seq % 4) }, (_, offset) => {
        return { seq: seq + 1 + offset, text: 'x'.repeat(100) };
      });
      await journals.append(id, seq + 1, batch);
      seq += batch.length;
      process.stdout.write(`${id} ${seq}\n`);
      if (seq > sealedSeq + SEALED_EVERY) {
        await journals.seal(id);
        sealedSeq = seq;
      }
      // What another thread prints comes out later than it says.
      if (isMainThread && seq > EXPIRED_ABOVE) {
        process.stdout.write(`${id} 0\n`);
        await journals.expire(id);
        seq = 0;
        sealedSeq = 0;
      }
    }
  }),
);
