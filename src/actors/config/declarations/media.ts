// Settings of images and audio.

import { Type } from '../../../std/schema.ts';
import { flag, integer, kept, map, onPage, operatorOnly, promptText, taskModel } from '../setting.ts';

const MEGABYTE = 1024 * 1024;

const PRICES_MAX = 1_000;

const AVATAR_STYLE =
  'Portrait of {subject}, head and shoulders, facing the viewer. Soft light from one side, calm plain background, ' +
  'clear silhouette that still reads at the size of an icon. No text, no frame, no watermark.';

/** What a unit of a model's output costs; which units there are is the matter of whoever bills them. */
const Prices = Type.Record(Type.String(), Type.Number({ minimum: 0 }), { maxProperties: 20 });

const input = onPage('images', {
  'vision.enabled': flag(true, 'Lets a model see the images of a turn.', { tier: 'essential' }),
  'vision.refeed_recent_turns': integer(
    2,
    { minimum: 0, maximum: 10_000 },
    'For how many turns a model sees an image again.',
    { unit: 'turns', why: 'Every time costs the tokens of the image once more.' },
  ),
  'audio.input_enabled': flag(true, 'Lets a model hear the audio of a turn.', { tier: 'essential' }),
});

const bounds = operatorOnly({
  'vision.image_bytes_max': integer(
    5 * MEGABYTE,
    { minimum: 1, maximum: 50 * MEGABYTE },
    'Largest image that a model is sent.',
    { unit: 'bytes', why: 'Providers refuse what is larger than they take, and the whole turn with it.' },
  ),
  'vision.images_max': integer(20, { minimum: 0, maximum: 100 }, 'How many images one request has at most.', {
    unit: 'images',
    why: 'Of a longer conversation the newest are sent.',
  }),
  'vision.request_bytes_max': integer(
    20 * MEGABYTE,
    { minimum: 0, maximum: 200 * MEGABYTE },
    'What the images and recordings of one request may have together.',
    { unit: 'bytes' },
  ),
});

const media = onPage(
  'images',
  kept({
    'images.enabled': flag(true, 'Offers to make images.', { tier: 'essential' }),
    'images.default_model': taskModel(
      'openrouter:black-forest-labs/flux.2-klein-4b',
      'Model that makes images.',
      {
        tier: 'essential',
        emptyMeans: 'the shipped model is used',
      },
    ),
    'images.avatar_model': taskModel(
      'openrouter:microsoft/mai-image-2.5',
      'Model that makes the portraits of agents.',
      { tier: 'essential', emptyMeans: 'the shipped model is used' },
    ),
    'images.avatar_style_prompt': promptText(
      AVATAR_STYLE,
      'How portraits look; {subject} stands for who is shown.',
    ),
    'audio.speech_enabled': flag(true, 'Offers to speak answers.', { tier: 'essential' }),
  }),
);

const prices = kept(
  operatorOnly({
    'pricing.audio': map(Prices, {}, 'What speech and transcription cost, by model.', {
      entriesMax: PRICES_MAX,
      expected: 'a map of model to its prices',
      unit: 'USD',
    }),
    'pricing.images': map(Prices, {}, 'What an image costs, by model.', {
      entriesMax: PRICES_MAX,
      expected: 'a map of model to its prices',
      unit: 'USD',
    }),
  }),
);

export const mediaSettings = { ...input, ...bounds, ...media, ...prices };
