// Project: a project of the service that is measured, over HTTP: files go in, and are looked at until all of them are ready.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Document } from '../../src/actors/workspaces/protocol.ts';
import type { CorpusFile } from './corpus.ts';

const LOOK_MS = 50;
const UPLOADS_AT_ONCE = 4;
const SEARCHED = 8;

export class Project {
  readonly #service: URL;
  readonly #id: string;

  private constructor(service: URL, id: string) {
    this.#service = service;
    this.#id = id;
  }

  static async create(service: URL): Promise<Project> {
    const { workspace } = await answer(new URL('/api/workspaces', service), 'POST', { name: 'Bench' });
    return new Project(service, (workspace as { id: string }).id);
  }

  /** Milliseconds from the first byte of the first file until all are ready. */
  async ingest(files: readonly CorpusFile[]): Promise<number> {
    const startedMs = performance.now();
    const left = [...files];
    const send = async (): Promise<void> => {
      for (let file = left.shift(); file !== undefined; file = left.shift()) await this.#upload(file);
    };
    await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, send));
    for (;;) {
      const documents = await this.documents();
      const failed = documents.find(({ status }) => status === 'failed');
      if (failed !== undefined) throw new Error(`${failed.filename} has failed: ${failed.error}`);
      if (documents.every(({ status }) => status === 'ready')) break;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return performance.now() - startedMs;
  }

  async documents(): Promise<readonly Document[]> {
    const { documents } = await answer(new URL(`/api/workspaces/${this.#id}/documents`, this.#service));
    return documents as Document[];
  }

  /** @throws when a document has another number of chunks than it should, or is not found by its mark */
  async check(files: readonly CorpusFile[], chunks: ReadonlyMap<string, number>): Promise<void> {
    const documents = await this.documents();
    if (documents.length !== files.length)
      throw new Error(`${documents.length} of ${files.length} are there`);
    for (const { filename, chunk_count } of documents) {
      const expected = chunks.get(filename);
      if (chunk_count !== expected) throw new Error(`${filename}: ${chunk_count} chunks, not ${expected}`);
    }
    const client = new Client({ name: 'bench', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', this.#service)));
    const step = Math.max(1, Math.floor(files.length / SEARCHED));
    for (let i = 0; i < files.length; i += step) {
      const { filename, mark } = files[i] as CorpusFile;
      const { structuredContent } = await client.callTool({
        name: 'search_projects',
        arguments: { query: mark, project_id: this.#id },
      });
      const { passages } = structuredContent as { passages: readonly { document: string; text: string }[] };
      const first = passages[0];
      if (first?.document !== filename || !first.text.includes(mark)) {
        throw new Error(`${filename} is not found by its word`);
      }
    }
    await client.close();
  }

  /** What is kept of it is removed in the background. */
  async remove(): Promise<void> {
    await answer(new URL(`/api/workspaces/${this.#id}`, this.#service), 'DELETE');
  }

  async #upload({ filename, bytes }: CorpusFile): Promise<void> {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(bytes)]), filename);
    const url = new URL(`/api/workspaces/${this.#id}/documents`, this.#service);
    const response = await fetch(url, { method: 'POST', body: form });
    const body = await response.text();
    if (response.status !== 201) throw new Error(`not uploaded: ${response.status} ${body}`);
  }
}

export async function answer(
  url: URL,
  method = 'GET',
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url.pathname}: ${response.status} ${text}`);
  return text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
}
