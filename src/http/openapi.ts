// OpenAPI: the description of the API, from the same schemas that validate and serialise it.
// D1 `/api/openapi.json` is OpenAPI 3.0; `/api/docs` shows it in a browser and fetches nothing from elsewhere.
// D2 What is published is what is bound: a route describes itself, and nothing else is described.

import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { plainFailures, STATUS_OF_KIND } from './errors.ts';
import { type JsonSchema, plainSchema } from './json-schema.ts';
import type { MessageSources } from './message.ts';
import type { Binding } from './route.ts';

export const OPENAPI_PATH = '/api/openapi.json';
export const DOCS_PATH = '/api/docs';

/** To be called before the routes are mounted: it watches them come. */
export async function describeRoutes(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.0.3',
      info: {
        title: 'Troupe',
        version,
        description: 'Detached agent runs, conversations, tools and models, as messages to actors.',
      },
    },
  });
  await app.register(swaggerUi, { routePrefix: DOCS_PATH });
  app.get(OPENAPI_PATH, { schema: { hide: true } }, () => app.swagger());
}

/** What Fastify validates, serialises and publishes for one binding. */
export function routeSchema(binding: Binding, sources: MessageSources, operationId: string): FastifySchema {
  const { params, querystring, body } = sources;
  return {
    operationId,
    tags: [binding.tag ?? binding.noun],
    ...(binding.contract.summary === undefined ? {} : { summary: binding.contract.summary }),
    ...(params === undefined ? {} : { params }),
    ...(querystring === undefined ? {} : { querystring }),
    ...(body === undefined ? {} : { body }),
    ...(binding.kind === 'upload' ? FORM_WITH_FILE : {}),
    ...(binding.kind === 'stream' && binding.cursor !== undefined ? { headers: LAST_EVENT_ID } : {}),
    response: {
      ...goodAnswer(binding),
      ...declaredFailures(binding),
      default: { 'x-response-description': 'Any other failure', ...failureBody(binding) },
    },
  };
}

const LAST_EVENT_ID = {
  type: 'object',
  properties: {
    'last-event-id': { type: 'integer', minimum: 0, description: 'Go on after the event with this id.' },
  },
};

const FORM_WITH_FILE = {
  consumes: ['multipart/form-data'],
  body: {
    type: 'object',
    properties: { file: { type: 'string', format: 'binary' } },
  },
};

const BYTES = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };

const EVENT_STREAM = { 'text/event-stream': { schema: { type: 'string' } } };

function goodAnswer(binding: Binding): Record<string, unknown> {
  const status = binding.status ?? 200;
  if (binding.kind === 'stream') {
    return { [status]: { description: 'Server-sent events', content: EVENT_STREAM } };
  }
  if (binding.kind === 'page') {
    return {
      [status]: { description: 'A page', content: { 'text/html': { schema: { type: 'string' } } } },
    };
  }
  if (binding.kind === 'bytes') {
    return {
      [status]: { description: 'The bytes of the file, with its own type', content: BYTES },
      206: { description: 'A range of them', content: BYTES },
    };
  }
  const { reply } = binding.contract;
  const schema = reply === undefined ? {} : plainSchema(reply as JsonSchema);
  if (binding.kind === 'upload') return { [status]: { 'x-response-description': 'Done', ...schema } };
  if (binding.kind === 'call') {
    return {
      [status]: { 'x-response-description': 'Done', ...schema },
      ...(binding.isPending === undefined
        ? {}
        : { 202: { 'x-response-description': 'Still under way', ...schema } }),
    };
  }
  const description = `Done; server-sent events where \`${binding.streamsWhen}\` is true`;
  return { [status]: { description, content: { 'application/json': { schema }, ...EVENT_STREAM } } };
}

function failureBody({ failures = plainFailures }: Binding): object {
  return failures.schema;
}

/** Faults that share a status are told apart by their sentence, and listed by their code. */
function declaredFailures(binding: Binding): Record<string, unknown> {
  const codesByStatus = new Map<number, string[]>();
  for (const [code, fault] of Object.entries(binding.contract.faults)) {
    const status = STATUS_OF_KIND[fault('').kind];
    codesByStatus.set(status, [...(codesByStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...codesByStatus].map(([status, codes]) => [
      status,
      { 'x-response-description': codes.join(', '), ...failureBody(binding) },
    ]),
  );
}
