// RunCheck: what one reader knows of the run that it reads, and all that is wrong with it. Numbers run on without gap or repeat,
// tokens too, `done` and `close` are the last, in that order.

import { TokenCheck } from './token.ts';

export class RunCheck {
  readonly tokens = new TokenCheck();
  #seq = 0;
  #ending: 'none' | 'done' | 'close' = 'none';
  #flaw: string | null = null;

  /** Of the last event. */
  get seq(): number {
    return this.#seq;
  }

  take(seq: number, name: string, data: string): void {
    if (seq !== this.#seq + 1) this.#blame(`event ${seq} came after ${this.#seq}`);
    this.#seq = seq;
    if (this.#ending === 'close' || (this.#ending === 'done' && name !== 'close'))
      this.#blame(`${name} came after ${this.#ending}`);
    if (name === 'chunk') {
      const flaw = this.tokens.take(contentOf(data));
      if (flaw !== null) this.#blame(flaw);
    } else if (name === 'error') this.#blame(data);
    else if (name === 'done' || name === 'close') this.#ending = name;
  }

  /** The first thing that is wrong; null when the run is here from its first event to its last. */
  verdict(): string | null {
    if (this.#flaw !== null) return this.#flaw;
    if (this.#ending !== 'close') return `it ended after event ${this.#seq} without done and close`;
    return this.tokens.isComplete ? null : `it has ${this.tokens.received} tokens, and not all`;
  }

  #blame(flaw: string): void {
    this.#flaw ??= flaw;
  }
}

const CONTENT_HEAD = '{"content":"';

/** Tokens need no escapes, so this needs no parser: the readers share the machine with what they measure. */
function contentOf(data: string): string {
  return data.startsWith(CONTENT_HEAD) ? data.slice(CONTENT_HEAD.length, data.lastIndexOf('"')) : '';
}
