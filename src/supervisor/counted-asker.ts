// CountedAsker: stands between an asker and who answers it, for someone who wants to know when that is over.

import type { Fault } from '../std/errors.ts';
import type { Asker, StreamAsker } from './envelope.ts';

/** Passes everything on between an asker and who answers it, and says once when that is over. */
export class CountedAsker<Inner extends Asker = Asker> implements Asker {
  protected readonly inner: Inner;
  #onDone: (() => void) | null;
  #abandoned: (() => void) | null = null;
  #isAbandoned = false;

  constructor(inner: Inner, onDone: () => void) {
    this.inner = inner;
    this.#onDone = onDone;
    inner.onAbandoned(() => {
      this.#isAbandoned = true;
      this.done();
      this.#abandoned?.();
    });
  }

  reply(value: unknown): void {
    this.done();
    this.inner.reply(value);
  }

  fail(fault: Fault): void {
    this.done();
    this.inner.fail(fault);
  }

  onAbandoned(hook: () => void): void {
    if (this.#isAbandoned) hook();
    else this.#abandoned = hook;
  }

  protected done(): void {
    this.#onDone?.();
    this.#onDone = null;
  }
}

export class CountedStreamAsker extends CountedAsker<StreamAsker> implements StreamAsker {
  item(value: unknown): void {
    this.inner.item(value);
  }

  end(): void {
    this.done();
    this.inner.end();
  }

  onGranted(hook: (credit: number) => void): void {
    this.inner.onGranted(hook);
  }
}
