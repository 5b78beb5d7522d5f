// Crowd: those who start runs and read them. Some stay from the first event to the last; the others leave once their run is
// accepted, and it is read when all is over, so that every event of every run is looked at by somebody.

import type { Wish } from './model-double.ts';
import { Reading } from './reading.ts';
import { type Spread, SpreadMeter } from './spread.ts';
import { machineUs } from './token.ts';

export interface CrowdOptions {
  readonly url: URL;
  readonly model: string;
}

export interface Latencies {
  /** From the request to the answer that names the run; the connection is part of it. */
  readonly accept: Spread;
  /** From there to the first event that is stored. */
  readonly firstEvent: Spread;
}

export interface Beginning extends Latencies {
  /** How many were started a second; fewer than asked for when the service could not keep up. */
  readonly perSecond: number;
}

export interface Replays {
  readonly firstByte: Spread;
  readonly whole: Spread;
}

export interface Verdict {
  readonly runs: number;
  readonly events: number;
  /** Runs that were not whole. */
  readonly flawed: number;
  /** The first of them, with what was wrong. */
  readonly flaws: readonly string[];
}

const PACE_MS = 5;
/** Starts that are not accepted yet; beyond it nobody else comes, so that a slow service is measured and not flooded. */
const WAITING_MAX = 256;
const REPLAYED_AT_ONCE = 16;
const FLAWS_NAMED_MAX = 10;
const STEADY: Wish = { tokens: null, perSecond: 0 };

export class Crowd {
  readonly #url: URL;
  readonly #model: string;
  readonly #staying: Reading[] = [];
  readonly #unread: string[] = [];
  readonly #lag = new SpreadMeter();
  readonly #onTokens = (sentUs: number): void => this.#lag.addMs((machineUs() - sentUs) / 1000);

  constructor({ url, model }: CrowdOptions) {
    this.#url = url;
    this.#model = model;
  }

  /** Starts `runs` of the common rate, `readers` of which keep their reader. @throws when one is not accepted */
  async begin(runs: number, readers: number, perSecond: number): Promise<Beginning> {
    const accept = new SpreadMeter();
    const firstEvent = new SpreadMeter();
    const begun: Promise<void>[] = [];
    const startedMs = performance.now();
    let waiting = 0;
    const start = (i: number): void => {
      const stays = Math.floor(((i + 1) * readers) / runs) > Math.floor((i * readers) / runs);
      const reading = this.#start(STEADY, { leaves: !stays, onTokens: this.#onTokens });
      waiting += 1;
      const accepted = reading.accepted.then(() => {
        waiting -= 1;
        accept.addMs(reading.times.acceptedMs);
        if (!stays) this.#unread.push(reading.runId);
      });
      accepted.catch(() => undefined); // Told below.
      begun.push(accepted);
      if (stays) this.#staying.push(reading);
    };
    await paced(runs, perSecond, start, () => waiting < WAITING_MAX);
    await Promise.all(begun);
    const seconds = (performance.now() - startedMs) / 1000;
    for (const { times } of this.#staying)
      if (!Number.isNaN(times.firstEventMs)) firstEvent.addMs(times.firstEventMs - times.acceptedMs);
    return { accept: accept.take(), firstEvent: firstEvent.take(), perSecond: runs / seconds };
  }

  /** How long tokens took from the double to the readers, since the last time. */
  lag(): Spread {
    return this.#lag.take();
  }

  /** Runs of a few tokens, read to their end. @throws when one is not whole */
  async probe(runs: number, perSecond: number, wish: Wish): Promise<Latencies> {
    const accept = new SpreadMeter();
    const firstEvent = new SpreadMeter();
    const readings: Reading[] = [];
    await paced(runs, perSecond, () => readings.push(this.#start(wish, {})));
    for (const reading of readings) {
      await wholeOf(reading);
      const { acceptedMs, firstEventMs } = reading.times;
      accept.addMs(acceptedMs);
      firstEvent.addMs(firstEventMs - acceptedMs);
    }
    return { accept: accept.take(), firstEvent: firstEvent.take() };
  }

  /** A finished run of so many tokens; answers its id. */
  async finished(wish: Wish): Promise<{ readonly runId: string; readonly events: number }> {
    const reading = this.#start(wish, {});
    await wholeOf(reading);
    return { runId: reading.runId, events: reading.eventCount };
  }

  /** Attaches to a finished run again and again. @throws when it does not come whole */
  async replay(runId: string, times: number, perSecond: number): Promise<Replays> {
    const firstByte = new SpreadMeter();
    const whole = new SpreadMeter();
    const readings: Reading[] = [];
    await paced(times, perSecond, () => readings.push(new Reading({ url: this.#url, runId })));
    for (const reading of readings) {
      await wholeOf(reading);
      firstByte.addMs(reading.times.firstByteMs);
      whole.addMs(reading.times.endedMs);
    }
    return { firstByte: firstByte.take(), whole: whole.take() };
  }

  /** Reads all that was begun to its end: those who stayed go on, what nobody read is replayed. */
  async settle(): Promise<Verdict> {
    const readings = this.#staying.splice(0);
    for (const reading of readings) await reading.ended;
    const unread = this.#unread.splice(0);
    const replay = async (): Promise<void> => {
      for (let runId = unread.pop(); runId !== undefined; runId = unread.pop()) {
        const reading = new Reading({ url: this.#url, runId });
        readings.push(reading);
        await reading.ended;
      }
    };
    await Promise.all(Array.from({ length: REPLAYED_AT_ONCE }, replay));
    const flaws = readings.flatMap((reading) => {
      const flaw = reading.verdict();
      return flaw === null ? [] : [`${reading.runId}: ${flaw}`];
    });
    return {
      runs: readings.length,
      events: readings.reduce((sum, { eventCount }) => sum + eventCount, 0),
      flawed: flaws.length,
      flaws: flaws.slice(0, FLAWS_NAMED_MAX),
    };
  }

  #start(wish: Wish, options: { leaves?: boolean; onTokens?: (sentUs: number) => void }): Reading {
    const start = { message: JSON.stringify(wish), model: this.#model };
    return new Reading({ url: this.#url, start, ...options });
  }
}

async function wholeOf(reading: Reading): Promise<void> {
  await reading.ended;
  const flaw = reading.verdict();
  if (flaw !== null) throw new Error(`run ${reading.runId}: ${flaw}`);
}

/** Does it `count` times, so many a second; what comes late is made up for, unless `mayGoOn` says no. */
async function paced(
  count: number,
  perSecond: number,
  work: (i: number) => void,
  mayGoOn: () => boolean = () => true,
): Promise<void> {
  const startedMs = performance.now();
  for (let done = 0; done < count; ) {
    const due = Math.min(count, 1 + Math.floor(((performance.now() - startedMs) * perSecond) / 1000));
    for (; done < due && mayGoOn(); done += 1) work(done);
    if (done < count) await new Promise((resolve) => setTimeout(resolve, PACE_MS));
  }
}
