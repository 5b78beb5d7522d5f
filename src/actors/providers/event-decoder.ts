// Event decoder: bytes of a text/event-stream in, the payloads of its events out.
// A character or a line that is cut between two pieces of bytes is held until the rest of it comes.

import { createParser } from 'eventsource-parser';

export interface EventDecoder {
  /** The payloads (`data`) of the events that these bytes complete, in order. */
  feed(bytes: Uint8Array): readonly string[];
}

export function createEventDecoder(): EventDecoder {
  const text = new TextDecoder();
  let payloads: string[] = [];
  const parser = createParser({ onEvent: (event) => payloads.push(event.data) });
  return {
    feed(bytes) {
      payloads = [];
      parser.feed(text.decode(bytes, { stream: true }));
      return payloads;
    },
  };
}
