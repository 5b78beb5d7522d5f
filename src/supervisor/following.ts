// Following: an actor that takes what another one streams, for as long as it lives, whatever becomes of the other one.
// W1 When the stream ends or fails with a fault, and when taking an item does, it is begun anew after FOLLOW_AGAIN_MS. Any other
//    failure is a bug of the follower.
// W2 `onBegun` is called each time the stream has been asked for, before its first item is taken: what happened while nobody
//    listened is in no item. What it reads then is no older than the stream.

import { isFault } from '../std/errors.ts';
import type { ActorContext } from './actor.ts';
import type { Protocol, ReplyFrom, RequestTo, StreamsOf } from './protocol.ts';

/** How long an actor that was lost is given to come back. */
const FOLLOW_AGAIN_MS = 1_000;

export interface Follower<Item> {
  /** Waited for before the next item is taken. */
  readonly onItem: (item: Item) => unknown;
  /** W2. */
  readonly onBegun?: () => unknown;
}

/** Background work of the follower, which ends with it. */
export function follow<P extends Protocol, Name extends StreamsOf<P>>(
  context: ActorContext,
  protocol: P,
  name: Name,
  message: RequestTo<P, Name>,
  { onItem, onBegun }: Follower<ReplyFrom<P, Name>>,
): void {
  const takeAll = async (): Promise<void> => {
    const items = context.stream(protocol, name, message);
    try {
      await onBegun?.();
      for await (const item of items) await onItem(item);
    } catch (error) {
      if (!isFault(error)) throw error; // W1
    } finally {
      await items.return?.();
    }
    if (!context.signal.aborted) context.after(key, FOLLOW_AGAIN_MS, begin);
  };
  const key = `follow ${protocol.name} ${name}`;
  const begin = (): void => context.background(takeAll());
  begin();
}
