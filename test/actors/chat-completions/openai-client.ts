// The door of these tests: OpenAI's own client, pointed at a Troupe.

import OpenAI from 'openai';
import type { TestTroupe } from '../../support/troupe.ts';

export function openaiClient({ url }: TestTroupe): OpenAI {
  // No repeats of its own: a test sees each refusal.
  return new OpenAI({ apiKey: 'anything', baseURL: `${url}/v1`, maxRetries: 0, logLevel: 'off' });
}

export const hello = [{ role: 'user' as const, content: 'Hello?' }];

export const weatherTool = {
  type: 'function' as const,
  function: {
    name: 'weather',
    description: 'The weather of a town.',
    parameters: {
      type: 'object',
      properties: { town: { type: 'string' } },
      required: ['town'],
      additionalProperties: false,
    },
    strict: true,
  },
};
