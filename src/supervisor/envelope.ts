// Envelope: one message on its way to an actor, and the asker behind it, who may sit on another thread.
// V1 An asker is answered once: by a reply, a fault, or the end of its stream; later answers are ignored.

import type { Fault } from '../std/errors.ts';

/** Told when a message that came over a link has left the mailbox, handled or not. */
export interface MailOrigin {
  settled(): void;
}

/** The actor on whose behalf something is asked: what it asked ends with it. */
export interface Owner {
  readonly isEnding: boolean;
  /** Runs `clean` when the owner begins to end; returns a way to take it back. */
  whenEnding(clean: () => void): () => void;
}

export interface Asker {
  reply(value: unknown): void;
  fail(fault: Fault): void;
  /** `hook` runs when the asker gives up (its signal, its deadline, its own end, the loss of its thread); at once when it has. */
  onAbandoned(hook: () => void): void;
}

/** The consumer of a stream; items must not exceed the credit that it grants. */
export interface StreamAsker extends Asker {
  item(value: unknown): void;
  end(): void;
  onGranted(hook: (credit: number) => void): void;
}

export type Envelope =
  | {
      readonly kind: 'tell';
      readonly name: string;
      readonly message: unknown;
      readonly origin: MailOrigin | null;
    }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly message: unknown;
      readonly origin: MailOrigin | null;
      readonly asker: Asker;
    }
  | {
      readonly kind: 'stream';
      readonly name: string;
      readonly message: unknown;
      readonly origin: MailOrigin | null;
      readonly asker: StreamAsker;
    };
