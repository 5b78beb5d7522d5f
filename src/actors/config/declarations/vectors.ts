// Settings of the vector indexes.

import { integer, number, operatorOnly } from '../setting.ts';

export const vectorSettings = {
  ...operatorOnly({
    'vectors.memory_mb': integer(
      1_024,
      { minimum: 16, maximum: 65_536 },
      'How much memory the indexes of vectors may take: of a vector of 384 dimensions 0.4 KB, and 1.9 KB more where a graph of many pays; more vectors are compared on disk. Read when they are first used after a start.',
      { unit: 'megabytes' },
    ),
    'vectors.recall_target': number(
      0.95,
      { minimum: 0.5, maximum: 0.999 },
      'The share of the nearest passages that a search has to find. A graph that is found to miss more is asked more widely, or all are compared. Read when vectors are first used after a start.',
    ),
  }),
};
