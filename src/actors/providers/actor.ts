// Providers actor: one on the edge thread. Owns the registry, the caches of lists and health, and decides which model runs
// a turn. It asks providers for their lists; it never makes a completion (see completions.ts).
// P1 Settings are read at each message, so a change counts from the next message on; a turn that runs keeps its connection.
// P2 No key leaves this actor except inside of a route for a run.

import { errorText } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { config, type Settings } from '../config/protocol.ts';
import { capabilitiesOf, isUnknown, summaryOf } from './capabilities.ts';
import { BUILTIN_PROVIDERS, connectionsOf, howToConfigure } from './catalogue.ts';
import { isChatModel } from './model-families.ts';
import { createModelLists, LISTING_MS_MAX, type Listing } from './model-lists.ts';
import { offlineRoute } from './offline-responder.ts';
import { type Connection, type ModelRoute, providerFaults, providers } from './protocol.ts';
import { createProviderHealth } from './provider-health.ts';
import {
  chooseModel,
  MODEL_DEFAULT,
  type ModelChoice,
  OFFLINE_PROVIDER,
  type RoutingFacts,
} from './routing.ts';
import { openTransport } from './transport.ts';

const HEALTH_WAIT_MS = 4_000;
/** What a turn waits for a list that would only tell it the limits of its model. */
const CAPABILITIES_WAIT_MS = 1_000;
const SAMPLE_MODELS = 5;

type Connections = ReadonlyMap<string, Connection>;

export const providersActor = actor({
  module: import.meta.url,
  exportName: 'providersActor',
  protocol: providers,
  setup(context: ActorContext<typeof providers>) {
    const transport = openTransport();
    const lists = createModelLists(transport, context.clock);
    const health = createProviderHealth(context.clock);
    /** The connections as they were last seen: what was learnt of one that changed is forgotten. */
    let lastSeen = new Map<string, string>();
    context.onStop(() => {
      lists.close();
      return transport.close();
    });

    return {
      async list() {
        const { connections } = await current();
        const entries = BUILTIN_PROVIDERS.map(async (provider) => {
          const connection = connections.get(provider.id);
          if (connection === undefined) {
            return { name: provider.id, status: 'not_configured', error: howToConfigure(provider) };
          }
          const listing = await listingOf(connection);
          return {
            name: provider.id,
            status: 'configured',
            ...(listing?.kind === 'listed'
              ? { models: listing.models.slice(0, SAMPLE_MODELS).map((model) => model.id) }
              : { error: failureText(listing) }),
          };
        });
        return { providers: await Promise.all(entries) };
      },

      async models({ provider }) {
        const { settings, connections } = await current();
        const asked = [...connections.values()].filter(
          (connection) => provider === undefined || connection.provider === provider,
        );
        const found = await Promise.all(
          asked.map(async (connection) => {
            const listing = await listingOf(connection);
            if (listing?.kind !== 'listed') return [];
            return listing.models.map((model) => summaryOf(connection, model, settings));
          }),
        );
        const models = found.flat();
        return { models, count: models.length };
      },

      async health() {
        const { connections } = await current();
        const checks = Array.from(connections.values(), async (connection) => {
          const listing = await lists.fetched(connection, HEALTH_WAIT_MS);
          const isHealthy = listing?.kind === 'listed';
          health.met(connection.provider, isHealthy);
          const entry = isHealthy
            ? { status: 'healthy', models_available: listing.models.length }
            : { status: 'unhealthy', error: failureText(listing) };
          return [connection.provider, entry] as const;
        });
        const entries = await Promise.all(checks);
        const isWell = entries.every(([, entry]) => entry.status === 'healthy');
        return { status: isWell ? 'healthy' : 'degraded', providers: Object.fromEntries(entries) };
      },

      async resolve({ model }) {
        const { settings, connections } = await current();
        const choice = await choose(model, settings, connections);
        if (choice === null) throw providerFaults.model_not_found(nothingUsable(model, connections));
        if (choice.provider === OFFLINE_PROVIDER) return offlineRoute(choice.substitution);
        const connection = connections.get(choice.provider);
        if (connection === undefined) throw new Error(`chose ${choice.provider}, which is not configured`);
        return routeTo(choice, connection, settings);
      },

      met({ provider, healthy }) {
        health.met(provider, healthy);
      },
    };

    /** P1. */
    async function current(): Promise<{ readonly settings: Settings; readonly connections: Connections }> {
      const settings = await context.ask(config, 'settings', {});
      const connections = connectionsOf(settings);
      const seen = new Map(Array.from(connections, ([id, connection]) => [id, JSON.stringify(connection)]));
      for (const id of new Set([...lastSeen.keys(), ...seen.keys()])) {
        if (lastSeen.get(id) === seen.get(id)) continue;
        lists.forget(id);
        health.forget(id);
      }
      lastSeen = seen;
      return { settings, connections };
    }

    async function listingOf(connection: Connection): Promise<Listing | null> {
      const listing = await lists.fresh(connection, LISTING_MS_MAX);
      // A provider that refuses to list its models may still answer; one that cannot be reached will not.
      const isGone = listing?.kind === 'failed' && listing.fault.code !== 'provider_rejected';
      if (listing === null || isGone) health.met(connection.provider, false);
      return listing;
    }

    /** Asks for lists only where the choice depends on them. */
    async function choose(
      requested: string | null,
      settings: Settings,
      connections: Connections,
    ): Promise<ModelChoice | null> {
      const facts = factsOf(settings, connections);
      const first = chooseModel(requested, facts);
      const isDefault = first !== null && `${first.provider}:${first.modelId}` === MODEL_DEFAULT;
      const isWeak = first === null || isDefault || !isUsable(first, connections);
      if (!isWeak || connections.size === 0) return first;
      await Promise.all(
        Array.from(connections.values(), async (connection) => {
          if (lists.isWorthWaitingFor(connection.provider)) await listingOf(connection);
        }),
      );
      return chooseModel(requested, facts);
    }

    function isUsable(choice: ModelChoice, connections: Connections): boolean {
      return connections.has(choice.provider) && health.isHealthy(choice.provider);
    }

    function factsOf(settings: Settings, connections: Connections): RoutingFacts {
      const roles: Readonly<Record<string, string>> = {
        fast_utility: settings['models.roles.fast_utility'],
        deep_reasoning: settings['models.roles.deep_reasoning'],
        summarizer: settings['models.roles.summarizer'],
      };
      return {
        configured: [...connections.keys()],
        isHealthy: health.isHealthy,
        firstModel: (id) => lists.known(id)?.find((model) => isChatModel(model.id))?.id ?? null,
        hasModel: (id, modelId) => lists.known(id)?.some((model) => model.id === modelId) ?? null,
        roleModel: (role) => roles[role] || null,
        defaultModel: settings['preferences.default_model'],
        fallbackEnabled: settings['models.fallback_enabled'],
        offlineEnabled: settings['models.offline_fallback.enabled'],
      };
    }

    async function routeTo(
      choice: ModelChoice,
      connection: Connection,
      settings: Settings,
    ): Promise<ModelRoute> {
      const { provider, modelId, substitution } = choice;
      if (isUnknown(connection, modelId, settings) && lists.isWorthWaitingFor(provider)) {
        await lists.fetched(connection, CAPABILITIES_WAIT_MS);
      }
      const listed = lists.known(provider)?.find((model) => model.id === modelId) ?? null;
      const { contextWindow, maxOutputTokens, supportsTools } = capabilitiesOf(
        connection,
        modelId,
        listed,
        settings,
      );
      return {
        reference: `${provider}:${modelId}`,
        modelId,
        displayName: listed?.name ?? modelId,
        contextWindow,
        maxOutputTokens,
        supportsTools,
        connection,
        substitution,
      };
    }
  },
});

function failureText(listing: Listing | null): string {
  return listing?.kind === 'failed' ? errorText(listing.fault) : 'no answer in time';
}

function nothingUsable(requested: string | null, connections: Connections): string {
  if (connections.size > 0) {
    const names = [...connections.keys()].join(', ');
    return `no usable model for ${requested ?? 'a turn that names none'}; configured: ${names}`;
  }
  const variables = BUILTIN_PROVIDERS.map((provider) => provider.environment).join(', ');
  return `no model provider is configured: save a key in the settings, or set one of ${variables} before the first start`;
}
