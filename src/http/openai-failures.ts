// OpenAI failures: the failures of the routes under /v1, as the clients of OpenAI's API read them.

import type { FailureDialect } from './errors.ts';

const TEXT_OR_NULL = { type: 'string', nullable: true };

export const openaiFailures: FailureDialect = {
  schema: {
    type: 'object',
    properties: {
      error: {
        type: 'object',
        properties: {
          message: { type: 'string' },
          type: { type: 'string' },
          param: TEXT_OR_NULL,
          code: TEXT_OR_NULL,
        },
        required: ['message', 'type', 'param', 'code'],
      },
    },
    required: ['error'],
  },
  bodyOf: ({ status, sentence, code, details: { param = null } }) => ({
    error: { message: sentence, type: typeOf(status), param, code },
  }),
};

function typeOf(status: number): string {
  switch (status) {
    case 401:
      return 'authentication_error';
    case 403:
      return 'permission_error';
    case 429:
      return 'rate_limit_error';
    default:
      return status < 500 ? 'invalid_request_error' : 'api_error';
  }
}
