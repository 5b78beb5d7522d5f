// Admission: which accepted turn begins next. Pure bookkeeping, no I/O; every step takes the same time, however many wait.
// M1 At most `liveMax` turns are live. Lowering it stops none; those that are over it are waited out.
// M2 One turn of a conversation at a time, in the order in which they came. One that waits for the turn before it takes no
//    place, and holds up nobody but those behind it in its conversation.
// M3 Users are served in turn, whoever has how many waiting; among the turns of one user, who may begin first begins first.
// M4 At most `queueMax` wait. A newcomer beyond it is refused, unless it would begin at once; who was let in stays.

import { Fifo, type FifoPlace } from '../../std/fifo.ts';

export interface Limits {
  readonly liveMax: number;
  readonly queueMax: number;
}

/** Conversations that are not stored count as conversations here. */
export interface Turn {
  readonly runId: string;
  readonly userId: string;
  readonly conversation: string;
}

/** Being written down; waiting for its conversation or for a place; live; being settled without having begun. */
type Stage = 'accepting' | 'waiting' | 'live' | 'leaving';

interface Entry extends Turn {
  stage: Stage;
  /** Among the turns of its user that may begin; null when it may not. */
  inLine: FifoPlace<Entry> | null;
}

/** The turns of one user that may begin. Never empty. */
type Line = Fifo<Entry>;

export class Admission {
  limits: Limits;
  /** By run; each knows its place in its conversation. */
  readonly #entries = new Map<string, FifoPlace<Entry>>();
  /** The first one has its turn, the others wait for it (M2). Never empty. */
  readonly #conversations = new Map<string, Fifo<Entry>>();
  /** By user; each knows its place in the ring. */
  readonly #lines = new Map<string, FifoPlace<Line>>();
  /** The line at the head begins the next turn (M3). */
  readonly #ring = new Fifo<Line>();
  #liveCount = 0;
  #isClosed = false;

  constructor(limits: Limits) {
    this.limits = limits;
  }

  get liveCount(): number {
    return this.#liveCount;
  }

  /** Turns that wait for their conversation or for a place, in whatever stage. */
  get waitingCount(): number {
    return this.#entries.size - this.#liveCount;
  }

  /** Conversations with a turn that is live or waiting. */
  get conversationCount(): number {
    return this.#conversations.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Nothing begins any more, and nobody is let in. */
  close(): void {
    this.#isClosed = true;
  }

  /** What an accepted turn waits for; null when it is live, or gone. */
  waitsFor(runId: string): 'conversation' | 'place' | null {
    const entry = this.#entries.get(runId)?.item;
    if (entry?.stage !== 'waiting') return null;
    return this.#hasItsTurn(entry) ? 'place' : 'conversation';
  }

  /** The turn that a newcomer to the conversation would come behind. */
  newestIn(conversation: string): Turn | undefined {
    return this.#conversations.get(conversation)?.last;
  }

  /** M4. */
  fits(conversation: string): boolean {
    if (this.#isClosed) return false;
    const { liveMax, queueMax } = this.limits;
    const isBusy = this.#conversations.has(conversation);
    const first = this.#conversations.size + (isBusy ? 0 : 1);
    if (!isBusy && first <= liveMax) return true;
    const behind = this.#entries.size + 1 - first;
    return behind + Math.max(0, first - liveMax) <= queueMax;
  }

  /** Takes a turn in. It begins only once it is `accepted`, but holds its place in the conversation from now on. */
  add(turn: Turn): void {
    const conversation = this.#conversations.get(turn.conversation) ?? new Fifo<Entry>();
    this.#conversations.set(turn.conversation, conversation);
    this.#entries.set(turn.runId, conversation.push({ ...turn, stage: 'accepting', inLine: null }));
  }

  accepted(runId: string): void {
    const entry = this.#entries.get(runId)?.item;
    if (entry?.stage !== 'accepting') return;
    entry.stage = 'waiting';
    if (this.#hasItsTurn(entry)) this.#enqueue(entry);
  }

  /** The turn that is to begin now, and counts as live from now on; undefined when there is none, or no place (M1). */
  next(): Turn | undefined {
    const entry = this.#ring.first?.first;
    if (entry === undefined || this.#isClosed || this.#liveCount >= this.limits.liveMax) return undefined;
    this.#dequeue(entry);
    const line = this.#lines.get(entry.userId);
    if (line !== undefined) {
      this.#ring.remove(line); // M3
      this.#lines.set(entry.userId, this.#ring.push(line.item));
    }
    entry.stage = 'live';
    this.#liveCount += 1;
    return entry;
  }

  /** A live turn is to begin anew, before the others of its user. */
  putBack(runId: string): void {
    const entry = this.#entries.get(runId)?.item;
    if (entry?.stage !== 'live') return;
    entry.stage = 'waiting';
    this.#liveCount -= 1;
    this.#enqueue(entry, { isFirst: true });
  }

  /** A turn that waits shall not begin any more; it keeps its place in the conversation until it leaves. */
  withdraw(runId: string): void {
    const entry = this.#entries.get(runId)?.item;
    if (entry === undefined || entry.stage === 'live') return;
    this.#dequeue(entry);
    entry.stage = 'leaving';
  }

  /** The turn is over, whether it was live or not: the next one of its conversation may begin. */
  leave(runId: string): void {
    const place = this.#entries.get(runId);
    if (place === undefined) return;
    const { item: entry } = place;
    this.#entries.delete(runId);
    this.#dequeue(entry);
    if (entry.stage === 'live') this.#liveCount -= 1;
    const conversation = this.#conversations.get(entry.conversation);
    const hadItsTurn = this.#hasItsTurn(entry);
    conversation?.remove(place);
    const next = conversation?.first;
    if (next === undefined) this.#conversations.delete(entry.conversation);
    else if (hadItsTurn && next.stage === 'waiting') this.#enqueue(next);
  }

  #hasItsTurn(entry: Entry): boolean {
    return this.#conversations.get(entry.conversation)?.first === entry;
  }

  #enqueue(entry: Entry, { isFirst } = { isFirst: false }): void {
    let line = this.#lines.get(entry.userId);
    if (line === undefined) {
      line = this.#ring.push(new Fifo<Entry>());
      this.#lines.set(entry.userId, line);
    }
    entry.inLine = isFirst ? line.item.unshift(entry) : line.item.push(entry);
  }

  #dequeue(entry: Entry): void {
    const line = this.#lines.get(entry.userId);
    if (line === undefined || entry.inLine === null) return;
    line.item.remove(entry.inLine);
    entry.inLine = null;
    if (!line.item.isEmpty) return;
    this.#ring.remove(line);
    this.#lines.delete(entry.userId);
  }
}
