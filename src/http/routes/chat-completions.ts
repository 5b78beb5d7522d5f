// Routes for the clients of OpenAI's API.

import {
  CALL_DEADLINE_MS,
  chatCompletions,
  MODELS_DEADLINE_MS,
} from '../../actors/chat-completions/protocol.ts';
import { BULK_DEADLINE_MS, embeddings } from '../../actors/embeddings/protocol.ts';
import { embeddingPieces } from '../embedding-pieces.ts';
import { openaiFailures as failures } from '../openai-failures.ts';
import { type Binding, bind, bindEither } from '../route.ts';

const tag = 'openai';
/** Whoever makes the answer keeps the deadline, and says so. */
const ANSWER_DEADLINE_MS = CALL_DEADLINE_MS + 10_000;
const LIST_DEADLINE_MS = MODELS_DEADLINE_MS + 1_000;

export const chatCompletionRoutes: readonly Binding[] = [
  bindEither('POST', '/v1/chat/completions', chatCompletions, 'complete', {
    ...{ tag, failures, deadlineMs: ANSWER_DEADLINE_MS },
    stream: 'stream',
    streamsWhen: 'stream',
  }),
  bind('POST', '/v1/embeddings', embeddings, 'create', {
    ...{ tag, failures, deadlineMs: BULK_DEADLINE_MS },
    pieces: embeddingPieces,
  }),
  bind('GET', '/v1/models', chatCompletions, 'models', { tag, failures, deadlineMs: LIST_DEADLINE_MS }),
  bind('GET', '/v1/models/{model}', chatCompletions, 'model', {
    tag,
    failures,
    deadlineMs: LIST_DEADLINE_MS,
  }),
];
