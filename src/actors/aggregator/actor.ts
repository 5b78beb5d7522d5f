// Aggregator actor: one on the edge thread. Holds the link that is being made and what was last heard of the account.
// A1 One link at a time; it lives in memory. A service that was restarted meanwhile knows it no more: it has expired.
// A2 Verifier and key leave this actor to the aggregator and to the settings only; logs and answers say that, never what.
// A3 Settings are read at each message, so a key that was changed elsewhere counts at once.

import { isFault } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { config } from '../config/protocol.ts';
import { OPENROUTER_BASE_URL } from '../providers/protocol.ts';
import { createAccountCache } from './account.ts';
import { authorizationUrl, callbackBase, revokeUrl } from './addresses.ts';
import { type AliasRef, catalogIds, renamedRefs, verifyRefs } from './alias-migration.ts';
import {
  beginFlow,
  cancelOf,
  challengeOf,
  claimFlow,
  failed,
  inPhase,
  type LinkFlow,
  statusOf,
} from './link-flow.ts';
import { aggregator, aggregatorFaults } from './protocol.ts';
import { type ReferenceSource, settingReferences } from './setting-references.ts';
import {
  CATALOG_BYTES_MAX,
  dataOf,
  memberOf,
  openUpstream,
  type UpstreamAccess,
  type UpstreamAnswer,
} from './upstream.ts';

const CALLBACK_PATH = '/api/providers/openrouter/oauth/callback';

export interface AggregatorArgs {
  /** SVC_AGGREGATOR_CALLBACK_BASE and SVC_PUBLIC_HOST. */
  readonly callbackBase: string | undefined;
  readonly publicHost: string | undefined;
  /** Where the service listens, once it does. */
  readonly servedAt: () => string | null;
}

type Outcome = 'linked' | 'failed' | 'expired';

export const aggregatorActor = actor({
  module: import.meta.url,
  exportName: 'aggregatorActor',
  protocol: aggregator,
  setup(context: ActorContext<typeof aggregator>, args: AggregatorArgs) {
    const upstream = openUpstream(context.clock);
    const accounts = createAccountCache(upstream, context.clock);
    const sources: readonly ReferenceSource[] = [settingReferences(context)];
    /** A1. */
    let flow: LinkFlow | null = null;
    context.onStop(() => upstream.close());

    return {
      async startLink() {
        const callback = callbackBase({
          base: args.callbackBase,
          publicHost: args.publicHost,
          servedAt: args.servedAt(),
        });
        if (callback === null) {
          throw aggregatorFaults.callback_address_unknown(
            'The browser could not be sent back here: set SVC_AGGREGATOR_CALLBACK_BASE',
          );
        }
        const { baseUrl } = await access();
        const begun = beginFlow(baseUrl, context.random, context.clock.monotonicMs());
        flow = begun;
        const callbackUrl = `${callback.address}${CALLBACK_PATH}/${begun.id}`;
        return {
          flow_id: begun.id,
          authorization_url: authorizationUrl(baseUrl, callbackUrl, challengeOf(begun)),
          local_callback: callback.isLocal,
        };
      },

      async settleLink(arrival) {
        const claim = claimFlow(flow, arrival, context.clock.monotonicMs());
        if (claim.kind === 'claimed') {
          flow = claim.flow;
          return { outcome: await exchange(claim.flow, claim.code) };
        }
        if (claim.kind === 'refused') flow = claim.flow;
        return { outcome: claim.kind };
      },

      linkStatus: ({ flow_id }) => statusOf(flow, flow_id, context.clock.monotonicMs()),

      cancelLink({ flow_id }) {
        const status = cancelOf(flow, flow_id);
        if (status === 'cancelled' && flow?.id === flow_id) flow = null;
        return { status };
      },

      async unlink() {
        // A key that is being stored is not among the settings yet; it is forgotten right after.
        const isComing = flow?.phase.kind === 'storing';
        flow = null;
        const { baseUrl, apiKey } = await access();
        const had_key = apiKey !== null || isComing;
        if (had_key) await context.ask(config, 'assign', { 'providers.openrouter.api_key': null });
        accounts.clear();
        return { status: 'unlinked', had_key, revoke_url: revokeUrl(baseUrl) };
      },

      account: async () => accounts.get(await access()),

      async scanAliases() {
        const refs = await scan();
        return { count: refs?.length ?? 0, catalog_available: refs !== null, refs: [...(refs ?? [])] };
      },

      async migrateAliases({ refs }) {
        const { confirmed, refused } = verifyRefs(refs, await scan());
        for (const source of sources) {
          const own = confirmed.filter(({ store }) => source.stores.has(store));
          if (own.length > 0) await source.rewrite(own);
        }
        const applied = confirmed.map(({ location }) => location);
        return { applied, failed: [...refused], count: applied.length };
      },

      async endpoints({ author, slug }) {
        const answer = await upstream.get(await access(), `/models/${author}/${slug}/endpoints`);
        return passedOn(answer, `The aggregator knows no model ${author}/${slug}`);
      },

      async generation({ id }) {
        const current = await access();
        if (current.apiKey === null) {
          throw aggregatorFaults.aggregator_not_linked('No account of the aggregator is linked');
        }
        const answer = await upstream.get(current, `/generation?id=${id}`);
        return passedOn(answer, `The aggregator has no record of ${id}, or not yet`);
      },
    };

    /** A3. */
    async function access(): Promise<UpstreamAccess> {
      const settings = await context.ask(config, 'settings', {});
      return {
        baseUrl: settings['providers.openrouter.base_url'] ?? OPENROUTER_BASE_URL,
        apiKey: settings['providers.openrouter.api_key'],
      };
    }

    /** The flow is claimed. It may be dropped while the aggregator is asked; a key that comes then is not kept. */
    async function exchange(claimed: LinkFlow, code: string): Promise<Outcome> {
      const body = { code, code_verifier: claimed.verifier, code_challenge_method: 'S256' };
      const answer = await upstream.post({ baseUrl: claimed.baseUrl, apiKey: null }, '/auth/keys', body);
      if (flow !== claimed) return 'expired';
      const key = answer.kind === 'answered' ? memberOf(answer.body, 'key') : undefined;
      if (typeof key !== 'string' || key === '') {
        flow = failed(claimed, 'The aggregator did not exchange the code for a key.');
        context.log.warn({ category: 'providers', reason: reasonOf(answer) }, 'an account was not linked');
        return 'failed';
      }
      const storing = inPhase(claimed, { kind: 'storing' });
      flow = storing;
      const isStored = await stored(key);
      accounts.clear();
      const settled = isStored
        ? inPhase(storing, { kind: 'linked' })
        : failed(storing, 'The key could not be stored.');
      if (flow === storing) flow = settled;
      return isStored ? 'linked' : 'failed';
    }

    async function stored(key: string): Promise<boolean> {
      try {
        await context.ask(config, 'assign', { 'providers.openrouter.api_key': key });
        return true;
      } catch (error) {
        if (!isFault(error)) throw error;
        context.log.error({ category: 'providers', reason: error.code }, 'a minted key was not stored');
        return false;
      }
    }

    /** Null when the catalog cannot be had. */
    async function scan(): Promise<readonly AliasRef[] | null> {
      const answer = await upstream.get(await access(), '/models', CATALOG_BYTES_MAX);
      const catalog = answer.kind === 'answered' ? catalogIds(answer.body) : null;
      if (catalog === null) return null;
      const stored = await Promise.all(sources.map((source) => source.read()));
      return renamedRefs(stored.flat(), catalog);
    }
  },
});

/** @throws what it means that there is no record */
function passedOn(answer: UpstreamAnswer, missing: string): Record<string, unknown> {
  const data = dataOf(answer);
  if (data !== null) return data;
  if (answer.kind === 'refused' && answer.status === 404) {
    throw aggregatorFaults.aggregator_record_not_found(missing);
  }
  throw aggregatorFaults.aggregator_failed(`The aggregator gave no answer: ${reasonOf(answer)}`);
}

/** A2. */
function reasonOf(answer: UpstreamAnswer): string {
  switch (answer.kind) {
    case 'refused':
      return `status ${answer.status}`;
    case 'failed':
      return answer.why;
    case 'answered':
      return 'it made no sense';
  }
}
