// A process that appends to journals for good and prints each acknowledged number, to be killed in the midst of it.
// Parameters: the data folder, and the number of journals.

import { openStorage } from '../../src/storage/storage.ts';

const [, , directory = '', journalCount = '1'] = process.argv;
const storage = await openStorage({ directory, primary: true });
const journals = storage.journals<{ readonly seq: number; readonly text: string }>('runs');

await Promise.all(
  Array.from({ length: Number(journalCount) }, async (_, index) => {
    const id = `run-${index}`;
    for (let seq = journals.lastSeq(id); ; ) {
      const batch = Array.from({ length: 1 + (seq % 4) }, (_, offset) => {
        return { seq: seq + 1 + offset, text: 'x'.repeat(100) };
      });
      await journals.append(id, seq + 1, batch);
      seq += batch.length;
      process.stdout.write(`${id} ${seq}\n`);
    }
  }),
);
