// Model router: which model answers a question, with all that a turn needs to ask it. Part of the providers actor.
// M1 A live turn, its walk down the chain and the preview use one plan (routing.ts), made from the same facts.
// M2 A turn waits for lists of models only where its choice depends on them; a preview waits for all that are not there.

import { errorText } from '../../std/errors.ts';
import type { Static } from '../../std/schema.ts';
import type { Settings } from '../config/protocol.ts';
import { capabilitiesOf, isUnknown } from './capabilities.ts';
import { BUILTIN_PROVIDERS } from './catalogue.ts';
import { isChatModel } from './model-families.ts';
import { LISTING_MS_MAX, type Listing, type ModelLists } from './model-lists.ts';
import { OFFLINE_LABEL, offlineRoute } from './offline-responder.ts';
import { priceOf } from './pricing.ts';
import {
  type Connection,
  type ModelQuestion,
  type ModelRoute,
  providerFaults,
  type RouteEntry,
} from './protocol.ts';
import type { ProviderHealth } from './provider-health.ts';
import type { Registry } from './registry.ts';
import {
  type Candidate,
  MODEL_DEFAULT,
  type ModelWish,
  OFFLINE_PROVIDER,
  planRoute,
  type RoutePlan,
  type RoutingFacts,
  referenceOf,
  substitutionOf,
} from './routing.ts';

/** What a turn waits for a list that would only tell it the limits of its model. One with media waits for all of it. */
const CAPABILITIES_WAIT_MS = 1_000;

/** The providers as they are for one message. */
export interface Landscape {
  readonly settings: Settings;
  readonly registry: Registry;
  readonly connections: ReadonlyMap<string, Connection>;
}

export interface RouterParts {
  readonly lists: ModelLists;
  readonly health: ProviderHealth;
  /** A list, and what fetching it tells about the provider's health. */
  readonly listingOf: (connection: Connection) => Promise<Listing | null>;
}

export interface ModelRouter {
  /** @throws model_not_found */
  resolve(question: ModelQuestion, landscape: Landscape): Promise<ModelRoute>;
  /** @throws model_not_found */
  preview(wish: ModelWish, landscape: Landscape): Promise<Preview>;
}

export interface Preview {
  readonly resolved: Static<typeof RouteEntry>;
  readonly substituted: boolean;
  readonly candidates: Static<typeof RouteEntry>[];
}

export function createModelRouter({ lists, health, listingOf }: RouterParts): ModelRouter {
  return {
    async resolve({ model, fallback, failedProviders = [], hasMedia = false }, landscape) {
      const isOpen = ({ provider }: Candidate): boolean => !failedProviders.includes(provider);
      const wish = { requested: model, fallback };
      await listsFor(wish, landscape, isOpen);
      // From here to `sent` nothing is waited for: of many turns at once, one tries a provider that has failed.
      const plan = planRoute(wish, factsOf(landscape));
      const candidate = plan.candidates.find(isOpen);
      if (candidate === undefined) throw nothingUsable(model, landscape);
      health.sent(candidate.provider);
      return routeTo(candidate, plan, landscape, hasMedia);
    },

    async preview(wish, landscape) {
      await Promise.all(Array.from(landscape.connections.values(), listWhereUnknown));
      const plan = planRoute(wish, factsOf(landscape));
      const [first] = plan.candidates;
      if (first === undefined) throw nothingUsable(wish.requested, landscape);
      return {
        resolved: entryOf(first, landscape),
        substituted: substitutionOf(plan, first) !== null,
        candidates: plan.candidates.map((candidate) => entryOf(candidate, landscape)),
      };
    },
  };

  /** M2. */
  async function listsFor(
    wish: ModelWish,
    landscape: Landscape,
    isOpen: (candidate: Candidate) => boolean,
  ): Promise<void> {
    const first = planRoute(wish, factsOf(landscape)).candidates.find(isOpen);
    const isSure =
      first !== undefined && referenceOf(first) !== MODEL_DEFAULT && health.isHealthy(first.provider);
    if (!isSure) await Promise.all(Array.from(landscape.connections.values(), listWhereUnknown));
  }

  async function listWhereUnknown(connection: Connection): Promise<void> {
    if (lists.isWorthWaitingFor(connection.provider)) await listingOf(connection);
  }

  /** M1. */
  function factsOf({ settings, connections }: Landscape): RoutingFacts {
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
      roleModel: (role) => (Object.hasOwn(roles, role) && roles[role]) || null,
      defaultModel: settings['preferences.default_model'],
      fallbackEnabled: settings['models.fallback_enabled'],
      offlineEnabled: settings['models.offline_fallback.enabled'],
    };
  }

  async function routeTo(
    candidate: Candidate,
    plan: RoutePlan,
    { settings, connections }: Landscape,
    hasMedia: boolean,
  ): Promise<ModelRoute> {
    const { provider, modelId } = candidate;
    const substitution = substitutionOf(plan, candidate);
    if (provider === OFFLINE_PROVIDER) return offlineRoute(substitution);
    const connection = connectionTo(provider, connections);
    const asksList = hasMedia || isUnknown(connection, modelId, settings);
    if (asksList && lists.isWorthWaitingFor(provider)) {
      await lists.fetched(connection, hasMedia ? LISTING_MS_MAX : CAPABILITIES_WAIT_MS);
    }
    const listed = listedModel(candidate);
    const { contextWindow, maxOutputTokens, ...can } = capabilitiesOf(connection, modelId, listed, settings);
    return {
      reference: referenceOf(candidate),
      modelId,
      displayName: listed?.name ?? modelId,
      contextWindow,
      maxOutputTokens: maxOutputTokens ?? settings['llm_settings.default_max_tokens'],
      ...can,
      price: priceOf(connection, modelId, listed),
      connection,
      substitution,
    };
  }

  function entryOf(
    candidate: Candidate,
    { settings, registry, connections }: Landscape,
  ): Static<typeof RouteEntry> {
    const { provider, modelId } = candidate;
    const named = { model: referenceOf(candidate), model_id: modelId, provider };
    if (provider === OFFLINE_PROVIDER) {
      const { contextWindow, maxOutputTokens } = offlineRoute(null);
      return {
        ...named,
        ...{ provider_label: OFFLINE_LABEL, configured: true, healthy: true, known: true },
        ...{ context_window: contextWindow, max_output_tokens: maxOutputTokens },
        ...{ cost_per_1k_input: null, cost_per_1k_output: null },
      };
    }
    const connection = connectionTo(provider, connections);
    const listed = listedModel(candidate);
    const known = listed !== null || !isUnknown(connection, modelId, settings);
    const limits = known ? capabilitiesOf(connection, modelId, listed, settings) : null;
    const price = priceOf(connection, modelId, listed);
    return {
      ...named,
      provider_label: registry.get(provider)?.entry.label ?? provider,
      configured: true,
      healthy: health.isHealthy(provider),
      known,
      context_window: limits?.contextWindow ?? null,
      max_output_tokens: limits?.maxOutputTokens ?? null,
      cost_per_1k_input: price?.inputPer1k ?? null,
      cost_per_1k_output: price?.outputPer1k ?? null,
    };
  }

  function listedModel({ provider, modelId }: Candidate) {
    return lists.known(provider)?.find((model) => model.id === modelId) ?? null;
  }
}

function connectionTo(provider: string, connections: Landscape['connections']): Connection {
  const connection = connections.get(provider);
  if (connection === undefined) throw new Error(`chose ${provider}, which is not configured`);
  return connection;
}

/** What a listing that failed says, in one line. */
export function failureText(listing: Listing | null): string {
  return listing?.kind === 'failed' ? errorText(listing.fault) : 'no answer in time';
}

function nothingUsable(requested: string | null, { connections }: Landscape) {
  if (connections.size > 0) {
    const names = [...connections.keys()].join(', ');
    return providerFaults.model_not_found(
      `no usable model for ${requested ?? 'a turn that names none'}; configured: ${names}`,
    );
  }
  const variables = BUILTIN_PROVIDERS.map((provider) => provider.environment).join(', ');
  return providerFaults.model_not_found(
    `no model provider is configured: save a key in the settings, or set one of ${variables} before the first start`,
  );
}
