// ServerRequests: what a server asks of us, answered by policy, for nobody sits in front of a session.
// R1 Elicitation (a question to the user): declined, cancelled, or accepted with the defaults of the form when each field that
//    has to be filled in has one. Nothing that we know is ever filled in.
// R2 Sampling (a completion at our expense) is not offered unless the settings allow it; then it is a direct completion of the
//    default model, counted and bounded as any other (ADR 15), a few at once, without tools and without the contexts of
//    other servers.
// R3 Roots are not offered: a server learns nothing of our files.

import { type Client, type ClientCapabilities, ProtocolError } from '@modelcontextprotocol/client';
import type { ActorContext } from '../../supervisor/actor.ts';
import { chatCompletions } from '../chat-completions/protocol.ts';
import type { Settings } from '../config/protocol.ts';
import { isMembers, listOf, type Members, textOf } from './untrusted.ts';

const SAMPLING_AT_ONCE_MAX = 2;
const SAMPLING_MESSAGES_MAX = 100;
const SAMPLING_TEXT_CHARS_MAX = 100_000;
const SAMPLING_TOKENS_MAX = 8_192;
const SAMPLING_DEADLINE_MS = 300_000;
const STOPS_MAX = 4;
const STOP_CHARS_MAX = 100;
const REJECTED = -1;
/** On whose behalf: who a call is made for is not known here. */
const USER_ID = 'default';

export type RequestPolicy = Pick<Settings, 'mcp.sampling' | 'mcp.elicitation'>;

export function capabilitiesFor(policy: RequestPolicy): ClientCapabilities {
  return {
    elicitation: { form: { applyDefaults: true } },
    ...(policy['mcp.sampling'] === 'allow' ? { sampling: {} } : {}),
  };
}

export function answerServerRequests(client: Client, context: ActorContext, policy: RequestPolicy): void {
  client.setRequestHandler('elicitation/create', ({ params }) => elicitationAnswer(policy, params));
  if (policy['mcp.sampling'] !== 'allow') return;
  let atOnce = 0;
  client.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq }) => {
    if (atOnce === SAMPLING_AT_ONCE_MAX) throw new ProtocolError(REJECTED, 'Too many completions at once');
    atOnce += 1;
    try {
      return await sampled(context, params, mcpReq.signal);
    } finally {
      atOnce -= 1;
    }
  });
}

/** R1. The SDK fills the defaults in. */
function elicitationAnswer(policy: RequestPolicy, params: Members) {
  const action = policy['mcp.elicitation'];
  if (action !== 'accept_defaults') return { action };
  const schema = params['requestedSchema'];
  const properties = isMembers(schema) && isMembers(schema['properties']) ? schema['properties'] : {};
  const required = isMembers(schema) ? listOf(schema, 'required') : [];
  const canBeFilledIn = required.every((name) => {
    const property =
      typeof name === 'string' && Object.hasOwn(properties, name) ? properties[name] : undefined;
    return isMembers(property) && property['default'] !== undefined;
  });
  const isForm = params['mode'] === undefined || params['mode'] === 'form';
  return isForm && canBeFilledIn
    ? { action: 'accept' as const, content: {} }
    : { action: 'decline' as const };
}

/** R2. */
async function sampled(context: ActorContext, params: Members, signal: AbortSignal) {
  const messages = listOf(params, 'messages').slice(-SAMPLING_MESSAGES_MAX).filter(isMembers);
  const system = textOf(params, 'systemPrompt', SAMPLING_TEXT_CHARS_MAX);
  const tokens = params['maxTokens'];
  const temperature = params['temperature'];
  const stops = listOf(params, 'stopSequences').filter((one) => typeof one === 'string');
  const completion = await context.ask(
    chatCompletions,
    'complete',
    {
      messages: [
        ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
        ...messages.map((message) => ({ role: roleOf(message), content: textOfMessage(message) })),
      ],
      max_tokens: Math.min(typeof tokens === 'number' ? tokens : SAMPLING_TOKENS_MAX, SAMPLING_TOKENS_MAX),
      ...(typeof temperature === 'number' ? { temperature } : {}),
      ...(stops.length > 0
        ? { stop: stops.slice(0, STOPS_MAX).map((stop) => stop.slice(0, STOP_CHARS_MAX)) }
        : {}),
      user_id: USER_ID,
    },
    { signal, deadlineMs: SAMPLING_DEADLINE_MS },
  );
  const text = completion.choices[0]?.message.content ?? '';
  return { model: completion.model, role: 'assistant' as const, content: { type: 'text' as const, text } };
}

function roleOf(message: Members): 'user' | 'assistant' {
  return message['role'] === 'assistant' ? 'assistant' : 'user';
}

/** Pictures and sounds are left out. */
function textOfMessage(message: Members): string {
  const { content } = message;
  const blocks = Array.isArray(content) ? content : [content];
  const texts = blocks
    .filter(isMembers)
    .flatMap((block) => textOf(block, 'text', SAMPLING_TEXT_CHARS_MAX) ?? []);
  return texts.join('\n').slice(0, SAMPLING_TEXT_CHARS_MAX);
}
