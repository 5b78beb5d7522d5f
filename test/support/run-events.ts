// Run events: what a test reads out of the events of a run.

import type { ReadEvent } from './sse-reader.ts';

/** Event names, a status with its phase; chunks in a row count as one. */
export function orderOf(events: readonly ReadEvent[]): string[] {
  const names = events.map(({ event, data }) => (event === 'status' ? `status(${data.phase})` : event));
  return names.filter((name, i) => name !== 'chunk' || names[i - 1] !== 'chunk');
}

/** The text of all chunks. */
export function textOf(events: readonly ReadEvent[]): string {
  return payloadsOf(events, 'chunk')
    .map(({ content }) => content)
    .join('');
}

// biome-ignore lint/suspicious/noExplicitAny: each event has its own payload; tests say what they expect.
export function payloadsOf(events: readonly ReadEvent[], name: string): any[] {
  return events.filter(({ event }) => event === name).map(({ data }) => data);
}

/** The payload of the one event of that name. @throws when there is none, or more than one */
// biome-ignore lint/suspicious/noExplicitAny: as above.
export function payloadOf(events: readonly ReadEvent[], name: string): any {
  const payloads = payloadsOf(events, name);
  if (payloads.length !== 1) throw new Error(`${payloads.length} events ${name} in ${orderOf(events)}`);
  return payloads[0];
}

/** What is wrong with the numbers: empty when they run from `first` on without gap or repeat. */
export function numberingFlaws(events: readonly ReadEvent[], first = 1): string[] {
  return events.flatMap(({ id }, i) =>
    id === first + i ? [] : [`event ${i} bears ${id}, not ${first + i}`],
  );
}
