// Sessions: the turns of conversations that are not stored (`use_memory: false`), so that a second turn knows the first.
// In memory only: bounded in number, in length and in age; gone with the process, as was asked for.

import type { EphemeralTurn } from './protocol.ts';

const SESSIONS_MAX = 1_000;
const SESSION_IDLE_MAX_MS = 3600 * 1000;
const SESSION_CHARS_MAX = 200_000;

interface Session {
  turns: readonly EphemeralTurn[];
  usedAtMs: number;
}

export class EphemeralSessions {
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>();

  turns(sessionId: string, nowMs: number): readonly EphemeralTurn[] {
    const session = this.#sessions.get(sessionId);
    return session === undefined || nowMs - session.usedAtMs > SESSION_IDLE_MAX_MS ? [] : session.turns;
  }

  add(sessionId: string, turns: readonly EphemeralTurn[], nowMs: number): void {
    const all = [...this.turns(sessionId, nowMs), ...turns];
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, { turns: newestWithin(all), usedAtMs: nowMs });
    if (this.#sessions.size > SESSIONS_MAX) {
      const [oldest] = this.#sessions.keys();
      if (oldest !== undefined) this.#sessions.delete(oldest);
    }
  }
}

function newestWithin(turns: readonly EphemeralTurn[]): readonly EphemeralTurn[] {
  let chars = 0;
  let from = turns.length;
  while (from > 0) {
    chars += turns[from - 1]?.content.length ?? 0;
    if (chars > SESSION_CHARS_MAX) break;
    from -= 1;
  }
  return turns.slice(from);
}
