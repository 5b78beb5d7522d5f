// Media plan: which of the images and recordings of a request are sent, without a service.

import { describe, expect, test } from 'vitest';
import type { MediaRef } from '../../../src/actors/providers/protocol.ts';
import { type MediaFacts, NATIVE_AUDIO_BYTES_MAX, planMedia } from '../../../src/actors/runs/media-plan.ts';
import type { Document } from '../../../src/actors/workspaces/protocol.ts';

const LIMITS = {
  isVisionOn: true,
  isAudioOn: true,
  imageBytesMax: 1_000,
  imagesMax: 3,
  requestBytesMax: 20_000_000,
};
const ROUTE = { supportsVision: true, audioTypes: ['audio/wav'] };

const document = (content_type: string, size_bytes: number) =>
  ({ content_type, size_bytes, sha256: 'ab' }) as Document;
const image = (size = 500) => document('image/png', size);

/** What becomes of the documents in order: `sent`, or why not. */
function fatesOf(documents: readonly (Document | null)[], facts: Partial<MediaFacts> = {}): string[] {
  const refs = documents.map((found, at): MediaRef => {
    const kind = found?.content_type.startsWith('audio/') ? 'audio' : 'image';
    return { kind, workspace_id: 'ws_home', document_id: String(at) };
  });
  const fates = planMedia({
    refs,
    documents: new Map(documents.map((found, at) => [String(at), found])),
    route: ROUTE,
    limits: LIMITS,
    isRefused: false,
    ...facts,
  });
  return refs.map(({ document_id }) => {
    const fate = fates.get(document_id);
    return fate === undefined || fate.kind === 'sent' ? 'sent' : `${fate.kind}: ${fate.why}`;
  });
}

describe('of the images of a request', () => {
  test('the newest are sent, as many as may', () => {
    const older = 'withheld: at most 3 images are shown at once';
    expect(fatesOf([image(), image(), image(), image(), image()])).toEqual([
      older,
      older,
      'sent',
      'sent',
      'sent',
    ]);
  });

  test('the newest are sent, as far as their bytes go; a smaller one may fit behind a larger', () => {
    const limits = { ...LIMITS, requestBytesMax: 1_000 };
    const left = 'withheld: there is no room for it beside the newer ones';
    expect(fatesOf([image(300), image(500), image(600)], { limits })).toEqual(['sent', left, 'sent']);
  });

  test('one that is too large is not, nor what is none or not there', () => {
    expect(fatesOf([image(1_001), document('application/pdf', 9), null, image(1_000)])).toEqual([
      'withheld: it has 1001 bytes, and at most 1000 are shown',
      'withheld: it is application/pdf',
      'withheld: it is not there',
      'sent',
    ]);
  });

  test('none is where the model sees none, the provider refused them, or it is switched off', () => {
    const blind = { route: { ...ROUTE, supportsVision: false } };
    expect(fatesOf([image()], blind)).toEqual(['withheld: this model cannot see']);
    expect(fatesOf([image()], { isRefused: true })).toEqual(['withheld: the provider refused it']);
    const limits = { ...LIMITS, isVisionOn: false };
    expect(fatesOf([image()], { limits })).toEqual(['withheld: it is switched off']);
  });
});

describe('a recording', () => {
  test('is heard in the containers that the model takes, up to the size that providers take', () => {
    expect(
      fatesOf([
        document('audio/wav', NATIVE_AUDIO_BYTES_MAX + 1),
        document('audio/ogg', 5),
        document('audio/wav', NATIVE_AUDIO_BYTES_MAX),
      ]),
    ).toEqual(['unheard: it is too large to be heard', 'unheard: this model hears no audio/ogg', 'sent']);
  });

  test('is read instead where the model does not hear', () => {
    const deaf = { route: { ...ROUTE, audioTypes: [] } };
    expect(fatesOf([document('audio/wav', 5)], deaf)).toEqual(['unheard: this model cannot hear']);
  });
});
