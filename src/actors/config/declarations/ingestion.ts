// Settings of ingestion: how much of the machine reading documents may take.

import { integer } from '../setting.ts';

export const ingestionSettings = {
  'ingestion.documents_at_once': integer(
    2,
    { minimum: 1, maximum: 16 },
    'Documents that are read at the same time, each by a thread of its own.',
    { unit: 'documents' },
  ),
  'ingestion.parse_seconds': integer(
    180,
    { minimum: 1, maximum: 3_600 },
    'After how long the parsing of a document is given up.',
    {
      unit: 'seconds',
      why: 'A PDF of 2,000 pages takes some 15 seconds of a core. One that does not even let itself be stopped is ended earlier.',
    },
  ),
  'ingestion.parser_heap_mb': integer(
    768,
    { minimum: 32, maximum: 16_384 },
    'Heap that the parsing of a document may take, beyond which its thread ends.',
    {
      unit: 'MB',
      why: 'A text of 50 MB wants a third of it. A hostile file that takes more fails of it alone.',
    },
  ),
  'ingestion.idle_seconds': integer(
    30,
    { minimum: 1, maximum: 86_400 },
    'After how long without work the threads of ingestion are let go.',
    { unit: 'seconds', why: 'The next document waits until they are there again.' },
  ),
};
