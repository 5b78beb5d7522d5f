// McpAuth actor: one on the edge thread. Holds an account for each server that was asked for. What is said to authorization
// servers, its envoy says for it, on the thread of the sessions; that starts with the first sign-in or refresh.
// A1 A callback is found by its state alone, among all servers: it takes as long whichever it belongs to, and if to none.

import { loadKey } from '../../std/key-file.ts';
import { sealer } from '../../std/sealing.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { MCP_THREAD } from '../mcp-sessions/protocol.ts';
import { envoyActor } from './envoy.ts';
import { type EnvoyDoor, envoy } from './envoy-protocol.ts';
import { type AuthState, mcpAuth } from './protocol.ts';
import { redirectUrl } from './redirect-url.ts';
import { createServerAccount, type ServerAccount } from './server-account.ts';
import { openCredentialsStore } from './store.ts';

import '../services.ts';

const ENVOY = 'envoy';

export interface McpAuthArgs {
  /** Where the key that seals stored secrets is, or will be. */
  readonly keyFile: string;
  /** SVC_OAUTH_REDIRECT_URL. */
  readonly redirectOverride: string | undefined;
  /** Where the service listens, once it does. */
  readonly servedAt: () => string | null;
}

export const mcpAuthActor = actor({
  module: import.meta.url,
  exportName: 'mcpAuthActor',
  protocol: mcpAuth,
  async setup(context: ActorContext<typeof mcpAuth>, args: McpAuthArgs) {
    const key = await loadKey(args.keyFile, (warning) => context.log.warn({ category: 'mcp' }, warning));
    const store = openCredentialsStore(context.services.storage, sealer(key), (server) =>
      context.log.error(
        { category: 'mcp', server },
        'stored tokens were sealed with another key, and count as none',
      ),
    );
    const accounts = new Map<string, ServerAccount>();
    let isSent = false;
    const named = context.named(envoy);
    const door: EnvoyDoor = {
      async ask(name, message, options) {
        if (!isSent) startEnvoy();
        // It comes back under its name when its thread was lost; so long whoever needs it waits.
        await context.childStarted(ENVOY);
        return named.ask(name, message, options);
      },
    };

    return {
      async settleSignIn(arrival) {
        const { state, code, error } = arrival;
        if (state === undefined || (code === undefined && error === undefined))
          return { outcome: 'incomplete' };
        // A1
        const [awaiting] = Array.from(accounts.values()).filter(({ signingIn }) => signingIn.awaits(state));
        return { outcome: (await awaiting?.signingIn.settle(arrival)) ?? 'unknown' };
      },

      accessToken: async ({ account }) => ({ token: await accountOf(account.server).accessToken(account) }),
      challenged: ({ account, challenge }) => accountOf(account.server).challenged(account, challenge),
      newAttempt({ server }) {
        accounts.get(server)?.newAttempt();
        return {};
      },
      consent: ({ server }) => accounts.get(server)?.signingIn.consent() ?? null,
      signInEnded: ({ server, flow_id }) =>
        accounts.get(server)?.signingIn.ended(flow_id) ?? { outcome: 'cancelled', error: null },
      states: ({ servers }) =>
        Object.fromEntries(
          servers.map(({ server, url }): [string, AuthState] => [server, accountOf(server).state(url)]),
        ),
      async reset({ server }) {
        return { cleared: await accountOf(server).reset() };
      },
      cancel: ({ server }) => ({ cancelled: accounts.get(server)?.signingIn.cancel() ?? false }),
      async rename({ server, to }) {
        // Neither name keeps what it knew.
        await Promise.all([accounts.get(server)?.rest(), accounts.get(to)?.rest()]);
        accounts.delete(server);
        accounts.delete(to);
        await store.rename(server, to);
        return {};
      },
    };

    function accountOf(server: string): ServerAccount {
      const known = accounts.get(server);
      if (known !== undefined) return known;
      const account = createServerAccount(server, {
        clock: context.clock,
        random: context.random,
        log: context.log,
        store,
        envoy: door,
        redirectUrl: () => redirectUrl({ override: args.redirectOverride, servedAt: args.servedAt() }),
        after: (delayMs, fire) => context.after(`sign-in:${server}`, delayMs, fire),
      });
      accounts.set(server, account);
      return account;
    }

    function startEnvoy(): void {
      context.spawn(envoyActor, undefined, { id: ENVOY, name: true, placement: { thread: MCP_THREAD } });
      isSent = true;
    }
  },
});
