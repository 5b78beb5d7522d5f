// Usage: the ledger of what turns used, and the budgets that stop them.
// L1 A turn is entered once, by its id and its source; told again, nothing changes. It counts on the day, in UTC, on which it
//    was entered. What is entered is committed before it is acknowledged.
// L2 An unknown cost is not zero: a sum of costs is that of the known ones, and says how many turns it leaves out.
// L3 A report answers from sums that are kept per day: how many turns there were makes no difference.
// L4 With a budget set, a call of a model needs leave. The day's budget holds what the ledger has of today and what the turns
//    under way have spent and reserved, so it holds for many at once too. A turn under way counts for today.
// L5 What was reserved is an estimate: a budget can be passed by what the calls under way cost beyond it, and by calls of
//    models without a known price.

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol, tell } from '../../supervisor/protocol.ts';
import type { Price } from '../providers/protocol.ts';

export const usageFaults = declareFaults({
  /** A setting forbids it, until it is changed or, for that of the day, until tomorrow. */
  budget_exceeded: 'unprocessable',
});

/** What may cost something. */
export const USAGE_SOURCES = [
  'chat',
  /** Direct completions of the clients of OpenAI's API. */
  'api',
  'alloy',
  'ambassador_llm',
  'ambassador_tts',
  'ambassador_stt',
  'chat_tts',
  'image',
  'search',
  /** Tags and summaries of documents. */
  'documents',
  /** Vectors that a provider makes; a turn is what was asked for at once. */
  'embeddings',
] as const;
export type UsageSource = (typeof USAGE_SOURCES)[number];

/** Groups what no agent is named for. */
export const AGENT_UNNAMED = '_default';
export const USAGE_DAYS_DEFAULT = 14;
export const USAGE_DAYS_MAX = 90;

/** What a turn is known by. The id is its owner's: a run's, say. */
export interface TurnKey {
  readonly turn_id: string;
  readonly source: UsageSource;
}

/** What a turn used in all, as far as it is known. */
export interface TurnUsage {
  /** As `done` names it; the last one that answered where there were several. */
  readonly model: string;
  readonly agent_id: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** US dollars; null when nobody can say (L2). */
  readonly costUsd: number | null;
  /** Null when it was lost with who ran it. */
  readonly latencyMs: number | null;
}

/** Most answers are shorter, and reserving the longest that a model may give would refuse what is cheap in the end. */
const ANSWER_TOKENS_EXPECTED = 1_000;

/** What a call is expected to cost: its input and a short answer, at the list price. Null when the model has no known price. */
export function expectedUsd(
  price: Price | null | undefined,
  inputTokens: number,
  outputTokensMax: number | null,
): number | null {
  if (!price) return null;
  const answerTokens = Math.min(outputTokensMax ?? ANSWER_TOKENS_EXPECTED, ANSWER_TOKENS_EXPECTED);
  return (inputTokens * price.inputPer1k + answerTokens * price.outputPer1k) / 1_000;
}

const Counters = {
  turns: Type.Integer(),
  tokens_input: Type.Integer(),
  tokens_output: Type.Integer(),
  tokens_total: Type.Integer(),
  /** US dollars, as far as costs are known (L2). */
  cost_total: Type.Number(),
  /** Turns of which no cost is known. */
  turns_unpriced: Type.Integer(),
};

export const UsageReport = Type.Object({
  totals: Type.Object({ ...Counters, cost_currency: Type.String(), avg_latency_ms: Type.Number() }),
  by_model: Type.Array(Type.Object({ model: Type.String(), ...Counters })),
  by_agent: Type.Array(Type.Object({ agent_id: Type.String(), ...Counters })),
  by_source: Type.Array(Type.Object({ source: Type.String(), ...Counters })),
  /** Every day of the window, the oldest first. */
  daily: Type.Array(
    Type.Object({
      date: Type.String(),
      turns: Type.Integer(),
      tokens_total: Type.Integer(),
      cost_total: Type.Number(),
    }),
  ),
  days: Type.Integer(),
  /** Present when the ledger cannot be read: all numbers are zero then. */
  unavailable: Type.Optional(Type.Literal(true)),
});
export type UsageReport = Static<typeof UsageReport>;

export const usage = protocol('usage', {
  report: call({
    summary: 'What all turns of the last days used and cost, by model, agent, source and day.',
    request: Type.Object({
      /** Today included; more or less than there may be is brought within the bounds. */
      days: Type.Optional(Type.Integer({ default: USAGE_DAYS_DEFAULT })),
    }),
    reply: UsageReport,
  }),

  // Between actors only.
  /** Enters a turn that is over (L1); ends what it has reserved. */
  record: call<TurnKey & TurnUsage, void>(),
  /** The turn is over and used nothing that is known. */
  discard: tell<TurnKey>(),
  /** Leave for a turn's next call of a model (L4). Answered at once when no budget is set. */
  admit: call<
    TurnKey & {
      /** By the calls before it, those of an earlier life of the turn included. */
      readonly spentUsd: number;
      /** What the call is expected to cost; null when the model has no known price. */
      readonly expectedUsd: number | null;
    },
    void
  >({ faults: usageFaults }),
});
