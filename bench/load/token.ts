// Token: a piece of a streamed answer that says which one it is and when it was sent, so that whoever reads it knows at once
// what is missing, repeated or late. The last one says how many there were: a loss at the end is found, too.

/** Microseconds of the machine's own clock, which all processes share. */
export function machineUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

export function tokenText(index: number): string {
  return `${index}:${machineUs()} `;
}

export function lastTokenText(count: number): string {
  return `end:${count} `;
}

/** Tokens come in order from 0; the one after the last is the last one's count. */
export class TokenCheck {
  #next = 0;
  #count: number | null = null;
  /** When the latest one was sent. */
  sentUs = 0;

  get isComplete(): boolean {
    return this.#count === this.#next;
  }

  get received(): number {
    return this.#next;
  }

  /** Takes the text of one event; answers what is wrong with it. */
  take(text: string): string | null {
    for (const token of text.split(' ')) {
      if (token === '') continue;
      const colon = token.indexOf(':');
      const number = Number(token.slice(colon + 1));
      if (token.startsWith('end:')) this.#count = number;
      else if (Number(token.slice(0, colon)) !== this.#next)
        return `token ${token.slice(0, colon)} in the place of ${this.#next}`;
      else {
        this.#next += 1;
        this.sentUs = number;
      }
    }
    return null;
  }
}
