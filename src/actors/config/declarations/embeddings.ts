// Settings of the embeddings: which engine makes the vectors, and what it may use. Which vectors there are is not decided here:
// a change of the engine makes them again in the background.

import { concreteModel, integer, optionalText, prefixText } from '../setting.ts';

const NEW_VECTORS = 'Another value makes all vectors again, in the background.';

export const embeddingSettings = {
  'embeddings.model_dir': optionalText('Folder of a model in the form of sentence-transformers.', {
    emptyMeans: 'a remote model is used if one is set, else the built-in one',
    why: `A model that was trained finds what means the same in other words. ${NEW_VECTORS}`,
  }),
  'embeddings.model_file': optionalText(
    'The graph inside of the folder, for instance onnx/model_quantized.onnx.',
    {
      emptyMeans: 'onnx/model.onnx, or what is there instead',
      why: NEW_VECTORS,
    },
  ),
  'embeddings.remote_model': concreteModel('Model of a provider that makes the vectors, as provider:model.', {
    emptyMeans: 'no texts are sent to a provider for their vectors',
    why: `Every text that is stored goes to that provider. ${NEW_VECTORS}`,
  }),
  'embeddings.dimensions': integer(
    0,
    { minimum: 0, maximum: 8_192 },
    'How many numbers of a vector are kept; 0 keeps all.',
    { why: `Only models that were trained for it lose little by it. ${NEW_VECTORS}` },
  ),
  'embeddings.query_prefix': prefixText('What is put before a question.', {
    emptyMeans: 'what the folder of the model says',
    why: NEW_VECTORS,
  }),
  'embeddings.passage_prefix': prefixText('What is put before a text that is to be found.', {
    emptyMeans: 'what the folder of the model says',
    why: NEW_VECTORS,
  }),
  'embeddings.threads': integer(2, { minimum: 1, maximum: 16 }, 'Most threads that make vectors at a time.', {
    unit: 'threads',
    why: 'Each has the model in memory. They are started when there is work.',
  }),
  'embeddings.threads_per_run': integer(
    1,
    { minimum: 1, maximum: 16 },
    'Cores that one run of a model may use.',
    {
      unit: 'threads',
      why: 'More make a single text quicker, and many texts slower.',
    },
  ),
  'embeddings.idle_seconds': integer(
    60,
    { minimum: 1, maximum: 86_400 },
    'After how long without work a thread gives its memory back.',
    { unit: 'seconds', why: 'The next text waits until the model is loaded again.' },
  ),
  'embeddings.cache_mb': integer(
    16,
    { minimum: 0, maximum: 4_096 },
    'Memory for the vectors that were made last.',
    {
      unit: 'MB',
    },
  ),
};
