// Uploads: files sent as a browser sends them, and what tests look at in a service's folder.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HttpAnswer } from './troupe.ts';

export interface SentFile {
  readonly filename: string;
  readonly content: string | Uint8Array;
  readonly type?: string;
}

/** POSTs a form with one file in it. */
export async function upload(url: string, file: SentFile, field = 'file'): Promise<HttpAnswer> {
  const form = new FormData();
  const content = typeof file.content === 'string' ? file.content : new Uint8Array(file.content);
  form.append(field, new Blob([content], { type: file.type ?? '' }), file.filename);
  const response = await fetch(url, { method: 'POST', body: form });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** What lies in the folder of blobs: the files with a name, and the drafts. */
export async function blobFiles(dataDir: string) {
  const entries = await readdir(join(dataDir, 'blobs'), { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  const files = entries.filter((entry) => entry.isFile());
  const isDraft = ({ parentPath }: { readonly parentPath: string }) => parentPath.endsWith('drafts');
  return {
    blobs: files.filter((file) => !isDraft(file)).map(({ name }) => name),
    drafts: files.filter(isDraft).map(({ name }) => name),
  };
}
