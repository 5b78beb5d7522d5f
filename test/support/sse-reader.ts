// SseReader: a client of an event stream, strict about the framing that the clients of the wire format rely on.

export interface ReadEvent {
  /** The sequence number; undefined for frames that are not stored. */
  readonly id: number | undefined;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: each event has its own payload; tests say what they expect.
  readonly data: any;
}

export interface SseReader extends AsyncIterable<ReadEvent> {
  readonly status: number;
  readonly headers: Headers;
  /** All that has been read so far. */
  readonly events: readonly ReadEvent[];
  /** Reads on until an event of that name, and answers it. @throws when the stream ends before. */
  until(event: string, matches?: (data: ReadEvent['data']) => boolean): Promise<ReadEvent>;
  /** Reads to the end of the stream. */
  rest(): Promise<readonly ReadEvent[]>;
  /** Leaves, as a closed browser tab does. */
  leave(): Promise<void>;
}

/** @throws when the answer is no event stream; its body is in the message. */
export async function openSse(url: string, init: RequestInit = {}): Promise<SseReader> {
  const abort = new AbortController();
  const response = await fetch(url, { ...init, signal: abort.signal });
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    throw new Error(`no event stream but ${response.status}: ${await response.text()}`);
  }
  const events: ReadEvent[] = [];
  const frames = readFrames(response);
  const next = async (): Promise<ReadEvent | null> => {
    const { done, value } = await frames.next();
    if (done === true) return null;
    events.push(value);
    return value;
  };
  return {
    status: response.status,
    headers: response.headers,
    events,
    async until(event, matches = () => true) {
      for (let read = await next(); read !== null; read = await next()) {
        if (read.event === event && matches(read.data)) return read;
      }
      throw new Error(
        `the stream ended before ${event}; it had ${events.map((read) => read.event).join(', ')}`,
      );
    },
    async rest() {
      while ((await next()) !== null);
      return events;
    },
    async leave() {
      abort.abort();
      await frames.return(undefined).catch(() => undefined);
    },
    async *[Symbol.asyncIterator]() {
      for (let read = await next(); read !== null; read = await next()) yield read;
    },
  };
}

async function* readFrames(response: Response): AsyncGenerator<ReadEvent, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const frame = text.slice(0, end);
      text = text.slice(end + 2);
      if (!frame.startsWith(':')) yield parseFrame(frame);
    }
  }
  if (text !== '') throw new Error(`the stream ended in the middle of a frame: ${text}`);
}

const FRAME = /^(?:id: (\d+)\n)?event: (\w+)\ndata: ([^\n]+)$/;

function parseFrame(frame: string): ReadEvent {
  const parts = FRAME.exec(frame);
  if (parts === null) throw new Error(`not a frame: ${JSON.stringify(frame)}`);
  return {
    id: parts[1] === undefined ? undefined : Number(parts[1]),
    event: parts[2] as string,
    data: JSON.parse(parts[3] as string),
  };
}
