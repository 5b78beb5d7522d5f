// Catalogue: what a server offers, listed page by page and read entry by entry.
// G1 An entry that makes no sense, or bears a name that came before, is left out; the others stand.
// G2 Pages, entries, names, descriptions and schemas have bounds, and so have the whole and the time that it takes. What does not
//    fit is left out, and `…_discovery_error` says so.
// G3 Some servers shake hands with anybody, and ask who it is when it comes to their lists: that is no empty list.
// G4 A list that cannot be had is what was known of it before. One that the server owes (it answered nothing, or not in time) is
//    worth another question; what it refuses to list it refuses again.

import { type Client, ProtocolError } from '@modelcontextprotocol/client';
import type { Clock } from '../../std/clock.ts';
import { errorText } from '../../std/errors.ts';
import { isSignInRequired } from './failures.ts';
import type { McpCatalogue, McpPrompt, McpResource, McpResourceTemplate, McpTool } from './protocol.ts';
import { ANYTHING, isMembers, jsonChars, listOf, type Members, textOf } from './untrusted.ts';
import { STREAM_ENDED } from './watched-transport.ts';

const PAGES_MAX = 100;
/** All pages of a list together may take as long as so many single ones: whoever needs the connection waits for them. */
const PAGES_PATIENCE = 3;
const TOOLS_MAX = 1_000;
const RESOURCES_MAX = 5_000;
const TEMPLATES_MAX = 500;
const PROMPTS_MAX = 500;
const ARGUMENTS_MAX = 50;
/** Of all entries of a list together: it is copied between threads. */
const LIST_CHARS_MAX = 4 * 1024 * 1024;
const SCHEMA_CHARS_MAX = 100_000;
const NAME_CHARS_MAX = 200;
const URI_CHARS_MAX = 2_000;
const DESCRIPTION_CHARS_MAX = 10_000;
const INSTRUCTIONS_CHARS_MAX = 20_000;
const CURSOR_CHARS_MAX = 10_000;

export const LISTS = ['tools', 'resources', 'resource_templates', 'prompts'] as const;
export type ListName = (typeof LISTS)[number];

export interface Limits {
  /** For one page. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

export const EMPTY_CATALOGUE: McpCatalogue = {
  tools: [],
  resources: [],
  resource_templates: [],
  prompts: [],
  instructions: null,
  tool_discovery_error: null,
  resource_discovery_error: null,
};

export interface Discovered {
  readonly catalogue: McpCatalogue;
  /** G4. */
  readonly owed: ReadonlySet<ListName>;
}

/** `known` with the named lists asked anew. */
export async function discovered(
  client: Client,
  known: McpCatalogue,
  names: ReadonlySet<ListName>,
  limits: Limits,
): Promise<Discovered> {
  const {
    tools: hasTools,
    resources: hasResources,
    prompts: hasPrompts,
  } = client.getServerCapabilities() ?? {};
  const wants = (name: ListName, isOffered: unknown): boolean => names.has(name) && isOffered !== undefined;
  const owed = new Set<ListName>();
  const entriesOf = <Entry>(
    name: ListName,
    listed: Listed<Entry>,
    before: readonly Entry[],
  ): readonly Entry[] => {
    if (listed.isOwed) owed.add(name);
    return listed.isRefused && before.length > 0 ? before : listed.entries;
  };
  const catalogue = {
    ...known,
    instructions: client.getInstructions()?.slice(0, INSTRUCTIONS_CHARS_MAX) ?? null,
  };
  if (wants('tools', hasTools)) {
    const listed = await list(client, 'tools/list', 'tools', TOOLS_MAX, toolOf, (tool) => tool.name, limits);
    catalogue.tools = entriesOf('tools', listed, known.tools);
    catalogue.tool_discovery_error = listed.error;
  }
  if (wants('resources', hasResources)) {
    const listed = await list(
      client,
      'resources/list',
      'resources',
      RESOURCES_MAX,
      resourceOf,
      byUri,
      limits,
    );
    catalogue.resources = entriesOf('resources', listed, known.resources);
    catalogue.resource_discovery_error = listed.error;
  }
  if (wants('resource_templates', hasResources)) {
    const method = 'resources/templates/list';
    // Many servers that have resources know nothing of templates: no error.
    const listed = await list(
      client,
      method,
      'resourceTemplates',
      TEMPLATES_MAX,
      templateOf,
      byTemplate,
      limits,
    );
    catalogue.resource_templates = entriesOf('resource_templates', listed, known.resource_templates);
  }
  if (wants('prompts', hasPrompts)) {
    const listed = await list(
      client,
      'prompts/list',
      'prompts',
      PROMPTS_MAX,
      promptOf,
      (p) => p.name,
      limits,
    );
    catalogue.prompts = entriesOf('prompts', listed, known.prompts);
  }
  return { catalogue, owed };
}

const byUri = ({ uri }: McpResource): string => uri;
const byTemplate = ({ uri_template }: McpResourceTemplate): string => uri_template;

interface Listed<Entry> {
  readonly entries: readonly Entry[];
  readonly error: string | null;
  /** A page of it could not be had. */
  readonly isRefused: boolean;
  /** G4. */
  readonly isOwed: boolean;
}

/** G1, G2. Rejects only when the signal is aborted, or somebody has to sign in first (G3). */
async function list<Entry>(
  client: Client,
  method: string,
  member: string,
  entriesMax: number,
  read: (value: Members) => Entry | null,
  keyOf: (entry: Entry) => string,
  { timeoutMs, signal, clock }: Limits,
): Promise<Listed<Entry>> {
  const entries = new Map<string, Entry>();
  const ended = (error: string | null, more: Partial<Listed<Entry>> = {}): Listed<Entry> => ({
    entries: [...entries.values()],
    error,
    isRefused: false,
    isOwed: false,
    ...more,
  });
  const startedMs = clock.monotonicMs();
  let cursor: string | null = null;
  let chars = 0;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const params: Record<string, unknown> = cursor === null ? {} : { cursor };
    let result: Members;
    try {
      result = await client.request({ method, params }, ANYTHING, { timeout: timeoutMs, signal });
    } catch (error) {
      if (signal.aborted || isSignInRequired(error)) throw error;
      const isOwed = !(error instanceof ProtocolError) || error.code === STREAM_ENDED;
      return ended(errorText(error).slice(0, DESCRIPTION_CHARS_MAX), { isRefused: true, isOwed });
    }
    for (const value of listOf(result, member)) {
      const entry = isMembers(value) ? read(value) : null;
      if (entry === null || entries.has(keyOf(entry))) continue;
      chars += JSON.stringify(entry).length;
      if (chars > LIST_CHARS_MAX) return ended(`More than ${LIST_CHARS_MAX} characters are left out`);
      if (entries.size === entriesMax) return ended(`More than ${entriesMax} entries are left out`);
      entries.set(keyOf(entry), entry);
    }
    const next = textOf(result, 'nextCursor', CURSOR_CHARS_MAX);
    if (next === null || next === '' || next === cursor) return ended(null);
    if (clock.monotonicMs() - startedMs > PAGES_PATIENCE * timeoutMs) {
      return ended('Not all of its pages came in time', { isRefused: true });
    }
    cursor = next;
  }
  return ended(`More than ${PAGES_MAX} pages are left out`);
}

function toolOf(value: Members): McpTool | null {
  const name = nameOf(value);
  const schema = value['inputSchema'];
  if (name === null || !isMembers(schema) || jsonChars(schema) > SCHEMA_CHARS_MAX) return null;
  const title = textOf(value, 'title', NAME_CHARS_MAX);
  return { name, title, description: descriptionOf(value), input_schema: schema };
}

function resourceOf(value: Members): McpResource | null {
  const uri = uriOf(value, 'uri');
  if (uri === null) return null;
  return { uri, name: nameOf(value) ?? uri, description: descriptionOf(value), mime_type: mimeTypeOf(value) };
}

function templateOf(value: Members): McpResourceTemplate | null {
  const uri_template = uriOf(value, 'uriTemplate');
  if (uri_template === null) return null;
  const name = nameOf(value) ?? uri_template;
  return { uri_template, name, description: descriptionOf(value), mime_type: mimeTypeOf(value) };
}

function promptOf(value: Members): McpPrompt | null {
  const name = nameOf(value);
  if (name === null) return null;
  const given = listOf(value, 'arguments').slice(0, ARGUMENTS_MAX).filter(isMembers);
  return {
    name,
    description: descriptionOf(value),
    arguments: given.flatMap((one) => {
      const argument = nameOf(one);
      if (argument === null) return [];
      return [{ name: argument, description: descriptionOf(one), required: one['required'] === true }];
    }),
  };
}

/** A name that is cut would be another one. */
function nameOf(value: Members): string | null {
  const name = value['name'];
  return typeof name === 'string' && name !== '' && name.length <= NAME_CHARS_MAX ? name : null;
}

function uriOf(value: Members, member: string): string | null {
  const uri = value[member];
  return typeof uri === 'string' && uri !== '' && uri.length <= URI_CHARS_MAX ? uri : null;
}

function descriptionOf(value: Members): string {
  return textOf(value, 'description', DESCRIPTION_CHARS_MAX) ?? '';
}

function mimeTypeOf(value: Members): string | null {
  return textOf(value, 'mimeType', NAME_CHARS_MAX);
}
