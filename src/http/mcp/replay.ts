// Replay: what a session has said lately, for a client whose connection broke in the middle of a call: it comes back with the id
// of the last event that it has, and hears the rest.
// P1 Bounded in number and size, oldest out first; what does not fit is not kept. The result of a run is not lost by that: its
//    id was said in the call's first progress report, and `read_run` has it.
// P2 Of the progress of a call only the newest report is kept: an older one is no news any more.

import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';

/** Of one session; its calls have two or three each. */
const EVENTS_KEPT_MAX = 32;
/** Of one session, in characters of JSON. */
const CHARS_KEPT_MAX = 256 * 1024;

interface KeptEvent {
  readonly number: number;
  readonly streamId: string;
  readonly message: JSONRPCMessage;
  readonly chars: number;
  readonly isProgress: boolean;
}

export class Replay implements EventStore {
  #events: KeptEvent[] = [];
  #chars = 0;
  #lastNumber = 0;

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    this.#lastNumber += 1;
    const isProgress = 'method' in message && message.method === 'notifications/progress';
    const chars = JSON.stringify(message).length;
    if (isProgress) this.#drop((kept) => kept.streamId === streamId && kept.isProgress); // P2
    if (chars <= CHARS_KEPT_MAX)
      this.#keep({ number: this.#lastNumber, streamId, message, chars, isProgress });
    return `${streamId}/${this.#lastNumber}`;
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return positionOf(eventId)?.streamId;
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { readonly send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const last = positionOf(lastEventId);
    if (last === undefined) return lastEventId;
    for (const { number, streamId, message } of [...this.#events]) {
      if (streamId === last.streamId && number > last.number) await send(`${streamId}/${number}`, message);
    }
    return last.streamId;
  }

  #keep(event: KeptEvent): void {
    this.#events.push(event);
    this.#chars += event.chars;
    while (this.#events.length > EVENTS_KEPT_MAX || this.#chars > CHARS_KEPT_MAX) {
      const [oldest] = this.#events;
      this.#drop((kept) => kept === oldest);
    }
  }

  #drop(isDropped: (kept: KeptEvent) => boolean): void {
    this.#events = this.#events.filter((kept) => !isDropped(kept));
    this.#chars = this.#events.reduce((sum, { chars }) => sum + chars, 0);
  }
}

/** Undefined for what is no id of ours. */
function positionOf(eventId: string): { readonly streamId: string; readonly number: number } | undefined {
  const match = /^([^/]+)\/(\d{1,15})$/.exec(eventId);
  return match === null ? undefined : { streamId: match[1] as string, number: Number(match[2]) };
}
