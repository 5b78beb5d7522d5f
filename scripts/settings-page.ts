// Settings page: writes docs/settings.md from the declarations. `npm run docs`; a test fails when the page is behind.

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { helpOf } from '../src/actors/config/manifest.ts';
import { SECTIONS } from '../src/actors/config/sections.ts';
import { type Setting, UPDATE_ROUTE } from '../src/actors/config/setting.ts';
import { SETTING_KEYS, settings } from '../src/actors/config/settings.ts';

export const SETTINGS_PAGE = new URL('../docs/settings.md', import.meta.url);

const INTRODUCTION = `# Settings

<!-- Written by \`npm run docs\` from src/actors/config/declarations. Do not edit. -->

What is set while the service runs, by \`POST /api/config/update\` with a tree of sections:

\`\`\`sh
curl http://127.0.0.1:12319/api/config/update -H 'content-type: application/json' \\
  -d '{"chat": {"max_tool_rounds": 20}, "providers": {"openai": {"api_key": "…"}}}'
\`\`\`

An update is all or nothing: one value that does not fit, and the answer is 400 with an error per key. Keys that are not
listed here are passed over. A change holds from the next use of the setting on; nothing is restarted.
\`GET /api/config\` shows what holds, \`GET /api/settings/manifest\` this page with today's values; secrets are masked in both,
and sealed on disk.

Whoever runs the service may put a file \`settings.json\` with the same tree into the data folder. It is read at the start,
takes the place of the defaults below, and is the only way to set what is marked *operator*.

Marks: **secret** is sealed and masked; **null** may be unset; *operator* is set in \`settings.json\` only; *own routes* is set
by routes of its own; *memory* is set by the routes of memory, and has no section; *kept* is stored, but nothing in this version reads it yet. Keys in bold are the ones to look at first.
`;

export function settingsPage(): string {
  const pages = Object.entries(SECTIONS).flatMap(([id, section]) => {
    const rows = rowsWhere((setting) => setting.section === id);
    return rows.length === 0 ? [] : [page(section.label, `${section.summary} ${section.why}`, rows)];
  });
  const rest = rowsWhere((setting) => setting.section === null);
  return [INTRODUCTION, ...pages, page('Without a page', 'No page of a client shows these.', rest)].join(
    '\n',
  );
}

function page(title: string, text: string, rows: readonly string[]): string {
  return [`## ${title}`, '', text, '', '| key | default | takes | |', '|---|---|---|---|', ...rows, ''].join(
    '\n',
  );
}

function rowsWhere(holds: (setting: Setting) => boolean): readonly string[] {
  return SETTING_KEYS.filter((key) => holds(settings[key])).map((key) => row(key, settings[key]));
}

function row(key: string, setting: Setting): string {
  const name = setting.tier === 'essential' ? `**\`${key}\`**` : `\`${key}\``;
  const takes = [setting.expected, setting.constraints?.unit].filter((one) => one !== undefined).join('; ');
  const cells = [name, shown(setting.default), takes, [aboutOf(setting), ...marksOf(setting)].join(' ')];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}

function aboutOf(setting: Setting): string {
  const { summary, how, why } = helpOf(setting);
  const seed = setting.environment === undefined ? [] : [`First value from \`${setting.environment}\`.`];
  return [summary, how, why, ...seed].filter((one) => one !== undefined).join(' ');
}

function marksOf({ secret, nullable, writer, route, inEffect }: Setting): readonly string[] {
  return [
    ...(secret ? ['**secret**'] : []),
    ...(nullable ? ['**null**'] : []),
    ...(writer === 'operator' ? ['*operator*'] : []),
    ...(writer === 'noun' ? ['*own routes*'] : []),
    ...(route === UPDATE_ROUTE ? [] : ['*memory*']),
    ...(inEffect ? [] : ['*kept*']),
  ];
}

const DEFAULT_LENGTH_MAX = 60;

function shown(value: unknown): string {
  if (value === '' || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > DEFAULT_LENGTH_MAX ? '(a long text)' : `\`${text}\``;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(SETTINGS_PAGE, settingsPage());
