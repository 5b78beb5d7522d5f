// Event decoder: bytes of a text/event-stream in, the payloads of its events out.
// A character or a line that is cut between two pieces of bytes is held until the rest of it comes.

import { createParser } from 'eventsource-parser';

export interface EventDecoder {
  /** The payloads (`data`) of the events that these bytes complete, in order. */
  feed(bytes: Uint8Array): readonly string[];
}

export function createEventDecoder(): EventDecoder {
  const text = new TextDecoder();
  /** Not held between two calls: thousands of streams wait for seconds, and what waits with them is copied by each collection. */
  let payloads: string[] | null = null;
  const parser = createParser({ onEvent: ({ data }) => payloads?.push(data) });
  return {
    feed(bytes) {
      const fed: string[] = [];
      payloads = fed;
      parser.feed(text.decode(bytes, { stream: true }));
      payloads = null;
      return fed;
    },
  };
}
