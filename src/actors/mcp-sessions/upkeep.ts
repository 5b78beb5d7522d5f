// Upkeep: what goes on by itself while a connection is up.
// U1 A server that nobody calls is pinged; any answer will do, for some do not know the method. One that works on a call is not:
//    many can do only one thing at a time, and the call has a deadline of its own.
// U2 Lists that a server says have changed are asked for anew: those only, one time after the other, however often it says so.
// U3 A connection that nobody has used for `mcp.idle_seconds` is closed; the next call opens it again.

import { ProtocolError } from '@modelcontextprotocol/client';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { Settings } from '../config/protocol.ts';
import type { Calls } from './calls.ts';
import type { ListName } from './catalogue.ts';
import type { Connection } from './connection.ts';
import type { Lifecycle } from './lifecycle.ts';
import { ANYTHING } from './untrusted.ts';

const SECOND_MS = 1_000;
const PING_TIMEOUT_MS = 10_000;
const RELIST_MS = 300;

export class Upkeep {
  readonly #context: ActorContext;
  readonly #lifecycle: Lifecycle<Connection>;
  readonly #calls: Calls;
  readonly #relist: (connection: Connection, lists: ReadonlySet<ListName>) => Promise<void>;
  #changed = new Set<ListName>();
  #isListing = false;

  constructor(
    context: ActorContext,
    lifecycle: Lifecycle<Connection>,
    calls: Calls,
    relist: (connection: Connection, lists: ReadonlySet<ListName>) => Promise<void>,
  ) {
    this.#context = context;
    this.#lifecycle = lifecycle;
    this.#calls = calls;
    this.#relist = relist;
  }

  /** Takes the place of the upkeep of the connection before. */
  begin(connection: Connection, settings: Settings): void {
    const { clock } = this.#context;
    this.#every('ping', settings['mcp.ping_seconds'], connection, () => {
      if (this.#calls.isIdle) this.#ping(connection);
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
  }

  /** U2. */
  listChanged(list: ListName): void {
    this.#changed.add(list);
    if (!this.#isListing) this.#context.after('relist', RELIST_MS, () => this.#listAnew());
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
    const changed = this.#changed;
    this.#changed = new Set();
    if (connection === null || changed.size === 0) return; // A new connection lists everything.
    this.#isListing = true;
    const next = (): void => {
      this.#isListing = false;
      for (const list of this.#changed) this.listChanged(list);
    };
    this.#context.pipe(this.#relist(connection, changed), next, next);
  }
}
