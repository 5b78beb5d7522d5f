// Allocations: bounds what one compressed stream of a PDF may expand to, on a thread that does nothing else than read documents.
// A file of a few hundred kilobytes can ask for gigabytes, outside of the heap that the thread's limit is about. The reader of
// PDFs expands streams through two doors, and neither has a limit of its own; here both get one.
// A1 A buffer or an expanded stream beyond EXPANDED_BYTES_MAX is refused, and the refusal remembered: the reader of PDFs takes
//    it for damage, and goes on without that stream.
// A2 So is a buffer with which all that the thread holds would be more than MEMORY_BYTES_MAX: a page may name many streams, and
//    be worked on without a pause in which somebody could look.

import { EXPANDED_BYTES_MAX, MEMORY_BYTES_MAX } from './limits.ts';

/** To look costs some microseconds: it is done each time that so much has been asked for. */
const LOOK_EVERY_BYTES = 16 * 1024 * 1024;

let isBounded = false;
let refusals = 0;
let askedSinceLook = 0;

/** Patches this thread's globals, once. */
export function boundAllocations(): void {
  if (isBounded) return;
  isBounded = true;
  globalThis.Uint8Array = new Proxy(Uint8Array, {
    construct(target, args: unknown[], newTarget) {
      const [wanted] = args;
      if (typeof wanted === 'number') admit(wanted);
      return Reflect.construct(target, args, newTarget) as object;
    },
  });
  globalThis.DecompressionStream = boundedDecompression(globalThis.DecompressionStream);
}

/** How often something was refused since the thread began. */
export function refusedAllocations(): number {
  return refusals;
}

function boundedDecompression(Unbounded: typeof DecompressionStream): typeof DecompressionStream {
  return class {
    readonly readable: ReadableStream;
    readonly writable: WritableStream;

    constructor(format: ConstructorParameters<typeof DecompressionStream>[0]) {
      const inner = new Unbounded(format);
      let bytes = 0;
      const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(piece, controller) {
          bytes += piece.byteLength;
          if (bytes > EXPANDED_BYTES_MAX) refuse();
          controller.enqueue(piece);
        },
      });
      this.readable = inner.readable.pipeThrough(counted);
      this.writable = inner.writable;
    }
  } as typeof DecompressionStream;
}

function admit(bytes: number): void {
  if (bytes > EXPANDED_BYTES_MAX) refuse(); // A1
  askedSinceLook += bytes;
  if (askedSinceLook < LOOK_EVERY_BYTES) return;
  askedSinceLook = 0;
  if (process.memoryUsage().arrayBuffers + bytes > MEMORY_BYTES_MAX) refuse(); // A2
}

function refuse(): never {
  refusals += 1;
  throw new RangeError('the stream expands to more than is allowed');
}
