// Config: the settings that a user can change while the service runs, their defaults, and where they came from.
// G1 A key is declared once, in `settings.ts`: type, default, bounds, secrecy, environment seed.
// G2 An update is all or nothing; undeclared keys are ignored; a refused one answers an error per key.
// G3 Secrets are redacted in every reply to a client.

import { declareFaults } from '../../std/errors.ts';
import { Type } from '../../std/schema.ts';
import { call, protocol, stream } from '../../supervisor/protocol.ts';
import type { SettingKey, Settings } from './settings.ts';

export type { SettingKey, Settings } from './settings.ts';

export const configFaults = declareFaults({ config_invalid: 'invalid' });

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

  // Between actors only.
  /** Every setting with its effective value, secrets included. */
  settings: call<Record<string, never>, Settings>(),
  /** Sets what has routes of its own, and what clients may write too; all or nothing. */
  assign: call<Partial<Settings>, Record<string, never>>({ faults: configFaults }),
  /** The keys that are set from now on, as they are; what comes while a reader is busy comes as one item. */
  changes: stream<Record<string, never>, readonly SettingKey[]>(),
});
