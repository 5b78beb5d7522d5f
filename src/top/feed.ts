// Feed: what a running service says about its actors, over its public interface and nothing else.
// F1 Every failure to connect is one sentence that says what to do about it.
// F2 What does not look like the answer of a Troupe is refused, not guessed at.

import type { DeadLetterRow, RuntimeSnapshot } from '../actors/runtime/protocol.ts';
import { errorText } from '../std/errors.ts';

export type FeedEvent =
  | { readonly kind: 'snapshot'; readonly snapshot: RuntimeSnapshot }
  | { readonly kind: 'dead_letter'; readonly letter: DeadLetterRow }
  | { readonly kind: 'missed'; readonly count: number };

/** Meant for the user's eyes as it is. */
export class FeedError extends Error {}

/** A service that is alive answers its first byte within a moment. */
const CONNECT_MAX_MS = 5_000;
/** Far more than a frame with all listed actors. */
const FRAME_CHARS_MAX = 4_000_000;

export async function readSnapshot(base: URL): Promise<RuntimeSnapshot> {
  const response = await request(base, '/api/runtime', AbortSignal.timeout(CONNECT_MAX_MS));
  try {
    return (await response.json()) as RuntimeSnapshot;
  } catch (error) {
    throw new FeedError(`${base.origin} did not answer whole: ${errorText(error)}`);
  }
}

/** Ends when the service closes the stream. @throws {FeedError} when it cannot be opened, or breaks */
export async function* follow(base: URL, intervalMs: number, signal: AbortSignal): AsyncGenerator<FeedEvent> {
  const response = await request(base, `/api/runtime/stream?interval_ms=${intervalMs}`, signal);
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      const frames = text.split('\n\n');
      text = frames.pop() ?? '';
      if (text.length > FRAME_CHARS_MAX) throw new FeedError(`${base.origin} sends no end of a frame`);
      for (const frame of frames) {
        const event = eventOf(frame);
        if (event !== null) yield event;
      }
    }
  } catch (error) {
    throw error instanceof FeedError ? error : new FeedError(`${base.origin} has gone: ${causeOf(error)}`);
  }
}

async function request(base: URL, path: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(new URL(path, base), { signal });
  } catch (error) {
    throw new FeedError(
      signal.aborted && error instanceof Error && error.name === 'TimeoutError'
        ? `${base.origin} does not answer`
        : `nothing can be reached at ${base.origin} (${causeOf(error)}); is the service running? Start it with: npm start`,
    );
  }
  if (response.ok) return response;
  await response.body?.cancel();
  throw new FeedError(
    response.status === 404
      ? `${base.origin} answers, but has no /api/runtime: it is no Troupe, or an older one`
      : `${base.origin} answers ${response.status} to ${path}`,
  );
}

/** Null for comments and for events that this version does not know. */
function eventOf(frame: string): FeedEvent | null {
  const { event, data } = Object.fromEntries(
    frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  ) as { event?: string; data?: string };
  if (data === undefined) return null;
  switch (event) {
    case 'snapshot':
      return { kind: 'snapshot', snapshot: JSON.parse(data) as RuntimeSnapshot };
    case 'dead_letter':
      return { kind: 'dead_letter', letter: JSON.parse(data) as DeadLetterRow };
    case 'dead_letters_missed':
      return { kind: 'missed', count: (JSON.parse(data) as { readonly count: number }).count };
    default:
      return null;
  }
}

/** `fetch failed` says nothing; its cause does. */
function causeOf(error: unknown): string {
  const { cause } = error as { readonly cause?: { readonly code?: string; readonly message?: string } };
  return cause?.code ?? cause?.message ?? errorText(error);
}
