// Request media: bodies that are made while they are sent, over real blobs.

import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import type { MediaRef, MediaSource } from '../../../src/actors/providers/protocol.ts';
import { findMedia, type RequestMedia } from '../../../src/actors/providers/request-media.ts';
import { systemRandom } from '../../../src/std/ids.ts';
import { openTemporaryStorage } from '../../support/storage.ts';

const folder = await openTemporaryStorage();
afterAll(() => folder.close());
const { blobs } = folder.storage;

const ref = (document_id: string): MediaRef => ({ kind: 'image', workspace_id: 'ws_home', document_id });

async function stored(bytes: Uint8Array): Promise<MediaSource> {
  const draft = await blobs.draft();
  await draft.write(bytes);
  const { sha256 } = await draft.place();
  return { mediaType: 'image/png', sha256 };
}

function dataOf(media: RequestMedia, id: string): string {
  const slot = media.slotOf(ref(id));
  if (typeof slot === 'string') throw new Error(`no slot: ${slot}`);
  return slot.data;
}

/** The body as a server reads it; its length is the one that was told. */
async function received(media: RequestMedia, request: object): Promise<unknown> {
  const sent = media.bodyOf(request);
  if (sent === null) throw new Error('no slots');
  const pieces: string[] = [];
  for await (const piece of sent.pieces) pieces.push(piece);
  const text = pieces.join('');
  expect(Buffer.byteLength(text)).toBe(sent.bytes);
  return JSON.parse(text);
}

test.each([0, 1, 2, 3, 65_535, 65_536, 65_537, 200_000])('a blob of %i bytes arrives whole', async (size) => {
  const bytes = randomBytes(size);
  const media = await findMedia({ one: await stored(bytes) }, blobs, systemRandom);
  const request = { text: 'Größe "\\"', data: `data:image/png;base64,${dataOf(media, 'one')}` };
  expect(await received(media, request)).toEqual({
    text: 'Größe "\\"',
    data: `data:image/png;base64,${bytes.toString('base64')}`,
  });
});

test('each goes where it belongs, as often as it is named', async () => {
  const contents = new Map(Array.from({ length: 12 }, (_, at) => [`doc_${at}`, randomBytes(at + 1)]));
  const sources: [string, MediaSource][] = [];
  for (const [id, bytes] of contents) sources.push([id, await stored(bytes)]);
  const media = await findMedia(Object.fromEntries(sources), blobs, systemRandom);
  const named = [...contents.keys(), 'doc_1', 'doc_11'];
  const answer = await received(
    media,
    named.map((id) => dataOf(media, id)),
  );
  expect(answer).toEqual(named.map((id) => contents.get(id)?.toString('base64')));
});

test('what goes while the rest is sent ends the request', async () => {
  const source = await stored(randomBytes(10));
  const media = await findMedia({ one: source }, blobs, systemRandom);
  const sent = media.bodyOf({ data: dataOf(media, 'one') });
  await rm(blobs.pathOf(source.sha256));
  const reading = Array.fromAsync(sent?.pieces ?? []);
  await expect(reading).rejects.toMatchObject({ code: 'media_missing', retryable: true });
});

test('what is gone, told or unknown is a text, and a request of texts alone is an ordinary one', async () => {
  const gone: MediaSource = { mediaType: 'image/png', sha256: '0'.repeat(64) };
  const given = Object.fromEntries<MediaSource | string>([
    ['gone', gone],
    ['__proto__', 'It is told.'],
  ]);
  const media = await findMedia(given, blobs, systemRandom);
  expect(media.slotOf(ref('gone'))).toBe('[The image gone is not there any more.]');
  expect(media.slotOf(ref('__proto__'))).toBe('It is told.');
  expect(media.slotOf(ref('constructor'))).toBe('[The image constructor is not there any more.]');
  expect(media.bodyOf({ text: 'x' })).toBeNull();
});
