// JsonPieces: an answer of many megabytes, written piece by piece. To write it at once would hold up everybody else on the edge
// thread for as long; so others have their turn between two pieces, and what the reader does not take yet is not written.

import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { afterTurn } from '../std/event-loop.ts';

/** Read ahead of the socket. */
const AHEAD_PIECES_MAX = 4;

export function sendPieces(reply: FastifyReply, pieces: Iterable<string>): FastifyReply {
  const body = Readable.from(turnByTurn(pieces), { highWaterMark: AHEAD_PIECES_MAX });
  return reply.type('application/json; charset=utf-8').send(body);
}

async function* turnByTurn(pieces: Iterable<string>): AsyncGenerator<string, void, undefined> {
  for (const piece of pieces) {
    yield piece;
    await new Promise<void>(afterTurn);
  }
}
