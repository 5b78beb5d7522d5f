// CrossThreadTell: how many small messages a second reach their handler on another thread. Bursts stay below what the
// mailbox over there holds, and are counted over there before the next begins.

import { Packr } from 'msgpackr';
import {
  amount,
  type Contest,
  type Contestant,
  expectCount,
  loopTurn,
  type Readings,
  rate,
  type Size,
} from './harness.ts';
import { type Comedy, peer } from './peers.ts';
import { openRawThread } from './raw-thread.ts';
import { type Tick, tick } from './subjects.ts';
import { openThreadedSystem } from './threaded-system.ts';

const BURST = 50_000;
const BURSTS = 10;
/** In a tenth of the others' messages: it would take as long as all of them together. */
const COMEDY_BURST = 5_000;
const PACKED = 64;

export function question(size: Size): Contest[] {
  return [
    {
      rows: [
        {
          key: 'rate',
          what: 'cross-thread tell, small object',
          unit: 'M/s',
          moreIsBetter: true,
          target: 2.5,
          ratios: [{ to: 'one postMessage each', target: 3.4 }, { to: 'msgpackr × 64' }, { to: 'comedy' }],
        },
      ],
      contestants: [
        troupe(size),
        postMessages(size),
        packedBatches(size),
        ...peer('comedy', (comedy) => comedyActor(comedy, size)),
      ],
    },
  ];
}

/** `taken` answers how many the other thread has handled since it was last asked. */
async function flood(
  size: Size,
  burst: number,
  send: (message: Tick) => void,
  taken: () => Promise<number>,
): Promise<Readings> {
  const bursts = amount(BURSTS, size);
  const perSecond = await rate(bursts * burst, 1e6, async () => {
    for (let done = 0; done < bursts; done += 1) {
      for (let id = 0; id < burst; id += 1) send(tick(id));
      for (let handled = 0; handled < burst; ) {
        handled += await taken();
        // Only comedy answers before it has handled what was sent earlier.
        if (handled < burst) await loopTurn();
        if (handled > burst) expectCount('handled', handled, burst);
      }
    }
  });
  return { rate: perSecond };
}

function troupe(size: Size): Contestant {
  return {
    name: 'Troupe',
    open: async () => {
      const { system, ref } = await openThreadedSystem();
      const send = (message: Tick): void => {
        if (!ref.tell('add', message)) throw new Error('a message was refused');
      };
      return {
        measure: () => flood(size, BURST, send, () => ref.ask('taken', null)),
        close: () => system.stop(),
      };
    },
  };
}

function postMessages(size: Size): Contestant {
  return {
    name: 'one postMessage each',
    open: async () => {
      const { post, ask, close } = await openRawThread();
      return { measure: () => flood(size, BURST, post, () => ask({ kind: 'taken' })), close };
    },
  };
}

function packedBatches(size: Size): Contestant {
  return {
    name: `msgpackr × ${PACKED}`,
    open: async () => {
      const { post, ask, close } = await openRawThread();
      const packr = new Packr();
      let batch: Tick[] = [];
      const flush = (): void => {
        if (batch.length === 0) return;
        // A copy: the packer goes on using its own buffer.
        post(new Uint8Array(packr.pack(batch)));
        batch = [];
      };
      const send = (message: Tick): void => {
        batch.push(message);
        if (batch.length === PACKED) flush();
      };
      const taken = (): Promise<number> => {
        flush();
        return ask({ kind: 'taken' });
      };
      return { measure: () => flood(size, BURST, send, taken), close };
    },
  };
}

/** Sent to its thread as source text, so it must stand alone. */
class ComedyCounter {
  count = 0;
  add(): void {
    this.count += 1;
  }
  taken(): number {
    const { count } = this;
    this.count = 0;
    return count;
  }
}

function comedyActor(comedy: Comedy, size: Size): Contestant {
  return {
    name: 'comedy',
    open: async () => {
      const system = comedy.createSystem({ test: true });
      const root = await system.rootActor();
      const ref = await root.createChild(ComedyCounter, { mode: 'threaded' });
      const send = (message: Tick): void => void ref.send('add', message);
      return {
        measure: () => flood(size, COMEDY_BURST, send, async () => await ref.sendAndReceive<number>('taken')),
        close: async () => await system.destroy(),
      };
    },
  };
}
