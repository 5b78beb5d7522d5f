// Mailbox: the bounded FIFO of one actor, and its policy when it is full.
// M1 A full box answers: it rejects the newcomer or drops its oldest, counted either way, never in silence.
// M2 Push and shift are O(1); the ring grows by doubling up to its bound and starts small (an idle actor is cheap).

export interface MailboxPolicy {
  readonly lengthMax: number;
  /** `reject` fails the newcomer; `drop_oldest` dead-letters the head. */
  readonly whenFull: 'reject' | 'drop_oldest';
}
