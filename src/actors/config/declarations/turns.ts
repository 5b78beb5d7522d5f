// Settings of a turn and its tools that have no page of their own, and of the prompt's layers.

import { Type } from '../../../std/schema.ts';
import { flag, integer, kept, map, number, onPage, operatorOnly, text, texts } from '../setting.ts';

const MIB = 1024 * 1024;
const LAYERS_MAX = 100;
const DENY_PATTERNS_MAX = 200;

const chat = {
  'chat.max_tool_rounds': integer(
    10,
    { minimum: 1, maximum: 100 },
    'How often a turn may call tools before it has to answer.',
    { unit: 'rounds' },
  ),
  'chat.auto_continue_on_length': flag(true, 'Continues an answer once that hit its output limit.'),
  ...kept(
    operatorOnly({
      'citations.auto_capture_web_search': flag(true, 'Keeps the sources of a web search with the answer.'),
      'citations.auto_capture_document_query': flag(true, 'Keeps the documents of a query with the answer.'),
    }),
  ),
};

const shell = kept(
  operatorOnly({
    'shell.allow_network': flag(false, 'Lets commands reach the network.', { tier: 'experimental' }),
    'shell.allow_unsandboxed': flag(false, 'Lets commands run outside of the sandbox.', {
      tier: 'experimental',
    }),
    'shell.timeout_seconds': integer(20, { minimum: 1, maximum: 3600 }, 'Longest time for one command.', {
      unit: 'seconds',
    }),
    'shell.max_output_chars': integer(
      20_000,
      { minimum: 100, maximum: 1_000_000 },
      'How much of the output of a command is kept.',
      { unit: 'characters' },
    ),
    'shell.max_materialize_bytes': integer(
      128 * MIB,
      { minimum: 0, maximum: 1024 * 1024 * MIB },
      'How much of a project is laid out for commands.',
      { unit: 'bytes' },
    ),
    'shell.workdir_cleanup_days': integer(
      7,
      { minimum: 1, maximum: 3650 },
      'After how many idle days a working copy is removed.',
      { unit: 'days' },
    ),
    'shell.deny_patterns': texts([], DENY_PATTERNS_MAX, 'Commands that are refused, as patterns.'),
    'shell.require_confirmation': flag(false, 'Asks the user before a command runs.', {
      tier: 'experimental',
    }),
    'shell.container.enabled': flag(false, 'Runs commands in a container.', { tier: 'experimental' }),
    'shell.container.image': text('python:3.14-slim', 'Image of the container.', { tier: 'experimental' }),
    'shell.container.memory': text('2g', 'Memory of the container.', { tier: 'experimental' }),
    'shell.container.cpus': number(2, { minimum: 0.1, maximum: 1024 }, 'Processors of the container.', {
      tier: 'experimental',
    }),
    'shell.container.pids_limit': integer(
      512,
      { minimum: 1, maximum: 1_000_000 },
      'Most processes in the container.',
      { tier: 'experimental', unit: 'processes' },
    ),
    'shell.container.network': text('troupe-shell-net', 'Network of the container.', {
      tier: 'experimental',
    }),
    'shell.container.idle_ttl_days': integer(
      7,
      { minimum: 1, maximum: 3650 },
      'After how many idle days a container is removed.',
      { tier: 'experimental', unit: 'days' },
    ),
  }),
);

const prompts = onPage(
  'prompt-stack',
  kept({
    'prompts.layers': map(
      Type.Record(Type.String(), Type.Unknown(), { maxProperties: 50 }),
      {},
      "What was changed about the layers of the system prompt, and layers of one's own.",
      { entriesMax: LAYERS_MAX, expected: 'a map of layer to what was changed about it', writer: 'noun' },
    ),
  }),
);

export const turnSettings = { ...chat, ...shell, ...prompts };
