// View: the effective settings as the tree of sections that clients see, secrets redacted. Pure.

import { PLAN_PROMPT } from './declarations/thinking.ts';
import { redacted, redactedMap } from './redaction.ts';
import { UPDATE_ROUTE } from './setting.ts';
import { SETTING_KEYS, type Settings, settings } from './settings.ts';

type Tree = { [section: string]: unknown };

export function viewOf(effective: Settings): Tree {
  const tree: Tree = {};
  for (const key of SETTING_KEYS) {
    if (settings[key].route !== UPDATE_ROUTE) continue;
    const value: unknown = effective[key];
    const shown = settings[key].secret ? shownSecret(value) : value;
    const segments = key.split('.');
    const leaf = segments.pop() ?? key;
    sectionAt(tree, segments)[leaf] = shown;
  }
  // Not a setting: the client shows it where `planner.prompt_override` is empty.
  sectionAt(tree, ['planner'])['decompose_default'] = PLAN_PROMPT;
  return tree;
}

function shownSecret(value: unknown): unknown {
  return typeof value === 'string' ? redacted(value) : redactedMap(value);
}

function sectionAt(tree: Tree, segments: readonly string[]): Tree {
  let at = tree;
  for (const segment of segments) {
    at[segment] ??= {};
    at = at[segment] as Tree;
  }
  return at;
}
