// Offline responder: `local:offline`, the model that is none. It answers while no provider is configured, so that a newcomer
// sees a whole turn work: tool call, tool result, streamed answer, transcript. It only quotes what is stored, and says so.
// O1 Deterministic, and it reaches nobody: same messages, same answer.
// O2 One tool call a message of the user, and only when the tool is offered.

import { unreachable } from '../../std/assert.ts';
import type { Adapter } from './adapter.ts';
import { BUILTIN_PROVIDERS } from './catalogue.ts';
import { closestPassages, type Passage, words } from './offline-passages.ts';
import type { CompletionDelta, CompletionUsage, Connection, ModelMessage, ModelRoute } from './protocol.ts';
import { OFFLINE_MODEL, OFFLINE_PROVIDER } from './routing.ts';

const RECALL_TOOL = 'recall_user_history';
const RECALL_LIMIT = 5;
const TOPIC_WORDS_MAX = 12;
const PASSAGES_MAX = 3;
const CHUNK_WORDS = 4;
/** Some forty chunks: enough to see it stream. */
const CHUNK_PAUSE_MS = 2;
/** The rule of thumb where no tokenizer is at hand. */
const CHARS_PER_TOKEN = 4;
/** Its own words are no knowledge: they are not quoted back. */
const NOTICE = 'No language model is configured';

const HERE = 'earlier in this conversation';
const ELSEWHERE = 'stored history';

const CONNECTION: Connection = {
  provider: OFFLINE_PROVIDER,
  kind: 'offline',
  baseUrl: '',
  apiKey: null,
  headers: {},
  timeoutMs: 0,
  retriesMax: 0,
  egress: 'any',
};

export const OFFLINE_LABEL = 'Offline responder';

export function offlineRoute(substitution: string | null): ModelRoute {
  return {
    reference: OFFLINE_MODEL,
    modelId: OFFLINE_MODEL.slice(OFFLINE_PROVIDER.length + 1),
    displayName: OFFLINE_LABEL,
    contextWindow: 32_768,
    maxOutputTokens: null,
    supportsTools: true,
    supportsVision: false,
    audioTypes: [],
    price: null,
    connection: CONNECTION,
    substitution,
  };
}

export const completeOffline: Adapter = async function* (request, { clock, random }, signal) {
  const { messages, tools } = request;
  const asked = messages.findLastIndex((message) => message.role === 'user');
  const question = messages[asked]?.content ?? '';
  const hasLookedUp = messages.slice(asked + 1).some((message) => message.role === 'tool');
  const canLookUp = tools.some((tool) => tool.name === RECALL_TOOL);
  const topic = words(question).slice(0, TOPIC_WORDS_MAX).join(' ');

  if (canLookUp && !hasLookedUp && topic !== '') {
    const given = { topic, limit: RECALL_LIMIT };
    const argumentsText = JSON.stringify(given);
    const call = { id: `call_${random.hex(24)}`, name: RECALL_TOOL, arguments: given, argumentsText };
    yield [{ kind: 'tool_calls', calls: [call] }, finish('tool_calls', usageOf(messages, argumentsText))];
    return;
  }

  const answer = compose(closestPassages(question, sourcesOf(messages, asked), PASSAGES_MAX));
  for (const text of chunksOf(answer)) {
    if (signal.aborted) return;
    yield [{ kind: 'text', text }];
    // A cancel that has come meanwhile is seen before the next chunk.
    await new Promise<void>((resolve) => clock.startTimer(CHUNK_PAUSE_MS, resolve));
  }
  yield [finish('stop', usageOf(messages, answer))];
};

function compose(passages: readonly Passage[]): string {
  const found =
    passages.length === 0
      ? 'Nothing that is stored here comes close to your message.'
      : [
          'What is stored here and comes closest to your message:',
          ...passages.map((passage) => `> ${passage.text}\n> (${passage.source})`),
        ].join('\n\n');
  const variables = BUILTIN_PROVIDERS.map((provider) => provider.environment);
  const choices = `${variables.slice(0, -1).join(', ')} or ${variables.at(-1)}`;
  return (
    `${NOTICE}, so this is no model's answer, only a search.\n\n${found}\n\n` +
    `To chat with a model, set ${choices} in the environment before you start the service, ` +
    'or save a key in the settings (POST /api/config/update).'
  );
}

/** What was found and said before the question, newest first. The rules of the house are not among it. */
function sourcesOf(messages: readonly ModelMessage[], asked: number): Passage[] {
  const found = messages
    .slice(asked + 1)
    .flatMap((message) =>
      message.role === 'tool' ? contentsOf(message.content).map((text) => ({ text, source: ELSEWHERE })) : [],
    );
  const said = messages.slice(0, Math.max(asked, 0)).flatMap((message): Passage[] => {
    switch (message.role) {
      case 'system':
      case 'tool':
        return [];
      case 'user':
        return [{ text: message.content, source: HERE }];
      case 'assistant':
        return message.content.includes(NOTICE) ? [] : [{ text: message.content, source: HERE }];
      default:
        return unreachable(message);
    }
  });
  return [...said.reverse(), ...found];
}

/** The texts in a tool's result: every `content` of its JSON, or the result itself when it is none. */
function contentsOf(result: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(result);
  } catch {
    return [result];
  }
  const texts: string[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) visit(item);
    else if (typeof node === 'object' && node !== null) {
      for (const [name, member] of Object.entries(node)) {
        if (name === 'content' && typeof member === 'string') texts.push(member);
        else visit(member);
      }
    }
  };
  visit(value);
  return texts;
}

function chunksOf(text: string): string[] {
  const pieces = text.match(/\s*\S+/g) ?? [];
  const chunks: string[] = [];
  for (let at = 0; at < pieces.length; at += CHUNK_WORDS)
    chunks.push(pieces.slice(at, at + CHUNK_WORDS).join(''));
  return chunks;
}

/** Estimates, since nobody counted tokens; and it cost nothing. */
function usageOf(messages: readonly ModelMessage[], answer: string): CompletionUsage {
  const chars = messages.reduce((sum, message) => sum + message.content.length, 0);
  return {
    inputTokens: Math.ceil(chars / CHARS_PER_TOKEN),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: Math.ceil(answer.length / CHARS_PER_TOKEN),
    reasoningTokens: 0,
    cost: null,
  };
}

function finish(reason: 'stop' | 'tool_calls', usage: CompletionUsage): CompletionDelta {
  return { kind: 'finish', reason, usage };
}
