// ThinkFilter: takes thoughts out of a text that comes in pieces. A thought opens the text with <think> and ends with </think>;
// what looks like a tag later on is the author's own.

const OPENING = '<think>';
const CLOSING = '</think>';

export interface ThoughtAndText {
  readonly thought: string;
  readonly text: string;
}

export class ThinkFilter {
  #state: 'beginning' | 'thinking' | 'behind_thought' | 'answering' = 'beginning';
  /** What may be the first half of a tag. */
  #held = '';

  feed(piece: string): ThoughtAndText {
    return this.#read(this.#held + piece, false);
  }

  /** What was held back, once it is known that nothing follows. */
  end(): ThoughtAndText {
    return this.#read(this.#held, true);
  }

  #read(given: string, isLast: boolean): ThoughtAndText {
    let unread = given;
    let thought = '';
    this.#held = '';
    if (this.#state === 'beginning') {
      const begun = unread.trimStart();
      if (!isLast && OPENING.startsWith(begun)) {
        if (begun === OPENING) this.#state = 'thinking';
        else this.#held = unread;
        return { thought, text: '' };
      }
      const isThought = begun.startsWith(OPENING);
      this.#state = isThought ? 'thinking' : 'answering';
      if (isThought) unread = begun.slice(OPENING.length);
    }
    if (this.#state === 'thinking') {
      const end = unread.indexOf(CLOSING);
      if (end < 0) {
        const kept = isLast ? 0 : heldLength(unread);
        this.#held = unread.slice(unread.length - kept);
        return { thought: unread.slice(0, unread.length - kept), text: '' };
      }
      thought = unread.slice(0, end);
      unread = unread.slice(end + CLOSING.length);
      this.#state = 'behind_thought';
    }
    if (this.#state === 'behind_thought') {
      // Models leave empty lines between their thought and their answer.
      unread = unread.trimStart();
      if (unread !== '') this.#state = 'answering';
    }
    return { thought, text: unread };
  }
}

/** How much of the end may be the beginning of the closing tag. */
function heldLength(text: string): number {
  for (let length = Math.min(CLOSING.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(CLOSING.slice(0, length))) return length;
  }
  return 0;
}
