// Faults that the kernel itself answers with. All but the last two are retryable: the next try may meet a living actor.

import { declareFaults } from '../std/errors.ts';

const CODES = {
  /** No reply within the ask's deadline. */
  ask_timeout: 'timeout',
  /** The target ended before it replied, or had already ended. */
  actor_terminated: 'unavailable',
  /** Nothing is registered under that name at the moment. */
  actor_unavailable: 'unavailable',
  /** The mailbox, or the link to the target's thread, is full. */
  mailbox_full: 'unavailable',
  /** The asker's own signal was aborted. */
  ask_cancelled: 'cancelled',
  /** The handler failed on a bug; the actor has crashed to its supervisor. */
  actor_crashed: 'internal',
  /** The message is not of the target's protocol, or cannot cross threads. */
  message_refused: 'internal',
} as const;

export const kernelFaults = declareFaults(CODES, { stack: false });
