// Connector: what a connect comes to, whoever asks for it: a client, the start of the service, a call that found a server down.
// C1 A connect by hand that fails leaves no session behind, unless the server was connected before: nobody asked to go on trying.
// C2 Where somebody has to sign in, the answer is the page to do that on. The connect goes on behind it: when the sign-in has
//    succeeded the session is asked once more, and only that counts as success.
// C3 The answer never waits longer than the server's own patience, and for a sign-in no longer than SIGN_IN_WAIT_MS.
// C4 A server that has let its user in may want a wider consent for one of its tools. Who connects it then is led to that.

import type { EgressPolicy } from '../../egress/guard.ts';
import { errorText, isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import { mcpAuth, SIGN_IN_MS_MAX } from '../mcp-auth/protocol.ts';
import type { mcpSession } from '../mcp-sessions/protocol.ts';
import { type ServerConfig, SIGN_IN_WAIT_MS } from './protocol.ts';
import { usesSignIn } from './server-config.ts';
import type { Sessions } from './sessions.ts';

export type ConnectAnswer =
  | { readonly kind: 'connected'; readonly toolsCount: number; readonly resourcesCount: number }
  | { readonly kind: 'auth_required'; readonly authorizationUrl: string }
  | { readonly kind: 'failed'; readonly error: string };

export interface ConnectorOptions {
  readonly sessions: Sessions;
  readonly egress: () => Promise<EgressPolicy>;
  readonly configOf: (name: string) => ServerConfig | undefined;
  /** It is to be connected at the next start too. */
  readonly onConnected: (name: string) => Promise<void>;
}

/** A session answers within the server's patience; this is for its way here, and for the start of its thread. */
const ANSWER_GRACE_MS = 10_000;
const SIGN_IN_GRACE_MS = 5_000;
/** States of a session that has been up. */
const LET_IN: ReadonlySet<string | undefined> = new Set(['connected', 'reconnecting', 'idle']);

export class Connector {
  readonly #context: ActorContext;
  readonly #options: ConnectorOptions;
  /** What the last connect of a server came to that has no session now. */
  readonly #failures = new Map<string, string>();

  constructor(context: ActorContext, options: ConnectorOptions) {
    this.#context = context;
    this.#options = options;
  }

  failureOf(name: string): string | null {
    return this.#failures.get(name) ?? null;
  }

  /** By hand: what went wrong before does not count. */
  connect(name: string, config: ServerConfig): Promise<ConnectAnswer> {
    return failedAsAnswer(async () => {
      if (!usesSignIn(config)) return this.#attempt(name, config);
      if (LET_IN.has(this.#options.sessions.get(name)?.state.kind)) {
        const wider = await this.#pendingConsent(name, config); // C4
        if (wider !== null) return wider;
      }
      await this.#context.ask(mcpAuth, 'newAttempt', { server: name });
      const answer = failedAsAnswer(() => this.#attempt(name, config));
      // C2, C3. It comes to its end whoever waits for it.
      this.#context.background(answer);
      return within(this.#context, answer, SIGN_IN_WAIT_MS);
    });
  }

  /** By the service itself: a sign-in that somebody has in a browser goes on. */
  resume(name: string, config: ServerConfig): Promise<ConnectAnswer> {
    return failedAsAnswer(() => this.#attempt(name, config));
  }

  /** Ends the session; false when there was none. */
  async drop(name: string): Promise<boolean> {
    this.#failures.delete(name);
    return this.#options.sessions.stop(name);
  }

  async #attempt(name: string, config: ServerConfig): Promise<ConnectAnswer> {
    this.#failures.delete(name);
    const { sessions, configOf, onConnected } = this.#options;
    const egress = await this.#options.egress();
    const session = await sessions.start(name, () => configOf(name), egress);
    const wholeMs = config.timeout * 1000 + ANSWER_GRACE_MS;
    const answer = await failedAsAnswer(() => this.#outcome(name, config, session, wholeMs));
    if (answer.kind === 'connected') await onConnected(name);
    if (answer.kind === 'failed' && configOf(name)?.auto_connect === false) {
      await sessions.stop(name); // C1
      this.#failures.set(name, answer.error);
    }
    return answer;
  }

  async #outcome(
    name: string,
    config: ServerConfig,
    session: Ref<typeof mcpSession>,
    deadlineMs: number,
  ): Promise<ConnectAnswer> {
    const outcome = await session.ask('connect', {}, { deadlineMs });
    if (outcome.kind === 'auth_required') return this.#consentOf(name, config);
    // Told anyway; asked for as well, so that who hears of the connection finds its tools.
    this.#options.sessions.catalogueChanged(name, await session.ask('catalogue', {}));
    return { kind: 'connected', toolsCount: outcome.tools_count, resourcesCount: outcome.resources_count };
  }

  /** C2. */
  async #consentOf(name: string, config: ServerConfig): Promise<ConnectAnswer> {
    const consent = await this.#pendingConsent(name, config);
    return consent ?? { kind: 'failed', error: 'a sign-in is needed, and none is under way' };
  }

  async #pendingConsent(name: string, config: ServerConfig): Promise<ConnectAnswer | null> {
    const consent = await this.#context.ask(mcpAuth, 'consent', { server: name });
    if (consent === null) return null;
    this.#context.background(this.#afterSignIn(name, config, consent.flow_id));
    return { kind: 'auth_required', authorizationUrl: consent.authorization_url };
  }

  async #afterSignIn(name: string, config: ServerConfig, flow_id: string): Promise<void> {
    try {
      const { outcome } = await this.#context.ask(
        mcpAuth,
        'signInEnded',
        { server: name, flow_id },
        { deadlineMs: SIGN_IN_MS_MAX + SIGN_IN_GRACE_MS },
      );
      // Somebody may have changed or dropped the server meanwhile.
      if (outcome !== 'signed_in' || this.#options.sessions.get(name) === undefined) return;
      if (this.#options.configOf(name) !== config) return;
      await this.#attempt(name, config);
    } catch (error) {
      if (!isFault(error)) throw error;
      if (this.#context.signal.aborted) return;
      const fields = { category: 'mcp', server: name, error: errorText(error) };
      this.#context.log.warn(fields, 'what came of a sign-in is not known');
    }
  }
}

async function failedAsAnswer(attempt: () => Promise<ConnectAnswer>): Promise<ConnectAnswer> {
  try {
    return await attempt();
  } catch (error) {
    if (!isFault(error)) throw error;
    return {
      kind: 'failed',
      error: error.code === 'ask_timeout' ? 'it did not answer in time' : error.message,
    };
  }
}

/** The answer, or that there is none yet. */
function within(
  { clock }: ActorContext,
  answer: Promise<ConnectAnswer>,
  waitMs: number,
): Promise<ConnectAnswer> {
  return new Promise((resolve, reject) => {
    const timer = clock.startTimer(waitMs, () =>
      resolve({ kind: 'failed', error: `no answer within ${waitMs / 1000} s; the connecting goes on` }),
    );
    answer.then(resolve, reject).finally(() => timer.cancel());
  });
}
