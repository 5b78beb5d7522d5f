// Settings of the connections to MCP servers. A server's own `timeout` goes before the first two.

import { choice, integer } from '../setting.ts';

export const mcpSettings = {
  'mcp.connect_timeout_seconds': integer(
    30,
    { minimum: 1, maximum: 600 },
    'How long a server may take to connect, and to answer each question about what it offers.',
    { unit: 'seconds', why: 'The first start of a server may have to download it.' },
  ),
  'mcp.call_timeout_seconds': integer(
    60,
    { minimum: 1, maximum: 3_600 },
    'How long a call may be without an answer or a report of progress.',
    { unit: 'seconds' },
  ),
  'mcp.call_total_seconds': integer(
    900,
    { minimum: 1, maximum: 86_400 },
    'How long a call may take in all, whatever progress it reports.',
    { unit: 'seconds' },
  ),
  'mcp.calls_max': integer(
    8,
    { minimum: 1, maximum: 100 },
    'Calls to one server at once; more of them wait.',
    {
      unit: 'calls',
    },
  ),
  'mcp.ping_seconds': integer(
    60,
    { minimum: 0, maximum: 3_600 },
    'How often a server that nobody calls is asked whether it is still there; 0 turns it off.',
    { unit: 'seconds' },
  ),
  'mcp.idle_seconds': integer(
    3_600,
    { minimum: 0, maximum: 604_800 },
    'A connection that nobody has used for so long is closed, and opened again by the next call; 0 turns it off.',
    { unit: 'seconds', why: 'A server that keeps a state between calls loses it when it is closed.' },
  ),
  'mcp.reconnects_max': integer(
    100,
    { minimum: 0, maximum: 10_000 },
    'How often in a row a lost connection is tried again, with a growing delay, at most five minutes.',
    { unit: 'attempts' },
  ),
  'mcp.sampling': choice(
    'decline',
    ['decline', 'allow'],
    'Whether servers may ask for completions by the default model.',
    { why: 'A server that may ask for completions spends your tokens, on prompts of its own.' },
  ),
  'mcp.elicitation': choice(
    'decline',
    ['decline', 'cancel', 'accept_defaults'],
    'What a server is answered that has a question to the user in the middle of a call.',
  ),
};
