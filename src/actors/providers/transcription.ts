// Transcription: what is said in a recording, asked of a provider that has a route for it. The aggregator has one, and it is not
// OpenAI's: the recording goes along as base64 text. The answer is bounded as that of every provider, and so is the wait for it.

import type { Blobs } from '../../storage/contract.ts';
import type { AdapterTools } from './adapter.ts';
import { audioFormatOf } from './audio-formats.ts';
import { openaiHeaders } from './openai-messages.ts';
import { providerFaults, type Transcription, type TranscriptionRequest } from './protocol.ts';
import { faultOf, HttpFailure, MalformedAnswer, OverdueAnswer } from './provider-failure.ts';
import { findMedia } from './request-media.ts';
import { ERROR_BODY_BYTES_MAX } from './transport.ts';

const DEADLINE_MS = 120_000;
const NAME = 'recording';

/** @throws Fault of the provider, media_missing */
export async function transcribe(
  { connection, modelId, audio }: TranscriptionRequest,
  blobs: Blobs,
  { transport, clock, random }: Pick<AdapterTools, 'transport' | 'clock' | 'random'>,
  signal: AbortSignal,
): Promise<Transcription> {
  const media = await findMedia({ [NAME]: audio }, blobs, random);
  const overdue = new AbortController();
  const deadline = clock.startTimer(DEADLINE_MS, () => overdue.abort());
  try {
    const slot = media.slotOf({ kind: 'audio', workspace_id: '', document_id: NAME });
    if (typeof slot === 'string') throw providerFaults.media_missing('the recording is not there any more');
    const input_audio = { data: slot.data, format: audioFormatOf(slot.mediaType) };
    const sent = media.bodyOf({ model: modelId, input_audio });
    const url = `${connection.baseUrl.replace(/\/+$/, '')}/audio/transcriptions`;
    const response = await transport.fetch(connection)(url, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'content-length': String(sent?.bytes),
        ...openaiHeaders(connection),
      },
      signal: AbortSignal.any([signal, overdue.signal]),
      // What the pool's `fetch` takes is more than the platform's types say.
      ...({ body: sent?.pieces, duplex: 'half' } as object),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (response.status === 200) return readTranscription(bytes);
    const failure = new HttpFailure(response.status, Object.fromEntries(response.headers));
    failure.append(bytes, ERROR_BODY_BYTES_MAX);
    throw failure;
  } catch (error) {
    const cause = overdue.signal.aborted ? new OverdueAnswer(DEADLINE_MS) : error;
    throw faultOf(cause, { connection, begun: false, nowMs: clock.nowMs() });
  } finally {
    deadline.cancel();
  }
}

function readTranscription(bytes: Uint8Array): Transcription {
  const answer = parsed(bytes);
  if (typeof answer?.text !== 'string') throw new MalformedAnswer('its transcription has no text');
  const cost = Number(answer.usage?.cost ?? Number.NaN);
  return { text: answer.text, costUsd: Number.isFinite(cost) && cost >= 0 ? cost : null };
}

interface Answer {
  readonly text?: unknown;
  readonly usage?: { readonly cost?: unknown };
}

function parsed(bytes: Uint8Array): Answer | null {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Answer | null;
  } catch {
    throw new MalformedAnswer('its transcription is no JSON');
  }
}
