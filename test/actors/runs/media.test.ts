// Images and recordings in a turn: from the upload, over the chat stream, to what the provider gets.

import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openProject } from '../../support/documents.ts';
import { eventually } from '../../support/eventually.ts';
import type { DoubleRequest } from '../../support/provider-double.ts';
import { orderOf, payloadOf, payloadsOf } from '../../support/run-events.ts';
import { openTroupe, type Turn } from '../../support/troupe.ts';
import { upload } from '../../support/uploads.ts';

const CLAUDE = 'anthropic:claude-sonnet-5';
const SEES = 'lmstudio:seer';
const HEARS = 'lmstudio:hearer';
const READS = 'lmstudio:reader';
const TIMEOUT = { timeout: 150_000 };

const modelThatTakes = (id: string, ...input_modalities: string[]) => ({
  id,
  context_length: 200_000,
  architecture: { input_modalities, output_modalities: ['text'] },
});
const MODELS = {
  list: [
    modelThatTakes('seer', 'text', 'image'),
    modelThatTakes('hearer', 'text', 'audio'),
    modelThatTakes('reader', 'text'),
  ],
};

const app = await openTroupe({ models: MODELS });
afterAll(() => app.close());
await app.configure({ providers: { anthropic: { api_key: 'sk-test', base_url: app.double.baseUrl } } });

/** No image that anybody could look at, but it begins as one: some bytes more than a multiple of three, in more than one piece. */
const picture = (size = 100_001) =>
  Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(size)]);
const speech = (head = 'RIFF....WAVEfmt ') => Buffer.concat([Buffer.from(head), randomBytes(3_000)]);

interface Ref {
  readonly workspace_id: string;
  readonly doc_id: string;
  readonly media_type: string;
}

async function sent(content: Uint8Array): Promise<Ref> {
  const { status, body } = await upload(`${app.url}/api/agent/chat/images`, { filename: 'x', content });
  expect(status).toBe(200);
  const { workspace_id, doc_id, media_type } = body;
  return { workspace_id, doc_id, media_type };
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: { readonly url: string };
  readonly input_audio?: { readonly data: string; readonly format: string };
  readonly source?: { readonly media_type: string; readonly data: string };
}

interface TranscriptionBody {
  readonly model: string;
  readonly input_audio: { readonly data: string; readonly format: string };
}

/** What a request has of its user messages, a text as a part too. */
function userParts({ body }: DoubleRequest): readonly (readonly Part[])[] {
  const users = (body.messages ?? []).filter(({ role }) => role === 'user');
  return users.map(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Part[]),
  );
}

const lastRequest = (): DoubleRequest => app.double.requests.at(-1) as DoubleRequest;
const lastParts = (request = lastRequest()): readonly Part[] => userParts(request).at(-1) ?? [];
const textOf = (parts: readonly Part[]): string => parts.map(({ text = '' }) => text).join('\n');
const labelsOf = ({ events }: Turn, phase: string): readonly string[] =>
  payloadsOf(events, 'status').flatMap((status) => (status.phase === phase ? [status.label] : []));

function imagesOf(parts: readonly Part[]): readonly Buffer[] {
  return parts.flatMap(({ image_url, source }) => {
    const data = image_url?.url.replace(/^data:image\/png;base64,/, '') ?? source?.data;
    return data === undefined ? [] : [Buffer.from(data, 'base64')];
  });
}

/** Whether a text lies in the service's files, in a journal, a record, a transcript. */
async function isStored(text: string): Promise<boolean> {
  const entries = await readdir(app.dataDir, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    const bytes = await readFile(join(entry.parentPath, entry.name));
    if (bytes.includes(text)) return true;
  }
  return false;
}

describe('an image', () => {
  test.each([SEES, CLAUDE])(
    'is sent to %s, its bytes as they are, and stored nowhere else',
    TIMEOUT,
    async (model) => {
      const bytes = picture();
      const image = await sent(bytes);
      app.double.answer({ text: 'A cat.' });
      const turn = await app.turn('What is it?', { model, images: [image] });
      expect(orderOf(turn.events).at(-2)).toBe('done');
      expect(labelsOf(turn, 'vision_unsupported')).toEqual([]);

      const parts = lastParts();
      expect(imagesOf(parts).map((one) => one.equals(bytes))).toEqual([true]);
      expect(textOf(parts)).toContain('What is it?');
      expect(textOf(parts)).toContain(`[Attached image: document_id ${image.doc_id}, workspace_id ws_home`);
      const { headers } = lastRequest();
      expect(Number(headers['content-length'])).toBeGreaterThan(bytes.length);
      expect(headers['transfer-encoding']).toBeUndefined();

      const [row] = await app.messages(turn.sessionId);
      expect(row).toMatchObject({ role: 'user', content: 'What is it?', metadata: { images: [image] } });
      expect(await isStored(bytes.toString('base64', 300, 360))).toBe(false);
    },
  );

  test('is seen again for two turns, and then only named', TIMEOUT, async () => {
    const [one, other] = [await sent(picture(500)), await sent(picture(500))];
    app.double.answer({ text: 'I see.' });
    const { sessionId } = await app.turn('Look', { model: SEES, images: [one, other] });
    const seen: number[] = [];
    for (const message of ['And?', 'So?', 'Well?']) {
      await app.turn(message, { model: SEES, session_id: sessionId });
      const [first = []] = userParts(lastRequest());
      seen.push(imagesOf(first).length);
      expect(textOf(first)).toContain(`document_id ${other.doc_id}`);
    }
    expect(seen).toEqual([2, 2, 0]);
  });

  test('is told to a model that cannot see, and that it does not to the user', TIMEOUT, async () => {
    const image = await sent(picture(500));
    const unnamed = { ...image, media_type: undefined };
    app.double.answer({ text: 'I cannot.' });
    const turn = await app.turn('', { model: READS, images: [unnamed] });
    expect(orderOf(turn.events)[0]).toBe('status(vision_unsupported)');
    expect(labelsOf(turn, 'vision_unsupported')).toEqual([
      'An image is not shown to the model: this model cannot see',
    ]);
    expect(lastParts()).toEqual([
      {
        type: 'text',
        text:
          `[Attached image: document_id ${image.doc_id}, workspace_id ws_home]\n` +
          `[The image ${image.doc_id} is not shown: this model cannot see.]`,
      },
    ]);
  });

  test('that is gone, elsewhere or none is told in its place; what is there is shown', TIMEOUT, async () => {
    const [there, gone] = [await sent(picture(500)), await sent(picture(500))];
    const sound = await sent(speech());
    await app.call('DELETE', `/api/workspaces/ws_home/documents/${gone.doc_id}`);
    app.double.answer({ text: 'One.' });
    const images = [there, gone, { ...there, workspace_id: 'ws_other', doc_id: 'constructor' }, sound];
    const turn = await app.turn('Look', { model: SEES, images });
    expect(imagesOf(lastParts())).toHaveLength(1);
    expect(textOf(lastParts())).toContain(`[The image ${gone.doc_id} is not shown: it is not there.]`);
    expect(textOf(lastParts())).toContain('[The image constructor is not shown: it is not there.]');
    expect(textOf(lastParts())).toContain(`[The image ${sound.doc_id} is not shown: it is audio/wav.]`);
    expect(labelsOf(turn, 'vision_unsupported')).toHaveLength(2);
  });

  test('whose file is missing is told in its place', TIMEOUT, async () => {
    const bytes = picture(500);
    const image = await sent(bytes);
    const name = createHash('sha256').update(bytes).digest('hex');
    await rm(join(app.dataDir, 'blobs', name.slice(0, 2), name.slice(2, 4), name));
    app.double.answer({ text: 'Nothing.' });
    await app.turn('Look', { model: SEES, images: [image] });
    expect(textOf(lastParts())).toContain(`[The image ${image.doc_id} is not there any more.]`);
  });

  test('that the provider refuses is left out, in this turn and the next', TIMEOUT, async () => {
    const image = await sent(picture(500));
    const before = app.double.requestCount;
    app.double.answer((request) =>
      imagesOf(userParts(request).flat()).length > 0
        ? { fault: { kind: 'status', status: 400, message: 'could not process image' } }
        : { text: 'Without it, then.' },
    );
    const turn = await app.turn('Look', { model: SEES, images: [image] });
    expect(orderOf(turn.events).at(-2)).toBe('done');
    expect(labelsOf(turn, 'vision_unsupported')).toEqual([
      'An image is not shown to the model: the provider refused it',
    ]);
    const next = await app.turn('And?', { model: SEES, session_id: turn.sessionId });
    expect(orderOf(next.events).at(-2)).toBe('done');
    expect(app.double.requestCount - before).toBe(4);
  });

  test('is not asked about again without it where the provider refuses the key', TIMEOUT, async () => {
    const image = await sent(picture(500));
    const before = app.double.requestCount;
    app.double.answer({ fault: { kind: 'status', status: 401, message: 'no such key' } });
    const turn = await app.turn('Look', { model: SEES, images: [image] });
    expect(payloadOf(turn.events, 'error').code).toBe('provider_denied');
    expect(labelsOf(turn, 'vision_unsupported')).toEqual([]);
    expect(app.double.requestCount - before).toBe(1);
  });

  test('is not shown where that is switched off', TIMEOUT, async () => {
    const image = await sent(picture(500));
    await app.configure({ vision: { enabled: false } });
    app.double.answer({ text: 'No.' });
    const turn = await app.turn('Look', { model: SEES, images: [image] });
    await app.configure({ vision: { enabled: true } });
    expect(imagesOf(lastParts())).toEqual([]);
    expect(labelsOf(turn, 'vision_unsupported')).toEqual([
      'An image is not shown to the model: it is switched off',
    ]);
  });

  test('is named, and never fetched or taken along', TIMEOUT, async () => {
    const image = await sent(picture(500));
    const smuggled = { ...image, url: 'http://127.0.0.1:1/x.png', data: randomBytes(30).toString('base64') };
    app.double.answer({ text: 'Yes.' });
    const { sessionId } = await app.turn('Look', { model: SEES, images: [smuggled] });
    expect((await app.messages(sessionId))[0]?.metadata).toEqual({ images: [image] });
    for (const images of [Array(21).fill(image), [{ url: 'http://127.0.0.1/' }], ['x']]) {
      const refused = await app.call('POST', '/api/agent/chat/stream', { message: 'Look', images });
      expect(refused).toMatchObject({ status: 400, body: { error: expect.any(String) } });
    }
  });
});

describe('a recording', () => {
  const partOf = (parts: readonly Part[]) => parts.find(({ type }) => type === 'input_audio')?.input_audio;
  const transcriptions = () =>
    app.double.requests.filter(({ path }) => path.endsWith('/audio/transcriptions'));

  test('is sent to a model that hears, as it is', TIMEOUT, async () => {
    const bytes = speech();
    const audio = await sent(bytes);
    app.double.answer({ text: 'I hear.' });
    const turn = await app.turn('', { model: HEARS, audio: [audio] });
    const heard = partOf(lastParts());
    expect(heard?.format).toBe('wav');
    expect(Buffer.from(heard?.data ?? '', 'base64').equals(bytes)).toBe(true);
    expect(labelsOf(turn, 'transcribing')).toEqual([]);
    expect((await app.messages(turn.sessionId))[0]?.metadata).toEqual({ audio: [audio] });
  });

  test('is left out where nobody can transcribe it, and both are told', TIMEOUT, async () => {
    const audio = await sent(speech());
    app.double.answer({ text: 'I cannot.' });
    const turn = await app.turn('Listen', { model: READS, audio: [audio] });
    expect(labelsOf(turn, 'audio_fallback')).toEqual([
      expect.stringMatching(/^A recording is left out: this model cannot hear, and it could not be transc/),
    ]);
    expect(textOf(lastParts())).toContain(`[The recording ${audio.doc_id} is not heard: `);
  });

  test('is transcribed for one that does not: once, also when it is sent again', TIMEOUT, async () => {
    await app.configure({ providers: { openrouter: { api_key: 'sk-or', base_url: app.double.baseUrl } } });
    const bytes = speech('OggS');
    const audio = await sent(bytes);
    app.double.answer({ text: 'Good night.', transcript: ' Sleep well. ' });
    const turn = await app.turn('What?', { model: HEARS, audio: [audio] });
    expect(orderOf(turn.events).slice(0, 2)).toEqual(['status(transcribing)', 'status(recalling)']);
    expect(labelsOf(turn, 'audio_fallback')).toEqual([]);
    const [asked] = transcriptions().map(({ body }) => body as unknown as TranscriptionBody);
    const { model, input_audio } = asked as TranscriptionBody;
    expect([model, input_audio.format]).toEqual(['openai/whisper-1', 'ogg']);
    expect(Buffer.from(input_audio.data, 'base64').equals(bytes)).toBe(true);
    expect(partOf(lastParts())).toBeUndefined();
    expect(textOf(lastParts())).toContain(`[Transcript of the recording ${audio.doc_id}]\nSleep well.`);
    expect(payloadsOf(turn.events, 'done')[0]).toMatchObject({ cost_estimate: 0.0125 });

    const [row] = await app.messages(turn.sessionId);
    const kept = { ...audio, transcript: 'Sleep well.' };
    expect(row?.metadata).toEqual({ audio: [kept] });
    const again = await app.turn('And?', { model: READS, session_id: turn.sessionId, audio: [kept] });
    expect(labelsOf(again, 'audio_fallback')).toEqual([
      'The model reads the transcript of a recording: this model cannot hear',
    ]);
    const [earlier = [], now = []] = userParts(lastRequest());
    for (const parts of [earlier, now]) expect(textOf(parts)).toContain('Sleep well.');
    expect(transcriptions()).toHaveLength(1);
  });

  test('that was transcribed is paid for, also when the turn fails then', TIMEOUT, async () => {
    const audio = await sent(speech('OggS'));
    const spent = async (): Promise<number> =>
      (await app.call('GET', '/api/metrics/usage')).body.totals.cost_total;
    const before = await spent();
    app.double.answer((request) =>
      request.path.endsWith('/transcriptions')
        ? { transcript: 'Hm.' }
        : { fault: { kind: 'status', status: 400, message: 'no' } },
    );
    const turn = await app.turn('What?', { model: READS, audio: [audio] });
    expect(orderOf(turn.events).slice(-2)).toEqual(['error', 'close']);
    await eventually(async () => Math.round(((await spent()) - before) * 10_000)).toBe(125);
    expect((await app.messages(turn.sessionId))[0]?.metadata).toEqual({
      audio: [{ ...audio, transcript: 'Hm.' }],
    });
  });
});

describe('view_image', () => {
  const answerWith = (document_id: string): void =>
    app.double.answer({
      rules: [
        {
          when: { lastText: 'Show' },
          reply: { toolCalls: [{ id: 'call_1', name: 'view_image', arguments: { document_id } }] },
        },
        { when: {}, reply: { text: 'Now I see.' } },
      ],
    });
  const isOffered = (): boolean => JSON.stringify(lastRequest().body.tools ?? []).includes('view_image');

  test('puts an image into the next request', TIMEOUT, async () => {
    const bytes = picture(1_000);
    const image = await sent(bytes);
    answerWith(image.doc_id);
    await app.turn('Show it', { model: SEES });
    expect(isOffered()).toBe(true);
    const { messages = [] } = lastRequest().body;
    expect(messages.slice(-3).map(({ role }) => role)).toEqual(['assistant', 'tool', 'user']);
    expect(imagesOf(lastParts()).map((one) => one.equals(bytes))).toEqual([true]);
  });

  test(
    'shows nothing that is no image or lies elsewhere, and is not offered to a model that cannot see',
    TIMEOUT,
    async () => {
      const sound = await sent(speech());
      const project = await openProject(app);
      const elsewhere = await project.write('a.md', 'a');
      await project.settled(elsewhere.id); // Whose description is asked for too.
      for (const id of [sound.doc_id, elsewhere.id, 'doc_none']) {
        answerWith(id);
        await app.turn('Show it', { model: SEES });
        expect(lastRequest().body.messages?.at(-1)).toMatchObject({
          role: 'tool',
          content: expect.stringMatching(/^{"error"/),
        });
      }
      app.double.answer({ text: 'No.' });
      await app.turn('Go', { model: READS });
      expect(isOffered()).toBe(false);
    },
  );
});

test('a turn that goes on after a restart reads its media again; what was deleted meanwhile is told', async () => {
  const [bytes, seenBytes] = [picture(2_000), picture(2_000)];
  const [image, gone, seen] = [await sent(bytes), await sent(picture(2_000)), await sent(seenBytes)];
  const before = app.double.requestCount;
  app.double.answer([
    { toolCalls: [{ id: 'call_1', name: 'view_image', arguments: { document_id: seen.doc_id } }] },
    { fault: { kind: 'silence' } },
    { text: 'All seen.' },
  ]);
  const { runId } = await app.start('Look', { model: SEES, images: [image, gone] });
  const lost = await app.double.received(before + 1);
  expect(imagesOf(userParts(lost).flat())).toHaveLength(3);
  await app.call('DELETE', `/api/workspaces/ws_home/documents/${gone.doc_id}`);
  await app.restart();
  const resumed = await app.double.received(before + 2);
  const [first = [], second = []] = userParts(resumed);
  expect(imagesOf(first).map((one) => one.equals(bytes))).toEqual([true]);
  expect(textOf(first)).toContain(`[The image ${gone.doc_id} is not shown: it is not there.]`);
  expect(imagesOf(second).map((one) => one.equals(seenBytes))).toEqual([true]);
  const reader = await app.attach(runId);
  expect(orderOf(await reader.rest()).slice(-2)).toEqual(['done', 'close']);
}, 150_000);
