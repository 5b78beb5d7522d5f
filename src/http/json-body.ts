// JSON body: the one content type that a message arrives in.
// B1 Malformed JSON is the caller's mistake and says what is wrong with it.
// B2 An empty body is no body: the clients announce JSON on every call, also where they send nothing.
// B3 Members named after an object's prototype are refused, so that no body can reach behind an object.
// B4 So is what is nested very deep: whoever copies it, writes it out or sends it to another thread would run out of stack, and an
//    actor that does so has crashed.

import type { FastifyInstance } from 'fastify';
import { errorText } from '../std/errors.ts';
import { isNestedDeeper, NESTING_MAX } from '../std/nesting.ts';
import { edgeFaults } from './errors.ts';

/** Messages are text: a transcript or a tool output fits many times over. Files have routes and limits of their own. */
export const JSON_BODY_BYTES_MAX = 8 * 1024 * 1024;

export function acceptJsonOnly(app: FastifyInstance, bodyBytesMax: number): void {
  app.removeAllContentTypeParsers();
  const refusePrototypes = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: bodyBytesMax },
    (request, text: string, done) => {
      if (text.length === 0) return done(null); // B2
      let parsed: { readonly value: unknown } | null = null;
      void refusePrototypes(request, text, (error, value) => {
        parsed = error === null ? { value } : null;
      });
      // `done` runs the rest of the request, so it stays out of the parser's own catch.
      if (parsed === null) return done(edgeFaults.json_invalid(`Invalid JSON: ${mistakeIn(text)}`)); // B1
      const { value } = parsed as { readonly value: unknown };
      if (!isNestedDeeper(value)) return done(null, value);
      done(edgeFaults.json_invalid(`Invalid JSON: nested deeper than ${NESTING_MAX} levels`)); // B4
    },
  );
}

/** Only now, on the way out, is the plain parser asked for its sentence: Fastify's own parser keeps it to itself. */
function mistakeIn(text: string): string {
  try {
    JSON.parse(text);
    return 'a member name is not allowed'; // B3
  } catch (error) {
    return errorText(error);
  }
}
