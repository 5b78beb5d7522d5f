// Providers actor: one on the edge thread. Owns the registry, the caches of lists and health, and decides which model runs
// a turn. It asks providers for their lists; it never makes a completion (see completions.ts).
// P1 Settings are read at each message, so a change counts from the next message on; a turn that runs keeps its connection.
// P2 No key leaves this actor except inside of a route for a run, or of a connection for an embedding.
// P3 Endpoints are registered one after the other: each change is merged onto what the one before has stored.
// P4 Lists are fetched in the background after the start and when a connection changes, so that turns need not wait.

import type { LookupFunction } from 'node:net';
import { refusalOf } from '../../egress/guard.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { follow } from '../../supervisor/following.ts';
import { config, type Settings } from '../config/protocol.ts';
import { summaryOf } from './capabilities.ts';
import { tryEndpoint } from './endpoint-trial.ts';
import { connectionTo, type Endpoint, endpointId, mergeEndpoint, storedEndpoint } from './endpoints.ts';
import { createModelLists, LISTING_MS_MAX, type Listing } from './model-lists.ts';
import { createModelRouter, failureText, type Landscape } from './model-router.ts';
import { priceOf } from './pricing.ts';
import { type Connection, isRefusal, providerFaults, providers } from './protocol.ts';
import { createProviderHealth } from './provider-health.ts';
import { connectionsOf, egressOf, registryOf } from './registry.ts';
import { openTransport } from './transport.ts';

const HEALTH_WAIT_MS = 4_000;
const SAMPLE_MODELS = 5;

export interface ProvidersArgs {
  /** Whether the API can be reached from outside: then registered endpoints must not lead inside. */
  readonly isExposed: boolean;
  /** How names are resolved; the system's way when absent. */
  readonly lookup?: LookupFunction;
}

export const providersActor = actor({
  module: import.meta.url,
  exportName: 'providersActor',
  protocol: providers,
  setup(context: ActorContext<typeof providers>, { isExposed, lookup }: ProvidersArgs) {
    const transport = openTransport(lookup === undefined ? {} : { lookup });
    const lists = createModelLists({ transport, clock: context.clock, isPresent });
    const health = createProviderHealth(context.clock);
    const router = createModelRouter({ lists, health, listingOf });
    /** The connections as they were last seen: what was learnt of one that changed is forgotten. */
    let lastSeen: Landscape['connections'] = new Map();
    /** P3. */
    let lastChange: Promise<unknown> = Promise.resolve();
    context.onStop(() => {
      lists.close();
      return transport.close();
    });
    // P4.
    follow(
      context,
      config,
      'changes',
      {},
      {
        onBegun: warmLists,
        onItem: (keys) => keys.some((key) => key.startsWith('providers.')) && warmLists(),
      },
    );

    return {
      async list() {
        const { registry } = await current();
        const entries = Array.from(registry, async ([name, { connection, advice }]) => {
          if (connection === null) return { name, status: 'not_configured', error: advice };
          const listing = await listingOf(connection);
          return {
            name,
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
          learn(connection, listing);
          const entry =
            listing?.kind === 'listed'
              ? { status: 'healthy', models_available: listing.models.length }
              : { status: 'unhealthy', error: failureText(listing) };
          return [connection.provider, entry] as const;
        });
        const entries = await Promise.all(checks);
        const isWell = entries.every(([, entry]) => entry.status === 'healthy');
        return { status: isWell ? 'healthy' : 'degraded', providers: Object.fromEntries(entries) };
      },

      async catalog() {
        const { registry } = await current();
        const entries = Array.from(registry.values(), ({ entry }) => entry);
        const configured = entries.filter((entry) => entry.configured).length;
        return { providers: entries, count: entries.length, configured };
      },

      async register({ id: given, ...draft }) {
        const id = endpointId(given);
        const merged = (settings: Settings): Endpoint =>
          mergeEndpoint(id, draft, storedEndpoint(settings, id));
        const { settings } = await current();
        await refuseInside(merged(settings).base_url, settings);
        await changeEndpoints((latest) => ({ ...latest['providers.custom'], [id]: merged(latest) }));
        const { registry } = await current();
        const stored = registry.get(id);
        if (stored === undefined) throw providerFaults.endpoint_not_found(`${id} was removed meanwhile`);
        return { provider: stored.entry };
      },

      async unregister({ id: given }) {
        const id = given.trim().toLowerCase();
        await changeEndpoints((settings) => {
          if (storedEndpoint(settings, id) === null) {
            throw providerFaults.endpoint_not_found(`No endpoint is registered as ${id}`);
          }
          const { [id]: _, ...others } = settings['providers.custom'];
          return others;
        });
        await current();
        return { status: 'deleted', id, referencing_profiles: [] };
      },

      async test({ id: given, ...draft }, { signal }) {
        const { settings, connections } = await current();
        const id = given?.trim().toLowerCase() || 'draft';
        const endpoint = mergeEndpoint(
          id,
          draft,
          storedFor(id, draft.base_url ?? null, settings, connections),
        );
        const egress = egressOf(settings, isExposed);
        return tryEndpoint(connectionTo(id, endpoint, egress), transport, context.clock, signal);
      },

      async route({ model, fallback }) {
        const landscape = await current();
        const requested = model?.trim() || null;
        return {
          requested,
          ...(await router.preview({ requested, fallback: fallback ?? null }, landscape)),
          fallback_enabled: landscape.settings['models.fallback_enabled'],
        };
      },

      resolve: async (question) => router.resolve(question, await current()),

      async connection({ provider, model }) {
        const { registry } = await current();
        const known = registry.get(provider);
        if (known == null) throw providerFaults.model_not_found(`There is no provider ${provider}`);
        if (known.connection === null)
          throw providerFaults.model_not_found(`${provider} is not configured: ${known.advice}`);
        const listed = lists.known(provider)?.find(({ id }) => id === model) ?? null;
        const price = model === undefined ? null : priceOf(known.connection, model, listed);
        return { ...known.connection, price };
      },

      met({ provider, baseUrl, healthy, retryAfterMs }) {
        // A run may outlive its provider, or the address that it began with.
        if (lastSeen.get(provider)?.baseUrl === baseUrl) health.met(provider, { healthy, retryAfterMs });
      },
    };

    /** P1. */
    async function current(): Promise<Landscape> {
      const settings = await context.ask(config, 'settings', {});
      const registry = registryOf(settings, isExposed);
      const connections = connectionsOf(registry);
      for (const id of new Set([...lastSeen.keys(), ...connections.keys()])) {
        if (isSame(lastSeen.get(id), connections.get(id))) continue;
        lists.forget(id);
        health.forget(id);
      }
      lastSeen = connections;
      return { settings, registry, connections };
    }

    async function listingOf(connection: Connection): Promise<Listing | null> {
      const listing = await lists.fresh(connection, LISTING_MS_MAX);
      if (listing?.kind !== 'listed') learn(connection, listing); // One that is kept says nothing of today.
      return listing;
    }

    function isPresent(connection: Connection): boolean {
      return isSame(lastSeen.get(connection.provider), connection);
    }

    /** What a listing says about its provider's health. */
    function learn(connection: Connection, listing: Listing | null): void {
      // One whose connection changed meanwhile was given up, which is not the new one's failure.
      if (!isPresent(connection)) return;
      // A provider that refuses to list its models may still answer; one that cannot be reached will not.
      if (listing?.kind === 'failed' && isRefusal(listing.fault)) return;
      health.listed(connection.provider, listing?.kind === 'listed');
    }

    /** P3. */
    async function changeEndpoints(
      change: (settings: Settings) => Readonly<Record<string, Endpoint>>,
    ): Promise<void> {
      const changed = lastChange.then(async () => {
        const endpoints = change(await context.ask(config, 'settings', {}));
        await context.ask(config, 'assign', { 'providers.custom': endpoints });
      });
      lastChange = changed.catch(() => undefined);
      await changed;
    }

    /** An early answer; the connection is guarded whatever the name resolves to later. */
    async function refuseInside(url: string, settings: Settings): Promise<void> {
      const refused = await refusalOf(egressOf(settings, isExposed), url, lookup);
      if (refused !== null) throw providerFaults.provider_address_refused(refused.message);
    }

    async function warmLists(): Promise<void> {
      const { connections } = await current();
      const unknown = [...connections.values()].filter(({ provider }) => lists.isWorthWaitingFor(provider));
      await Promise.all(unknown.map(listingOf));
    }
  },
});

function isSame(one: Connection | undefined, other: Connection | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The stored key of a built-in provider is tried at the provider's own address only. */
function storedFor(
  id: string,
  address: string | null,
  settings: Settings,
  connections: Landscape['connections'],
): Endpoint | null {
  const stored = storedEndpoint(settings, id);
  const builtin = connections.get(id);
  if (stored !== null || builtin === undefined) return stored;
  const isOwnAddress =
    address === null ||
    (URL.canParse(address) && new URL(address).origin === new URL(builtin.baseUrl).origin);
  if (!isOwnAddress) return null;
  const { baseUrl, apiKey, headers } = builtin;
  return { label: id, base_url: baseUrl, api_key: apiKey, headers, enabled: true };
}
