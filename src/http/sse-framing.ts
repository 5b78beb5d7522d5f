// SseFraming: frames as the bytes of a text/event-stream.
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

export const HEARTBEAT = Buffer.from(': ping\n\n');

/** Readers of one run are served one after the other, so that few batches are enough; nobody who stops holds on to one. */
const FRAMED_KEPT_MAX = 8;

/** The last ones, oldest first. */
const framed = new Map<readonly SseFrame[], Buffer>();

export function bytesOf(frames: readonly SseFrame[]): Buffer {
  const known = framed.get(frames);
  if (known !== undefined) return known;
  const bytes = Buffer.from(textOf(frames));
  framed.set(frames, bytes);
  if (framed.size > FRAMED_KEPT_MAX) {
    const [oldest] = framed.keys();
    if (oldest !== undefined) framed.delete(oldest);
  }
  return bytes;
}

function textOf(frames: readonly SseFrame[]): string {
  let text = '';
  for (const { seq, event, data } of frames) {
    const named = event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
    text += seq === undefined ? named : `id: ${seq}\n${named}`;
  }
  return text;
}
