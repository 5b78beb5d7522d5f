// Settings: every configuration key, declared once. Type, default, bounds, secrecy, first value, page and help of a key are
// written in `declarations/`; validation, redaction, the manifest, the documentation and the type `Settings` derive from it.
// S1 A key is dotted, and its sections are the tree that clients see: `chat.max_tool_rounds` is `{ chat: { max_tool_rounds } }`.
// S2 No key is a prefix of another, so that the tree and the flat map hold the same.

import type { Static } from '../../std/schema.ts';
import { contextSettings } from './declarations/context.ts';
import { embeddingSettings } from './declarations/embeddings.ts';
import { ingestionSettings } from './declarations/ingestion.ts';
import { mcpSettings } from './declarations/mcp.ts';
import { mcpServerSettings } from './declarations/mcp-server.ts';
import { mcpToolSettings } from './declarations/mcp-tools.ts';
import { mediaSettings } from './declarations/media.ts';
import { memorySettings } from './declarations/memory.ts';
import { modelSettings } from './declarations/models.ts';
import { providerSettings } from './declarations/providers.ts';
import { runSettings } from './declarations/runs.ts';
import { searchSettings } from './declarations/search.ts';
import { teamSettings } from './declarations/teams.ts';
import { thinkingSettings } from './declarations/thinking.ts';
import { turnSettings } from './declarations/turns.ts';
import { vectorSettings } from './declarations/vectors.ts';
import { workspaceSettings } from './declarations/workspaces.ts';
import type { RoleMembership, Setting } from './setting.ts';

export const settings = {
  ...providerSettings,
  ...modelSettings,
  ...searchSettings,
  ...mediaSettings,
  ...thinkingSettings,
  ...teamSettings,
  ...contextSettings,
  ...turnSettings,
  ...runSettings,
  ...mcpSettings,
  ...mcpToolSettings,
  ...memorySettings,
  ...mcpServerSettings,
  ...embeddingSettings,
  ...vectorSettings,
  ...workspaceSettings,
  ...ingestionSettings,
} satisfies Readonly<Record<string, Setting>>;

export type SettingKey = keyof typeof settings;

/** Every setting with its effective value, secrets included. Plain data. */
export type Settings = { readonly [Key in SettingKey]: Static<(typeof settings)[Key]['schema']> };

export const SETTING_KEYS = Object.keys(settings) as readonly SettingKey[];

/** The values that hold where nothing was set. */
export const defaultSettings = Object.fromEntries(
  SETTING_KEYS.map((key) => [key, settings[key].default]),
) as unknown as Settings;

export interface RoleMember extends RoleMembership {
  readonly key: SettingKey;
}

/** The settings that follow a role while they are empty. */
export const roleMembers: readonly RoleMember[] = SETTING_KEYS.flatMap((key) => {
  const { membership } = settings[key] as Setting;
  return membership === undefined ? [] : [{ ...membership, key }];
});
