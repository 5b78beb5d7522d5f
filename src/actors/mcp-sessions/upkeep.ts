// Upkeep: what goes on by itself while a connection is up.
// U1 A server that nobody calls is pinged; any answer will do, for some do not know the method. One that works on a call is not:
//    many can do only one thing at a time, and the call has a deadline of its own.
// U2 Lists that a server says have changed are asked for anew: those only, one time after the other, however often it says so.
//    What it says while the connection is being opened counts too: the list may have been asked for before that. One that it owes
//    is asked for again and again; and so is each one, with every ping, where its word does not reach us any more.
// U3 A connection that nobody has used for `mcp.idle_seconds` is closed; the next call opens it again.

import { ProtocolError } from '@modelcontextprotocol/client';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { Settings } from '../config/protocol.ts';
import type { Calls } from './calls.ts';
import { LISTS, type ListName } from './catalogue.ts';
import type { Connection } from './connection.ts';
import type { Lifecycle } from './lifecycle.ts';
import { ANYTHING } from './untrusted.ts';

const SECOND_MS = 1_000;
const PING_TIMEOUT_MS = 10_000;
const RELIST_MS = 300;
/** A list that did not come in time: the server has something else to do. */
const RELIST_OWED_MS = 5_000;

/** Answers which lists the server owes. */
export type Relist = (connection: Connection, lists: ReadonlySet<ListName>) => Promise<ReadonlySet<ListName>>;

export class Upkeep {
  readonly #context: ActorContext;
  readonly #lifecycle: Lifecycle<Connection>;
  readonly #calls: Calls;
  readonly #relist: Relist;
  #changed = new Set<ListName>();
  #isListing = false;

  constructor(context: ActorContext, lifecycle: Lifecycle<Connection>, calls: Calls, relist: Relist) {
    this.#context = context;
    this.#lifecycle = lifecycle;
    this.#calls = calls;
    this.#relist = relist;
  }

  /** Takes the place of the upkeep of the connection before. */
  begin(connection: Connection, settings: Settings): void {
    const { clock } = this.#context;
    this.#every('ping', settings['mcp.ping_seconds'], connection, () => {
      if (!this.#calls.isIdle) return;
      this.#ping(connection);
      if (connection.isDeaf) for (const list of LISTS) this.listChanged(list); // U2
    });
    let made = this.#calls.made;
    let quietSinceMs = clock.monotonicMs();
    const idleSeconds = settings['mcp.idle_seconds'];
    this.#every('idle', idleSeconds / 4, connection, () => {
      if (!this.#calls.isIdle || this.#calls.made !== made) {
        made = this.#calls.made;
        quietSinceMs = clock.monotonicMs();
      } else if (clock.monotonicMs() - quietSinceMs >= idleSeconds * SECOND_MS) {
        this.#lifecycle.rest(); // U3
      }
    });
    if (this.#changed.size > 0) this.#listSoon(RELIST_MS);
  }

  /** U2. */
  listChanged(list: ListName): void {
    // Who says so all the time does not put it off.
    if (this.#changed.has(list)) return;
    this.#changed.add(list);
    this.#listSoon(RELIST_MS);
  }

  /** U2. They are asked for when there is time. */
  listsOwed(lists: ReadonlySet<ListName>): void {
    for (const list of lists) this.#changed.add(list);
  }

  #listSoon(delayMs: number): void {
    if (!this.#isListing) this.#context.after('relist', delayMs, () => this.#listAnew());
  }

  #every(key: string, seconds: number, connection: Connection, act: () => void): void {
    if (seconds === 0) return;
    this.#context.after(key, seconds * SECOND_MS, () => {
      if (this.#connection !== connection) return;
      act();
      this.#every(key, seconds, connection, act);
    });
  }

  get #connection(): Connection | null {
    const { phase } = this.#lifecycle;
    return phase.kind === 'connected' ? phase.link : null;
  }

  /** U1. */
  #ping(connection: Connection): void {
    const options = { timeout: PING_TIMEOUT_MS, signal: this.#context.signal };
    this.#context.pipe(
      connection.client.request({ method: 'ping' }, ANYTHING, options),
      () => undefined,
      (error) => {
        if (error instanceof ProtocolError || !this.#calls.isIdle) return;
        this.#lifecycle.replace(connection, 'it does not answer any more');
      },
    );
  }

  #listAnew(): void {
    const connection = this.#connection;
    // Without one the changes stay: `begin` looks for them.
    if (connection === null || this.#changed.size === 0) return;
    const changed = this.#changed;
    this.#changed = new Set();
    this.#isListing = true;
    const next = (owed: ReadonlySet<ListName>): void => {
      this.#isListing = false;
      const delayMs = this.#changed.size > 0 ? RELIST_MS : RELIST_OWED_MS;
      this.listsOwed(owed);
      if (this.#changed.size > 0) this.#listSoon(delayMs);
    };
    this.#context.pipe(this.#relist(connection, changed), next, () => next(new Set()));
  }
}
