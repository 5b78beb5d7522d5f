// Refusals: how a file that is not taken is told. A document's have a status each; media's are one, told apart by a code.

import type { Fault } from '../../std/errors.ts';
import { workspaceFaults } from './protocol.ts';

export interface Refusals {
  unsupported(sentence: string): Fault;
  tooLarge(bytesMax: number): Fault;
  overQuota(bytesMax: number): Fault;
  tooMany(documentsMax: number): Fault;
}

type Code = 'unsupported' | 'too_large' | 'quota_exceeded';

const refusals = (fault: (code: Code, sentence: string) => Fault): Refusals => ({
  unsupported: (sentence) => fault('unsupported', sentence),
  tooLarge: (bytesMax) => fault('too_large', `A file may have at most ${bytesMax} bytes`),
  overQuota: (bytesMax) => fault('quota_exceeded', `A workspace may hold at most ${bytesMax} bytes`),
  tooMany: (documentsMax) =>
    fault('quota_exceeded', `A workspace may hold at most ${documentsMax} documents`),
});

const BY_STATUS = {
  unsupported: workspaceFaults.document_type_unsupported,
  too_large: workspaceFaults.document_too_large,
  quota_exceeded: workspaceFaults.quota_exceeded,
};

export const documentRefusals = refusals((code, sentence) =>
  BY_STATUS[code](sentence, { details: { code } }),
);

export const mediaRefusals = refusals((code, sentence) =>
  workspaceFaults.media_refused(sentence, { details: { code } }),
);
