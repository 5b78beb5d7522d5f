// A process that fills the disk it is given with journals, lets the older half of them expire, and says how it went on from there,
// as one JSON line.

import { isFault } from '../../src/std/errors.ts';
import { openStorage } from '../../src/storage/storage.ts';

const [, , directory = ''] = process.argv;
const storage = await openStorage({ directory, primary: true });
const journals = storage.journals<string>('journals');
const text = 'x'.repeat(20_000);

const append = async (id: string): Promise<string> => {
  try {
    await journals.append(id, 1, [text]);
    return 'done';
  } catch (error) {
    return isFault(error) ? error.code : String(error);
  }
};

const written: string[] = [];
let failure = 'done';
while (failure === 'done') {
  const id = `journal ${String(written.length).padStart(4, '0')}`;
  failure = await append(id);
  if (failure === 'done') written.push(id);
}
const expired = written.slice(0, written.length / 2);
for (const id of expired) await journals.expire(id);
// Their pages leave in the background. What says that they are gone lies behind those that stay.
while (storage.statistics().journalPages > written.length) await new Promise(setImmediate);
// The engine gives room back two commits after it was freed.
const rows = storage.table<string>({ name: 'rows' });
await storage.write('flushed', (tx) => tx.put(rows, 'small', ''));
await storage.write('flushed', (tx) => tx.remove(rows, 'small'));
let afterwards = 'none';
while (afterwards !== 'done') afterwards = await append('afterwards');

const ids = [...journals.ids()];
const isWhole = ids.every((id) => journals.lastSeq(id) === 1 && journals.read(id, 0)[0]?.value === text);
const left = ids.length - 1;
console.log(JSON.stringify({ written: written.length, expired: expired.length, failure, left, isWhole }));
await storage.close();
