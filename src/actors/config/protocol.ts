// Config: the settings that a user can change while the service runs, their defaults, and where they came from.
// G1 A key is declared once, in `declarations/`: all that is known about it is worked out from there.
// G2 An update is all or nothing; undeclared keys are ignored; a refused one answers an error per key.
// G3 Secrets are redacted in every reply to a client.
// G4 A change is durable before it is acknowledged, and holds for whoever asks from then on: nothing is restarted.

import { declareFaults } from '../../std/errors.ts';
import { type TSchema, Type } from '../../std/schema.ts';
import { call, protocol, stream } from '../../supervisor/protocol.ts';
import type { SettingKey, Settings } from './settings.ts';

export type { SettingKey, Settings } from './settings.ts';

export const configFaults = declareFaults({ config_invalid: 'invalid' });

const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const optional = Type.Optional;

const Help = Type.Object({
  summary: Type.String(),
  what: Type.String(),
  how: optional(Type.String()),
  why: optional(Type.String()),
  manage: optional(Type.String()),
});

const ManifestEntry = Type.Object({
  key: Type.String(),
  store: Type.String(),
  type: Type.String(),
  default: Type.Unknown(),
  value: Type.Unknown({ description: 'As it is now; of a secret no more than that it is set.' }),
  secret: Type.Boolean(),
  writable_via: orNull(Type.String()),
  role_member: optional(Type.String()),
  role: optional(Type.String()),
  constraints: optional(
    Type.Object({
      min: optional(Type.Number()),
      max: optional(Type.Number()),
      step: optional(Type.Number()),
      enum: optional(Type.Array(Type.String())),
      unit: optional(Type.String()),
    }),
  ),
  tier: optional(Type.String()),
  ui_section: optional(orNull(Type.String())),
  write_mode: optional(Type.String()),
  nullable: optional(Type.Boolean()),
  empty_means: optional(Type.String()),
  help: optional(Help),
});

const ManifestSection = Type.Object({
  id: Type.String(),
  label: Type.String(),
  group: Type.String(),
  writable_count: Type.Integer(),
  help: Help,
});

const Role = Type.Object({ label: Type.String(), description: Type.String(), model: Type.String() });

const RoleMember = Type.Object({
  member: Type.String(),
  label: Type.String(),
  role: Type.String(),
  kind: Type.String(),
  source: Type.String({ description: 'The setting that it is.' }),
  explicit: Type.String(),
  role_model: Type.String(),
  effective: Type.String(),
  following: Type.Enum(['explicit', 'role', 'fallback']),
});

const ContextLimits = Type.Object({
  context_window: Type.Integer(),
  max_output_tokens: Type.Integer(),
});

export const config = protocol('config', {
  view: call({
    summary: 'The runtime configuration, secrets redacted.',
    request: Type.Object({}),
    reply: Type.Record(Type.String(), Type.Unknown()),
  }),
  update: call({
    summary: 'Changes settings: a tree of sections; all or nothing.',
    request: Type.Record(Type.String(), Type.Unknown()),
    reply: Type.Object({
      status: Type.String(),
      message: Type.String(),
      updated: Type.Array(Type.String()),
    }),
    faults: configFaults,
  }),
  manifest: call({
    summary: 'Every setting: what it takes, what it is for, who may set it, and its value; secrets redacted.',
    request: Type.Object({ version: optional(Type.Integer({ minimum: 1 })) }),
    reply: Type.Object({
      version: Type.Integer(),
      generated_at: Type.String(),
      counts: Type.Object({ total: Type.Integer(), memory: Type.Integer(), config: Type.Integer() }),
      entries: Type.Array(ManifestEntry),
      sections: optional(Type.Array(ManifestSection)),
      errors: optional(Type.Record(Type.String(), Type.String())),
    }),
  }),
  roles: call({
    summary: 'The roles of models, and which model each task that follows one uses today.',
    request: Type.Object({}),
    reply: Type.Object({
      roles: Type.Record(Type.String(), Role),
      members: Type.Array(RoleMember),
    }),
  }),
  adoptRoles: call({
    summary: 'Lets every stage of the consolidation of memory follow its role again.',
    request: Type.Object({}),
    reply: Type.Object({ success: Type.Boolean(), adopted: Type.Array(Type.String()) }),
  }),
  contextLimits: call({
    summary: 'How much models take in and give out, where that was set.',
    request: Type.Object({}),
    reply: Type.Object({
      lmstudio: ContextLimits,
      models: Type.Record(Type.String(), Type.Partial(ContextLimits)),
    }),
  }),
  updateContextLimits: call({
    summary: 'Sets or, with null, removes the limits of single models; all or nothing.',
    request: Type.Object({
      lmstudio: optional(Type.Record(Type.String(), Type.Unknown())),
      models: optional(Type.Record(Type.String(), Type.Unknown())),
    }),
    reply: Type.Object({ status: Type.String(), updated: Type.Array(Type.String()) }),
    faults: configFaults,
  }),

  // Between actors only.
  /** Every setting with its effective value, secrets included. */
  settings: call<Record<string, never>, Settings>(),
  /** Sets what has routes of its own, and what clients may write too; all or nothing. */
  assign: call<Partial<Settings>, Record<string, never>>({ faults: configFaults }),
  /** The keys that are set from now on, as they are; what comes while a reader is busy comes as one item. */
  changes: stream<Record<string, never>, readonly SettingKey[]>(),
});
