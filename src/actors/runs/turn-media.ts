// TurnMedia: the images and recordings of a turn, looked up by id when a model is asked. What is sent, and what stands in place of the
// rest, is decided for each call anew (media-plan.ts): the model may be another one by then, and a document gone.
// D1 A medium that does not reach the model is no failure: the model reads why, and so does the user where it came with his message.
// D2 A recording that the model does not hear is transcribed once, and what was heard is kept with the message.
// D3 A provider that refuses a request with media is asked once more without: what it refuses once would be refused in the next turns
//    too, in which it would be sent again. Where it refuses whoever asks (provider_denied), the media are not why.

import { isFault } from '../../std/errors.ts';
import type { Settings } from '../config/protocol.ts';
import { type MediaRef, type MediaSources, type ModelMessage, providers } from '../providers/protocol.ts';
import { type Document, workspaces } from '../workspaces/protocol.ts';
import { attachmentsOf, transcriptText } from './attachments.ts';
import { type MediaLimits, type MediumFate, planMedia } from './media-plan.ts';
import { type ChatRequest, TRANSCRIPT_CHARS_MAX } from './protocol.ts';
import { type RoutedTurn, TurnStopped } from './turn-scope.ts';

/** The one provider that transcribes. */
const TRANSCRIBER = 'openrouter';
const TRANSCRIPTION_MODEL_DEFAULT = 'openai/whisper-1';
/** As much as that model takes. */
const TRANSCRIBED_BYTES_MAX = 25 * 1024 * 1024;
/** The call has a deadline of its own; this one only guards the wire. */
const TRANSCRIPTION_DEADLINE_MS = 150_000;

/** What a turn with media knows of them. */
class Findings {
  /** What came with its message. */
  readonly own: ReadonlySet<string>;
  /** Media do not change; that one was deleted meanwhile is seen when it is opened. */
  readonly documents = new Map<string, Document | null>();
  /** Why there is no transcript. */
  readonly untranscribed = new Map<string, string>();
  /** Statuses, each of which is said once. */
  readonly said = new Set<string>();

  constructor(request: ChatRequest) {
    const { images, audio } = attachmentsOf(request);
    this.own = new Set([...images, ...audio].map(({ doc_id }) => doc_id));
  }
}

export class TurnMedia {
  readonly #limits: MediaLimits;
  readonly #transcriptionModel: string;
  /** Most turns have none. */
  #findings: Findings | null = null;
  /** The model that was sent media last, and the one that refused them. */
  #sentTo: string | null = null;
  #refusedBy: string | null = null;

  constructor(settings: Settings) {
    this.#transcriptionModel = transcriptionModelOf(settings);
    this.#limits = {
      isVisionOn: settings['vision.enabled'],
      isAudioOn: settings['audio.input_enabled'],
      imageBytesMax: settings['vision.image_bytes_max'],
      imagesMax: settings['vision.images_max'],
      requestBytesMax: settings['vision.request_bytes_max'],
    };
  }

  /** What becomes of the media of these messages when the turn's model is asked now; undefined where there are none. @throws TurnStopped */
  async sourcesFor(turn: RoutedTurn, messages: readonly ModelMessage[]): Promise<MediaSources | undefined> {
    const refs = messages.flatMap((message) => (message.role === 'user' ? (message.media ?? []) : []));
    this.#sentTo = null;
    if (refs.length === 0) return undefined;
    this.#findings ??= new Findings(turn.order.request);
    const { documents } = this.#findings;
    await find(turn, refs, documents);
    const { route } = turn;
    const isRefused = this.#refusedBy === route.reference;
    const fates = planMedia({ refs, documents, route, limits: this.#limits, isRefused });
    const sources = new Map<string, MediaSources[string]>();
    for (const ref of refs) {
      const fate = fates.get(ref.document_id);
      if (fate === undefined || sources.has(ref.document_id)) continue;
      if (fate.kind === 'sent') this.#sentTo = route.reference;
      sources.set(
        ref.document_id,
        fate.kind === 'sent' ? fate.source : await this.#textFor(turn, this.#findings, ref, fate),
      );
    }
    return Object.fromEntries(sources);
  }

  /** D3. The model that was just asked has refused the request: whether it is worth another one, without what it was sent. */
  refused(): boolean {
    if (this.#sentTo === null) return false;
    this.#refusedBy = this.#sentTo;
    return true;
  }

  /** D1. */
  async #textFor(
    turn: RoutedTurn,
    findings: Findings,
    { kind, document_id: id }: MediaRef,
    fate: Exclude<MediumFate, { readonly kind: 'sent' }>,
  ): Promise<string> {
    const isOwn = findings.own.has(id);
    if (kind === 'image') {
      if (isOwn) {
        const label = `An image is not shown to the model: ${fate.why}`;
        sayOnce(turn, findings, { phase: 'vision_unsupported', label, detail: id });
      }
      return `[The image ${id} is not shown: ${fate.why}.]`;
    }
    const known = turn.transcript.transcriptOf(id);
    const isNew = fate.kind === 'unheard' && isOwn && known === undefined;
    const transcript = isNew ? await this.#transcribed(turn, findings, id, fate) : known;
    if (fate.kind === 'unheard' && transcript !== undefined) {
      const label = `The model reads the transcript of a recording: ${fate.why}`;
      if (isNew)
        findings.said.add(label); // That it is transcribed has been said.
      else sayOnce(turn, findings, { phase: 'audio_fallback', label, detail: id });
      return transcriptText(id, transcript);
    }
    const why = findings.untranscribed.get(id) ?? fate.why;
    if (isOwn) {
      const label = `A recording is left out: ${why}`;
      sayOnce(turn, findings, { phase: 'audio_fallback', label, detail: id });
    }
    return `[The recording ${id} is not heard: ${why}.]`;
  }

  /** D2. Undefined when it could not be. */
  async #transcribed(
    turn: RoutedTurn,
    { untranscribed }: Findings,
    id: string,
    { source, sizeBytes, why }: Extract<MediumFate, { readonly kind: 'unheard' }>,
  ): Promise<string | undefined> {
    if (untranscribed.has(id)) return undefined;
    if (sizeBytes > TRANSCRIBED_BYTES_MAX) {
      untranscribed.set(id, `${why}, and it is too large to be transcribed`);
      return undefined;
    }
    const { context, say, signal, usage, completions, transcript } = turn;
    try {
      const connection = await context.ask(providers, 'connection', { provider: TRANSCRIBER }, { signal });
      await turn.budget.admit(turn, { price: null, maxOutputTokens: null }, 0);
      say('status', { phase: 'transcribing', label: 'Transcribing a recording…', detail: id });
      const request = { connection, modelId: this.#transcriptionModel, audio: source };
      const options = { signal, deadlineMs: TRANSCRIPTION_DEADLINE_MS };
      const { text, costUsd } = await completions.ask('transcribe', request, options);
      usage.spent(this.#transcriptionModel, costUsd);
      const kept = text.trim().slice(0, TRANSCRIPT_CHARS_MAX).toWellFormed();
      transcript.heard(id, kept);
      return kept;
    } catch (error) {
      if (signal.aborted) throw new TurnStopped();
      if (!isFault(error) || error.code === 'budget_exceeded') throw error;
      untranscribed.set(id, `${why}, and it could not be transcribed: ${error.message}`);
      return undefined;
    }
  }
}

/** Asks for those that are not known yet. */
async function find(
  { context, order, signal }: RoutedTurn,
  refs: readonly MediaRef[],
  known: Map<string, Document | null>,
): Promise<void> {
  const unknown = refs.filter(({ document_id }) => !known.has(document_id));
  if (unknown.length === 0) return;
  const question = { user_id: order.user_id, documents: unknown };
  const { documents } = await context.ask(workspaces, 'findDocuments', question, { signal });
  for (const [at, { document_id }] of unknown.entries()) known.set(document_id, documents[at] ?? null);
}

function sayOnce(
  { say }: RoutedTurn,
  { said }: Findings,
  status: {
    readonly phase: 'vision_unsupported' | 'audio_fallback';
    readonly label: string;
    readonly detail: string;
  },
): void {
  if (said.has(status.label)) return;
  said.add(status.label);
  say('status', status);
}

/** The provider is known: a name without one, or with its own, is a model of it. */
function transcriptionModelOf(settings: Settings): string {
  const named = settings['ambassador.transcription_model'] ?? '';
  const model = named.startsWith(`${TRANSCRIBER}:`) ? named.slice(TRANSCRIBER.length + 1) : named;
  return model || TRANSCRIPTION_MODEL_DEFAULT;
}
