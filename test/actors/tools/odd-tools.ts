// Tools that behave as badly as a tool can, behind the same actor as the internal ones.

import { serveTools } from '../../../src/actors/tools/actor.ts';
import { tools } from '../../../src/actors/tools/protocol.ts';
import { toolRegistry } from '../../../src/actors/tools/registry.ts';
import { defineTool, type ToolAnswer } from '../../../src/actors/tools/tool.ts';
import { declareFaults } from '../../../src/std/errors.ts';
import { Type } from '../../../src/std/schema.ts';
import { type ActorContext, actor } from '../../../src/supervisor/actor.ts';

const faults = declareFaults({ odd_refusal: 'invalid' });

const odd = (name: string, run: () => ToolAnswer | Promise<ToolAnswer>) =>
  defineTool({ name, description: name, parameters: Type.Object({}), run });

export const LONG_RESULT = `first ${'0123456789'.repeat(5_000)} last`;

export const oddTools = toolRegistry([
  [
    odd('long', () => ({ content: LONG_RESULT })),
    odd('throws', () => {
      throw new TypeError('a bug');
    }),
    odd('rejects', () => Promise.reject(new Error('a late bug'))),
    odd('refuses', () => {
      throw faults.odd_refusal('not today');
    }),
    odd('never_ends', () => new Promise(() => {})),
    odd('says_error', () => ({ content: 'Error: nothing there' })),
  ],
]);

export const oddToolsActor = actor({
  module: import.meta.url,
  exportName: 'oddToolsActor',
  protocol: tools,
  setup: (context: ActorContext<typeof tools>) => serveTools(context, oddTools),
});
