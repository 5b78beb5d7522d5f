// Allocations: bounds what one compressed stream of a PDF may expand to, on a thread that does nothing else than read documents.
// A file of a few hundred kilobytes can ask for gigabytes, outside of the heap that the thread's limit is about. The reader of
// PDFs expands streams through two doors, and neither has a limit of its own; here both get one.
// A1 A buffer or an expanded stream beyond EXPANDED_BYTES_MAX is refused, and the refusal remembered: the reader of PDFs takes
//    it for damage, and goes on without that stream.

import { EXPANDED_BYTES_MAX } from './limits.ts';

let isBounded = false;
let refusals = 0;

/** Patches this thread's globals, once. */
export function boundAllocations(): void {
  if (isBounded) return;
  isBounded = true;
  globalThis.Uint8Array = new Proxy(Uint8Array, {
    construct(target, args: unknown[], newTarget) {
      const [wanted] = args;
      if (typeof wanted === 'number' && wanted > EXPANDED_BYTES_MAX) refuse();
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

function refuse(): never {
  refusals += 1;
  throw new RangeError('the stream expands to more than is allowed');
}
