// ChatClient: a cheap reader of chat streams that checks what it reads. Plain node:http, so that its own cost stays small:
// it shares the machine with what it measures.

import { Agent, request } from 'node:http';

export interface ChatReading {
  readonly runId: string;
  /** From the request to the first byte, to the first event that is stored, and to the end, in milliseconds. */
  readonly firstByteMs: number;
  readonly firstEventMs: number;
  readonly totalMs: number;
  readonly eventCount: number;
  readonly text: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** Starts a turn and reads it to its end. @throws when an event is missing, repeated, out of order, or `done` did not come. */
export function readChat(base: URL, message: string, model: string): Promise<ChatReading> {
  return read(base, 'POST', '/api/agent/chat/stream', JSON.stringify({ message, model }), '').done;
}

/** Attaches to a run from its start and reads it to its end, live or replayed. */
export function readAttach(base: URL, runId: string): Promise<ChatReading> {
  return read(base, 'GET', `/api/agent/chat/stream/attach?run_id=${runId}`, null, runId).done;
}

/** Starts a turn; `runId` is known as soon as the service has accepted it. */
export function startChat(
  base: URL,
  message: string,
  model: string,
): { readonly runId: Promise<string>; readonly done: Promise<ChatReading> } {
  return read(base, 'POST', '/api/agent/chat/stream', JSON.stringify({ message, model }), '');
}

function read(
  base: URL,
  method: string,
  path: string,
  body: string | null,
  knownRunId: string,
): { readonly runId: Promise<string>; readonly done: Promise<ChatReading> } {
  const accepted = Promise.withResolvers<string>();
  accepted.promise.catch(() => undefined);
  const done = new Promise<ChatReading>((resolve, reject) => {
    const startedMs = performance.now();
    let firstByteMs = Number.NaN;
    let firstEventMs = Number.NaN;
    let seq = 0;
    let runId = knownRunId;
    let text = '';
    let isDone = false;
    let rest = '';
    const fail = (error: Error): void => {
      accepted.reject(error);
      reject(error);
    };
    const take = (frame: string): void => {
      const id = /^id: (\d+)\n/.exec(frame)?.[1];
      const event = /(?:^|\n)event: (\w+)\n/.exec(frame)?.[1];
      const data = frame.slice(frame.indexOf('data: ') + 6);
      if (event === 'run_started') {
        runId = (JSON.parse(data) as { run_id: string }).run_id;
        accepted.resolve(runId);
      }
      if (id === undefined) return;
      if (seq === 0) firstEventMs = performance.now() - startedMs;
      if (Number(id) !== seq + 1) fail(new Error(`event ${id} came after ${seq}`));
      seq += 1;
      if (event === 'chunk') text += (JSON.parse(data) as { content: string }).content;
      if (event === 'done') isDone = true;
    };
    const outgoing = request(
      new URL(path, base),
      { method, agent, headers: body === null ? {} : { 'content-type': 'application/json' } },
      (response) => {
        if (response.statusCode !== 200) fail(new Error(`status ${response.statusCode}`));
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          if (Number.isNaN(firstByteMs)) firstByteMs = performance.now() - startedMs;
          rest += part;
          for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
            const frame = rest.slice(0, end);
            rest = rest.slice(end + 2);
            if (!frame.startsWith(':')) take(frame);
          }
        });
        response.on('end', () => {
          if (!isDone) fail(new Error(`the stream of ${runId} ended without done after event ${seq}`));
          const totalMs = performance.now() - startedMs;
          resolve({ runId, firstByteMs, firstEventMs, totalMs, eventCount: seq, text });
        });
        response.on('error', fail);
      },
    );
    outgoing.on('error', fail);
    outgoing.end(body);
  });
  return { runId: accepted.promise, done };
}
