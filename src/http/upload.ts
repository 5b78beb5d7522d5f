// Upload: one file of a multipart form, handed on to its actor piece by piece as it comes.
// P1 A piece is asked for when the one before it was taken: whatever a file's size, two or three pieces of it are in memory.
// P2 An upload that does not end well is abandoned, whoever's doing it was; the sender is heard out, within a bound, so that
//    it gets to read the answer.
// P3 A form has one file, in its field `file`. Other fields are passed over.

import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isFault } from '../std/errors.ts';
import { edgeFaults } from './errors.ts';
import { sessionUser } from './hooks/session.ts';
import type { MessageSources } from './message.ts';
import type { ActorDoor, UploadBinding } from './route.ts';

const FILE_FIELD = 'file';
const FIELDS_MAX = 8;
const FIELD_BYTES_MAX = 1024;
/** What a form is around its file: boundaries, headers, the fields that it may have. */
const FORM_BYTES_MAX = 16 * 1024;
/** Read and dropped of an upload that was refused; a sender with more to say is cut off. */
const DROPPED_BYTES_MAX = 64 * 1024 * 1024;

/** Forms are read in this scope only: anywhere else they are an unsupported type of content. */
export async function acceptForms(scope: FastifyInstance): Promise<void> {
  await scope.register(multipart, {
    throwFileSizeLimit: false,
    preservePath: true,
    limits: {
      files: 1,
      fields: FIELDS_MAX,
      fieldSize: FIELD_BYTES_MAX,
      // The actor's limits hold; the parser has none of its own.
      fileSize: Number.POSITIVE_INFINITY,
    },
  });
  // Anything else has no file in it, and is told so.
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

export function uploadHandler(binding: UploadBinding, sources: MessageSources, door: ActorDoor) {
  const upload = binding.receive(door);
  const { status = 200 } = binding;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const message = sources.assemble(request, sessionUser(request));
    try {
      const file = await fileOf(request);
      const uploadId = await upload.begin({ ...message, file: file.head });
      try {
        for (let piece = await file.next(); piece !== null; piece = await file.next()) {
          await upload.write(uploadId, piece); // P1
        }
        return reply.code(status).send(await upload.finish(uploadId));
      } catch (error) {
        upload.abandon(uploadId);
        throw error;
      }
    } catch (error) {
      dropRest(request); // P2
      throw error;
    }
  };
}

interface ReceivedFile {
  readonly head: { readonly filename: string; readonly content_type: string; readonly bytes_min: number };
  /** Null at the end. @throws upload_broken */
  next(): Promise<Uint8Array | null>;
}

/** P3. @throws no_file, upload_broken */
async function fileOf(request: FastifyRequest): Promise<ReceivedFile> {
  const part = request.isMultipart() ? await unbroken(request.file()) : undefined;
  if (part?.fieldname !== FILE_FIELD) {
    throw edgeFaults.no_file(`Send a form (multipart/form-data) with a file in its field "${FILE_FIELD}"`, {
      details: { code: 'no_file' },
    });
  }
  const pieces: AsyncIterator<Uint8Array> = part.file[Symbol.asyncIterator]();
  const length = Number(request.headers['content-length'] ?? 0);
  return {
    head: {
      filename: part.filename ?? '',
      content_type: part.mimetype ?? '',
      bytes_min: Math.max(0, length - FORM_BYTES_MAX),
    },
    async next() {
      const piece = await unbroken(pieces.next());
      return piece.done === true ? null : piece.value;
    },
  };
}

/** What the parser says about a form, or about a sender who left, is the sender's doing. */
async function unbroken<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (isFault(error)) throw error;
    throw edgeFaults.upload_broken('The form did not come whole', { cause: error });
  }
}

/** P2. */
function dropRest({ raw }: FastifyRequest): void {
  let droppedBytes = 0;
  raw.unpipe();
  raw.on('data', (piece: Uint8Array) => {
    droppedBytes += piece.length;
    if (droppedBytes > DROPPED_BYTES_MAX) raw.destroy();
  });
  raw.resume();
}
