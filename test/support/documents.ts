// Documents for tests: a project of a running service, over HTTP, and what becomes of the files in it.

import { expect } from 'vitest';
import type { Document } from '../../src/actors/workspaces/protocol.ts';
import type { HttpAnswer, ServiceClient } from './troupe.ts';
import { upload } from './uploads.ts';

export interface TestProject {
  readonly id: string;
  upload(filename: string, content: Uint8Array | string): Promise<Document>;
  /** A new text document. */
  write(filename: string, content: string): Promise<Document>;
  rewrite(documentId: string, content: string): Promise<HttpAnswer>;
  remove(documentId: string): Promise<HttpAnswer>;
  document(documentId: string): Promise<Document>;
  documents(): Promise<readonly Document[]>;
  /** When it is not pending any more. */
  settled(documentId: string): Promise<Document>;
}

/** Threads start, and models embed: on a busy machine that takes longer than anything else. */
const SETTLING = { timeout: 80_000, interval: 20 } as const;

export async function openProject(client: ServiceClient, name = 'Whales'): Promise<TestProject> {
  const { body } = await client.call('POST', '/api/workspaces', { name });
  return projectOf(client, body.workspace.id);
}

export function projectOf(client: ServiceClient, id: string): TestProject {
  const path = `/api/workspaces/${id}/documents`;
  const document = async (documentId: string): Promise<Document> =>
    (await client.call('GET', `${path}/${documentId}`)).body.document;
  return {
    id,
    async upload(filename, content) {
      const { status, body } = await upload(client.url + path, { filename, content });
      if (status !== 201) throw new Error(`not uploaded: ${status} ${JSON.stringify(body)}`);
      return body.document;
    },
    async write(filename, content) {
      return (await client.call('POST', `${path}/text`, { filename, content })).body.document;
    },
    rewrite: (documentId, content) => client.call('PUT', `${path}/${documentId}/text`, { content }),
    remove: (documentId) => client.call('DELETE', `${path}/${documentId}`),
    document,
    documents: async () => (await client.call('GET', path)).body.documents,
    async settled(documentId) {
      await expect.poll(async () => (await document(documentId)).status, SETTLING).not.toBe('pending');
      return document(documentId);
    },
  };
}
