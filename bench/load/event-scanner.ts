// EventScanner: the bytes of one HTTP response in, its server-sent events out, as they come. The least that will do, for
// thousands of connections in one process: it knows chunked answers of our own service and nothing else.

export type OnEvent = (seq: number | null, name: string, data: string) => void;

type Expecting = 'head' | 'size' | 'body' | 'body_end' | 'nothing';

export class EventScanner {
  readonly #onEvent: OnEvent;
  #expecting: Expecting = 'head';
  /** Of the head, of a size line, or of an event, what has come so far. */
  #rest = '';
  #text = '';
  #bodyLeft = 0;

  constructor(onEvent: OnEvent) {
    this.#onEvent = onEvent;
  }

  /** The whole answer has come. */
  get isOver(): boolean {
    return this.#expecting === 'nothing';
  }

  /** @throws when the answer is no event stream */
  feed(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      switch (this.#expecting) {
        case 'head': {
          this.#rest += bytes.toString('latin1', at);
          const end = this.#rest.indexOf('\r\n\r\n');
          if (end < 0) return;
          assertEventStream(this.#rest.slice(0, end));
          // What came behind the head stands at the end of these bytes.
          at = bytes.length - (this.#rest.length - end - 4);
          this.#rest = '';
          this.#expecting = 'size';
          break;
        }
        case 'size': {
          const end = bytes.indexOf(10, at);
          this.#rest += bytes.toString('latin1', at, end < 0 ? bytes.length : end);
          if (end < 0) return;
          at = end + 1;
          this.#bodyLeft = Number.parseInt(this.#rest, 16);
          this.#rest = '';
          this.#expecting = this.#bodyLeft === 0 ? 'nothing' : 'body';
          break;
        }
        case 'body': {
          const end = Math.min(bytes.length, at + this.#bodyLeft);
          this.#take(bytes.toString('latin1', at, end));
          this.#bodyLeft -= end - at;
          at = end;
          if (this.#bodyLeft === 0) this.#expecting = 'body_end';
          break;
        }
        case 'body_end':
          if (bytes[at] === 10) this.#expecting = 'size';
          at += 1;
          break;
        case 'nothing':
          return;
      }
    }
  }

  #take(piece: string): void {
    const text = this.#text + piece;
    let from = 0;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', from)) {
      this.#takeEvent(text.slice(from, end));
      from = end + 2;
    }
    this.#text = text.slice(from);
  }

  #takeEvent(frame: string): void {
    if (frame.startsWith(':')) return;
    let at = 0;
    let seq: number | null = null;
    if (frame.startsWith('id: ')) {
      at = frame.indexOf('\n') + 1;
      seq = Number(frame.slice(4, at - 1));
    }
    const nameEnd = frame.indexOf('\n', at);
    this.#onEvent(
      seq,
      frame.slice(at + 'event: '.length, nameEnd),
      frame.slice(nameEnd + 1 + 'data: '.length),
    );
  }
}

function assertEventStream(head: string): void {
  const status = head.slice(0, head.indexOf('\r\n'));
  if (!status.includes(' 200 ')) throw new Error(status);
  if (!/transfer-encoding: chunked/i.test(head)) throw new Error('the answer is not chunked');
}
