// A thread that has joined a store and does what it is told, for tests of several threads on one store.

import { parentPort, workerData } from 'node:worker_threads';
import { openStorage } from '../../src/storage/storage.ts';

export type ThreadOrder =
  | { readonly kind: 'increment'; readonly times: number }
  | { readonly kind: 'read'; readonly key: string }
  | { readonly kind: 'index'; readonly prefix: string; readonly documents: number }
  /** Writes and appends without an end, several at once; reports when the first are acknowledged. */
  | { readonly kind: 'write-for-good'; readonly rowsTogether: number }
  /** Begins to write, then keeps its thread busy for good. */
  | { readonly kind: 'write-and-hang' }
  | {
      readonly kind: 'append';
      readonly journal: string;
      readonly firstSeq: number;
      readonly values: unknown[];
    }
  | { readonly kind: 'seal' | 'expire' | 'lastSeq'; readonly journal: string }
  | { readonly kind: 'readJournal'; readonly journal: string; readonly afterSeq: number }
  | { readonly kind: 'close' };

export interface ThreadReport {
  readonly kind: 'joined' | 'done' | 'value';
  readonly value?: unknown;
}

const { directory } = workerData as { readonly directory: string };
const port = parentPort as NonNullable<typeof parentPort>;
const storage = await openStorage({ directory, primary: false });
const values = storage.table<number>({ name: 'values' });
const paired = storage.table<{ readonly round: number; readonly filler: string }>({ name: 'paired' });
const texts = storage.fullText('texts');
/** Of the orders that name a journal. */
const ordered = storage.journals<unknown>('ordered');
const journals = storage.journals<{ readonly seq: number; readonly filler: string }>('journals');

const report = (message: ThreadReport): void => port.postMessage(message);

port.on('message', (order: ThreadOrder) => {
  void obey(order);
});
report({ kind: 'joined' });

async function obey(order: ThreadOrder): Promise<void> {
  switch (order.kind) {
    case 'increment':
      for (let time = 0; time < order.times; time += 1) {
        await storage.write('committed', (tx) =>
          tx.put(values, 'counter', (tx.get(values, 'counter') ?? 0) + 1),
        );
      }
      return report({ kind: 'done' });
    case 'read':
      return report({ kind: 'value', value: values.get(order.key) });
    case 'index':
      for (let number = 0; number < order.documents; number += 1) {
        const id = `${order.prefix}-${number}`;
        await storage.write('committed', (tx) => tx.indexText(texts, { id, text: `shared ${order.prefix}` }));
      }
      return report({ kind: 'done' });
    case 'write-for-good':
      return writeForGood(order.rowsTogether);
    case 'write-and-hang':
      void storage.write('committed', (tx) => tx.put(values, 'hung', 1));
      void journals.append('hung', 1, [{ seq: 1, filler: '' }]);
      // Two turns later the engine has the commit, and this thread is lost to everyone.
      setImmediate(() => setImmediate(hang));
      return report({ kind: 'done' });
    case 'append':
      await ordered.append(order.journal, order.firstSeq, order.values);
      return report({ kind: 'done' });
    case 'seal':
    case 'expire':
      await ordered[order.kind](order.journal);
      return report({ kind: 'done' });
    case 'lastSeq':
      return report({ kind: 'value', value: ordered.lastSeq(order.journal) });
    case 'readJournal':
      return report({ kind: 'value', value: ordered.read(order.journal, order.afterSeq) });
    case 'close':
      await storage.close();
      return report({ kind: 'done' });
  }
}

async function writeForGood(rowsTogether: number): Promise<void> {
  const filler = 'x'.repeat(500);
  let seq = journals.lastSeq('killed');
  for (let round = 1; ; round += 1) {
    const write = storage.write('committed', (tx) => {
      for (let row = 0; row < rowsTogether; row += 1) tx.put(paired, row, { round, filler });
    });
    const append = journals.append('killed', seq + 1, [
      { seq: seq + 1, filler },
      { seq: seq + 2, filler },
    ]);
    await Promise.all([write, append]);
    seq += 2;
    if (round === 1) report({ kind: 'done' });
  }
}

function hang(): never {
  for (;;);
}
