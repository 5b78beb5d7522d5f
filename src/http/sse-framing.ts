// SseFraming: frames as the bytes of a text/event-stream, and those as a chunk of a chunked response (RFC 9112, 7.1).
// S1 Framing to the byte: `id: N` (stored events only), `event: NAME` (named events only), `data: ONE-LINE-JSON`, a blank line.
// S5 A batch that many readers are given is framed once: those who give it must not change it.

export interface SseFrame {
  /** The sequence number that a reader resumes after; absent for frames that are not stored. */
  readonly seq?: number;
  /** Absent where the stream's format names no events (as OpenAI's): then the frame is its data line. */
  readonly event?: string;
  /** JSON text without a line break. */
  readonly data: string;
}

export const HEARTBEAT = chunkOfText(': ping\n\n');

/** Readers of one run are served one after the other, so that few batches are enough; nobody who stops holds on to one. */
const FRAMED_KEPT_MAX = 8;

/** The last ones, in a ring. A Map that loses an entry for each that it gets keeps all of them until V8 collects old ones (std/chain.ts). */
const framed = new Array<readonly SseFrame[] | null>(FRAMED_KEPT_MAX).fill(null);
const framedChunks = new Array<Buffer>(FRAMED_KEPT_MAX).fill(HEARTBEAT);
let framedNext = 0;

export function chunkOf(frames: readonly SseFrame[]): Buffer {
  const known = framedChunks[framed.indexOf(frames)];
  if (known !== undefined) return known;
  const chunk = chunkOfText(textOf(frames));
  framed[framedNext] = frames;
  framedChunks[framedNext] = chunk;
  framedNext = (framedNext + 1) % FRAMED_KEPT_MAX;
  return chunk;
}

/** What a chunk is about. */
export function payloadOf(chunk: Buffer): Buffer {
  return chunk.subarray(chunk.indexOf('\n') + 1, -2);
}

function chunkOfText(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

function textOf(frames: readonly SseFrame[]): string {
  let text = '';
  for (const { seq, event, data } of frames) {
    const named = event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
    text += seq === undefined ? named : `id: ${seq}\n${named}`;
  }
  return text;
}
