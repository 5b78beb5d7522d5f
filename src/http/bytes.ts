// Bytes: answers with the content of a file, or a range of it, as its actor gives it out.
// Y1 Nothing that a file holds runs: its type is taken at its word, and what a browser would show as a page is shown in a
//    sandbox, without scripts, forms, or anything from elsewhere.
// Y2 Pieces are pulled as the reader takes them; when it leaves, so does the actor's stream.

import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sessionUser } from './hooks/session.ts';
import type { MessageSources } from './message.ts';
import type { ActorDoor, BytesBinding, BytesHead } from './route.ts';

/** A day: the content under an address may change, and clients add its hash to the address to see that it has. */
const CACHE_CONTROL = 'private, max-age=86400';

/** What browsers show without a page around it that could do anything. */
const PASSIVE = /^(image\/(png|jpeg|gif|webp)|(audio|video)\/[\w.+-]+|application\/pdf|text\/plain)$/;

/** Y1. */
const SANDBOX = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

export function bytesHandler(binding: BytesBinding, sources: MessageSources, door: ActorDoor) {
  const open = binding.open(door);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const message = sources.assemble(request, sessionUser(request));
    const range = rangeOf(request.headers.range);
    let opened = await open({ ...message, ...(range === undefined ? {} : { range }) });
    const { 'if-range': ifRange, 'if-none-match': ifNoneMatch } = request.headers;
    const isPart = range !== undefined && (ifRange === undefined || ifRange === etagOf(opened.head));
    if (range !== undefined && !isPart) {
      await opened.pieces.return?.();
      opened = await open(message);
    }
    const { head, pieces } = opened;
    reply.headers(headersOf(head));
    const isKnown = ifNoneMatch?.split(',').some((tag) => matches(tag.trim(), head)) === true;
    if (isKnown || head.range === null || request.method === 'HEAD') await pieces.return?.();
    if (isKnown) return reply.code(304).send();
    if (head.range === null) {
      reply.code(416).header('content-range', `bytes */${head.size_bytes}`);
      return reply.type('application/json').send({ error: 'The file is shorter than that' });
    }
    const { first, last } = head.range;
    if (isPart) reply.code(206).header('content-range', `bytes ${first}-${last}/${head.size_bytes}`);
    reply.header('content-length', last + 1 - first);
    const body = request.method === 'HEAD' ? [] : { [Symbol.asyncIterator]: () => pieces };
    return reply.send(Readable.from(body, { objectMode: false }));
  };
}

function headersOf(head: BytesHead): Record<string, string> {
  return {
    'content-type': head.content_type,
    'content-disposition': dispositionOf(head.filename),
    'x-content-type-options': 'nosniff',
    ...(PASSIVE.test(head.content_type) ? {} : { 'content-security-policy': SANDBOX }),
    'cache-control': CACHE_CONTROL,
    'accept-ranges': 'bytes',
    etag: etagOf(head),
  };
}

function etagOf({ sha256 }: BytesHead): string {
  return `"${sha256}"`;
}

function matches(tag: string, head: BytesHead): boolean {
  return tag === '*' || tag.replace(/^W\//, '') === etagOf(head);
}

/** The name without its folder; for readers of ASCII, and for all others. */
function dispositionOf(filename: string): string {
  const name = filename.slice(filename.lastIndexOf('/') + 1).toWellFormed();
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const escaped = encodeURIComponent(name).replace(/['()*]/g, (sign) => {
    return `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return `inline; filename="${plain}"; filename*=UTF-8''${escaped}`;
}

/** One range of bytes; anything else is answered with the whole, as if nothing had been asked for. */
function rangeOf(
  header: string | undefined,
): { readonly first?: number; readonly last?: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  return {
    ...(first === '' ? {} : { first: Number(first) }),
    ...(last === '' ? {} : { last: Number(last) }),
  };
}
