// Settings of ingestion: how much of the machine reading documents may take.

import { integer } from '../setting.ts';

export const ingestionSettings = {
  'ingestion.documents_at_once': integer(
    2,
    { minimum: 1, maximum: 16 },
    'Documents that are read at the same time, each by a thread of its own.',
    { unit: 'documents' },
  ),
};
