// ObedientModel: how tests make an agent call one tool of an MCP server: the user's message says which, and the model (a
// provider double) does as it is told.

import type { Script } from './provider-double.ts';

export interface WantedCall {
  readonly server: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const COMMAND = 'Call ';

export function callMessage(wanted: WantedCall): string {
  return COMMAND + JSON.stringify(wanted);
}

interface Message {
  readonly role: string;
  readonly content: unknown;
}

/** Answers with the tool call that the last message asks for, then with what came of it. */
export const obedient: Script = ({ body }) => {
  const last = (body.messages as readonly Message[]).at(-1);
  const text = textOf(last?.content);
  if (last?.role !== 'user' || !text.startsWith(COMMAND)) return { text: `It said: ${text}` };
  const { server, tool, arguments: given } = JSON.parse(text.slice(COMMAND.length)) as WantedCall;
  const wanted = nameOf(server, tool);
  const offered = (body.tools ?? []) as readonly { readonly function: { readonly name: string } }[];
  const isOffered = offered.some((one) => one.function.name === wanted);
  return isOffered
    ? { toolCalls: [{ name: wanted, arguments: given }] }
    : { text: `${wanted} is not offered` };
};

/** As models are told of it. */
function nameOf(server: string, tool: string): string {
  return `${server}__${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map(({ text }) => text ?? '').join('') : '';
}

/** Something for each argument that is required. */
export function exampleArguments(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const properties = (schema['properties'] ?? {}) as Record<string, { readonly type?: string }>;
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name]?.type)]));
}

function exampleOf(type: string | undefined): unknown {
  switch (type) {
    case 'number':
    case 'integer':
      return 5;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return {};
    default:
      return 'example';
  }
}
