// A process that fills the disk it is given, then frees some of it, and says how its storage fared, as one JSON line.

import { isFault } from '../../src/std/errors.ts';
import { openStorage } from '../../src/storage/storage.ts';

const [, , directory = ''] = process.argv;
const storage = await openStorage({ directory, primary: true });
const rows = storage.table<string>({ name: 'rows' });
const journals = storage.journals<string>('journals');
const text = 'x'.repeat(50_000);

const fill = async (id: number): Promise<string> => {
  const outcomes = await Promise.allSettled([
    storage.write('flushed', (tx) => {
      for (let row = 0; row < 4; row += 1) tx.put(rows, [id, row], text);
    }),
    journals.append('journal', id + 1, [text]),
  ]);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure === undefined) return 'done';
  return isFault(failure.reason)
    ? `${failure.reason.code} ${failure.reason.retryable}`
    : String(failure.reason);
};

let written = 0;
let failure = 'done';
while (failure === 'done') {
  failure = await fill(written);
  if (failure === 'done') written += 1;
}
const again = await fill(written);
const rowsWhenFull = rows.count();
const seqWhenFull = journals.lastSeq('journal');
const readable = rows.get([written - 1, 3]) === text;

await storage.write('flushed', (tx) => {
  for (const { key } of tx.range(rows, { limit: 24 })) tx.remove(rows, key);
});
// The engine gives room back two commits after it was freed.
await storage.write('flushed', (tx) => tx.put(rows, 'small', ''));
await storage.write('flushed', (tx) => tx.remove(rows, 'small'));
const afterwards = await fill(written);
const report = { written, failure, again, rowsWhenFull, seqWhenFull, readable, afterwards };
console.log(JSON.stringify({ ...report, rows: rows.count(), seq: journals.lastSeq('journal') }));
await storage.close();
