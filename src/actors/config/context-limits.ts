// Context limits: how much models take in and give out, read and written model by model. Pure.
// C1 All or nothing, as an update. C2 A model's limits are replaced as a whole; null, or nothing but nulls, removes them.

import { fits } from '../../std/validation.ts';
import type { ReplyFrom, RequestTo } from '../../supervisor/protocol.ts';
import type { config } from './protocol.ts';
import { type Settings, settings } from './settings.ts';
import { type Changes, type ReadUpdate, readUpdate } from './update.ts';

const MODELS = 'context_limits.models';

type ModelLimits = Settings[typeof MODELS];

export function contextLimitsOf(effective: Settings): ReplyFrom<typeof config, 'contextLimits'> {
  return {
    lmstudio: {
      context_window: effective['context_limits.lmstudio.context_window'],
      max_output_tokens: effective['context_limits.lmstudio.max_output_tokens'],
    },
    models: effective[MODELS],
  };
}

export interface ReadLimits {
  readonly read: ReadUpdate;
  /** Dotted; what is removed begins with a minus. */
  readonly updated: readonly string[];
}

/** `known` are the limits of single models as they are. */
export function readContextLimits(
  { lmstudio, models }: RequestTo<typeof config, 'updateContextLimits'>,
  known: ModelLimits,
): ReadLimits {
  const shared = readUpdate(lmstudio === undefined ? {} : { context_limits: { lmstudio } });
  const single = readModels(models ?? {}, known);
  const errors = { ...(shared.ok ? {} : shared.errors), ...single.errors };
  if (!shared.ok || Object.keys(errors).length > 0) return { read: { ok: false, errors }, updated: [] }; // C1
  const changes: Changes = new Map<keyof Settings, unknown>([
    ...shared.changes,
    ...(single.updated.length === 0 ? [] : [[MODELS, single.limits] as const]),
  ]);
  return { read: { ok: true, changes }, updated: [...shared.changes.keys(), ...single.updated] };
}

/** C2. */
function readModels(models: Readonly<Record<string, unknown>>, known: ModelLimits) {
  const { schema, expected } = settings[MODELS];
  const limits = new Map<string, unknown>(Object.entries(known));
  const errors: Record<string, string> = {};
  const updated: string[] = [];
  for (const [model, asGiven] of Object.entries(models)) {
    const key = `${MODELS}.${model}`;
    const given = withoutNulls(asGiven);
    if (given === null) {
      if (limits.delete(model)) updated.push(`-${key}`);
    } else if (fits(schema, Object.fromEntries([[model, given]]))) {
      limits.set(model, given);
      updated.push(key);
    } else errors[key] = 'must be {context_window 1024 to 2000000, max_output_tokens 256 to 200000}, or null';
  }
  const whole = Object.fromEntries(limits);
  if (Object.keys(errors).length === 0 && !fits(schema, whole)) errors[MODELS] = `must be ${expected}`;
  return { limits: whole, errors, updated };
}

function withoutNulls(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const members = Object.entries(given).filter(([, value]) => value !== null);
  return members.length === 0 ? null : Object.fromEntries(members);
}
