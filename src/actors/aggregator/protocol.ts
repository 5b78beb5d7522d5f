// Aggregator: OpenRouter beyond its models: linking an account, what is left on it, what it knows about models and bills.
// The key that a link brings is the setting `providers.openrouter.api_key`; nobody gets to see it.

import { declareFaults } from '../../std/errors.ts';
import { Type } from '../../std/schema.ts';
import { call, protocol } from '../../supervisor/protocol.ts';

export const aggregatorFaults = declareFaults({
  /** Nobody could send the browser back here. */
  callback_address_unknown: 'unprocessable',
  aggregator_not_linked: 'unprocessable',
  /** The aggregator knows no such model or generation; the latter may come later. */
  aggregator_record_not_found: 'not_found',
  aggregator_failed: 'upstream',
});

const optional = Type.Optional;
const TextOrNull = Type.Union([Type.String(), Type.Null()]);
const NumberOrNull = Type.Union([Type.Number(), Type.Null()]);
/** What the aggregator said, member by member. */
const PassedOn = Type.Record(Type.String(), Type.Unknown());

const REFS_MAX = 1_000;
const LOCATION_CHARS_MAX = 400;

const Text = Type.String({ maxLength: LOCATION_CHARS_MAX });

/** A place that names a model by an id which is no more, and the id that it has now. */
export const AliasRef = Type.Object({
  store: Type.Enum(['profile', 'config', 'memory_settings']),
  location: Text,
  label: Text,
  current: Text,
  suggested: Text,
});

export const aggregator = protocol('aggregator', {
  startLink: call({
    summary:
      'Begins to link an account: the page on which its owner consents. A link begun before is dropped.',
    request: Type.Object({}),
    reply: Type.Object({
      flow_id: Type.String(),
      authorization_url: Type.String(),
      local_callback: Type.Boolean({ description: 'The browser comes back to this machine.' }),
    }),
    faults: aggregatorFaults,
  }),
  settleLink: call({
    summary: 'Where the browser comes back to after the consent; answers a page.',
    request: Type.Object({
      nonce: Type.String(),
      code: optional(Type.String()),
      error: optional(Type.String()),
    }),
    reply: Type.Object({
      outcome: Type.Enum(['linked', 'refused', 'failed', 'incomplete', 'replayed', 'expired']),
    }),
  }),
  linkStatus: call({
    summary: 'How far a link has come; one that nobody knows has expired.',
    request: Type.Object({ flow_id: optional(Type.String()) }),
    reply: Type.Object({
      status: Type.Enum(['pending', 'linked', 'error', 'expired']),
      error: TextOrNull,
    }),
  }),
  cancelLink: call({
    summary: 'Drops a link that has not come to its end.',
    request: Type.Object({ flow_id: optional(Type.String()) }),
    reply: Type.Object({ status: Type.Enum(['cancelled', 'pending', 'linked']) }),
  }),
  unlink: call({
    summary: 'Forgets the key, here only: its owner revokes it at `revoke_url`.',
    request: Type.Object({}),
    reply: Type.Object({
      status: Type.String(),
      had_key: Type.Boolean(),
      revoke_url: Type.String(),
    }),
  }),
  account: call({
    summary:
      'What is left on the account and what was spent; `available` is false without a key that is accepted.',
    request: Type.Object({}),
    reply: Type.Object({
      available: Type.Boolean(),
      label: optional(TextOrNull),
      limit: optional(NumberOrNull),
      limit_remaining: optional(NumberOrNull),
      limit_reset: optional(TextOrNull),
      usage: optional(NumberOrNull),
      usage_daily: optional(NumberOrNull),
      usage_monthly: optional(NumberOrNull),
      is_free_tier: optional(Type.Boolean()),
      expires_at: optional(TextOrNull),
      total_credits: optional(NumberOrNull),
      total_usage: optional(NumberOrNull),
    }),
    faults: aggregatorFaults,
  }),
  scanAliases: call({
    summary: 'Which stored model ids the catalog only knows with a tilde by now.',
    request: Type.Object({}),
    reply: Type.Object({
      count: Type.Integer(),
      catalog_available: Type.Boolean({ description: 'False: nothing could be checked.' }),
      refs: Type.Array(AliasRef),
    }),
  }),
  migrateAliases: call({
    summary: 'Rewrites the given refs of a scan, those that still hold.',
    request: Type.Object({ refs: Type.Array(AliasRef, { maxItems: REFS_MAX }) }),
    reply: Type.Object({
      applied: Type.Array(Type.String()),
      failed: Type.Array(Type.Object({ location: Type.String(), error: Type.String() })),
      count: Type.Integer(),
    }),
  }),
  endpoints: call({
    summary: 'Who serves a model, with which limits and at which price.',
    request: Type.Object({
      author: Type.String({ pattern: '^~?[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' }),
      slug: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$' }),
    }),
    reply: PassedOn,
    faults: aggregatorFaults,
  }),
  generation: call({
    summary: 'What a turn was billed; there is no record yet just after it.',
    request: Type.Object({ id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,200}$' }) }),
    reply: PassedOn,
    faults: aggregatorFaults,
  }),
});
