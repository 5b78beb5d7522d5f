// Settings of the vector indexes.

import { integer, operatorOnly } from '../setting.ts';

export const vectorSettings = {
  ...operatorOnly({
    'vectors.memory_mb': integer(
      1_024,
      { minimum: 16, maximum: 65_536 },
      'How much memory the indexes of vectors may take, some 2 KB for a vector of 384 dimensions; more vectors are compared on disk. Read when they are first used after a start.',
      { unit: 'megabytes' },
    ),
  }),
};
