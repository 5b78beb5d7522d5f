// Entry point of the readers' own process (see reader-process.ts).

import { EventSocket } from './event-socket.ts';
import type { Due, Finish, ReaderQuestions, ReadersOrder } from './reader-process.ts';

/** Looking at the clock for every event of every reader would be a good part of their work. */
const SAMPLED_EVERY = 50;
/** Connecting at once: fewer than a listening socket queues. */
const CONNECTING_MAX = 256;

type Handlers = {
  readonly [Name in keyof ReaderQuestions]: (
    ...order: Parameters<ReaderQuestions[Name]>
  ) => Promise<ReturnType<ReaderQuestions[Name]>>;
};

/** Readers that are counted together. */
class Group {
  readonly sockets: EventSocket[] = [];
  readonly #ends: Promise<void>[] = [];
  #due: Due | null = null;
  #latenessMs: number[] = [];
  #countBefore = 0;

  /** Resolves when it has read its first event. */
  add({ port, runId }: ReadersOrder, isStopped: boolean): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const isSampled = this.sockets.length % SAMPLED_EVERY === 0;
    const onEvent = (seq: number): void => {
      if (seq === 1) begun.resolve();
      if (isSampled) this.#noteLateness(seq);
    };
    this.sockets.push(
      new EventSocket({
        port,
        runId,
        isStopped,
        onEvent,
        onEnd: () => {
          begun.resolve();
          ended.resolve();
        },
      }),
    );
    this.#ends.push(ended.promise);
    return begun.promise;
  }

  expect(due: Due): void {
    this.#due = due;
    this.#latenessMs = [];
    this.#countBefore = this.#count();
  }

  async finish(): Promise<Finish> {
    await Promise.all(this.#ends);
    const { user, system } = process.cpuUsage();
    return {
      eventCount: this.#count() - this.#countBefore,
      endedAtMs: Date.now(),
      lastSeqLowest: lowestSeq(this.sockets),
      flaws: flawsOf(this.sockets),
      latenessMs: this.#latenessMs.sort((a, b) => a - b),
      cpuSeconds: (user + system) / 1e6,
    };
  }

  #count(): number {
    return this.sockets.reduce((all, { seq }) => all + seq, 0);
  }

  #noteLateness(seq: number): void {
    if (this.#due === null || seq < this.#due.firstSeq) return;
    const dueAtMs = this.#due.firstAtMs + (seq - this.#due.firstSeq) * this.#due.everyMs;
    this.#latenessMs.push(Date.now() - dueAtMs);
  }
}

function lowestSeq(sockets: readonly EventSocket[]): number {
  return sockets.reduce((lowest, { seq }) => Math.min(lowest, seq), Number.POSITIVE_INFINITY);
}

function flawsOf(sockets: readonly EventSocket[]): string[] {
  return [...new Set(sockets.flatMap(({ flaw }) => flaw ?? []))].slice(0, 5);
}

let reading = new Group();
let stopped = new Group();

const handlers: Handlers = {
  async attach(order) {
    for (let begun = 0; begun < order.count; begun += CONNECTING_MAX) {
      const width = Math.min(CONNECTING_MAX, order.count - begun);
      await Promise.all(Array.from({ length: width }, () => reading.add(order, false)));
    }
    return reading.sockets.reduce((highest, { seq }) => Math.max(highest, seq), 0);
  },
  async attachStopped(order) {
    for (let i = 0; i < order.count; i += 1) void stopped.add(order, true);
  },
  async expect(due) {
    reading.expect(due);
  },
  async finish() {
    const finish = await reading.finish();
    reading = new Group();
    return finish;
  },
  async finishStopped() {
    for (const socket of stopped.sockets) socket.resume();
    const finish = await stopped.finish();
    stopped = new Group();
    return finish;
  },
  async replay({ port, runId, rounds }) {
    const sockets: EventSocket[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await new Promise<void>((onEnd) => sockets.push(new EventSocket({ port, runId, onEnd })));
    }
    return {
      firstByteMs: sockets.map(({ firstByteMs }) => firstByteMs),
      wholeMs: sockets.map(({ endMs }) => endMs),
      lastSeqLowest: lowestSeq(sockets),
      flaws: flawsOf(sockets),
    };
  },
};

process.on('message', ([name, ...order]: [keyof Handlers, ...never[]]) => {
  void (handlers[name] as (...given: never[]) => Promise<unknown>)(...order).then((answer) =>
    process.send?.({ answer }),
  );
});
// Whoever asked is gone.
process.on('disconnect', () => process.exit());
