// Projects over MCP: real documents, read and searched by the service itself.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openMcp } from '../../support/mcp-client.ts';
import { openTroupe, type TestTroupe } from '../../support/troupe.ts';

const PATIENCE_MS = 240_000;
let app: TestTroupe;

beforeAll(async () => {
  app = await openTroupe();
  await app.configure({ mcp: { server: { enabled: true } } });
}, PATIENCE_MS);
afterAll(() => app.close());

async function projectWith(name: string, filename: string, text: string): Promise<string> {
  const created = await app.call('POST', '/api/workspaces', { name });
  const { id } = created.body.workspace;
  const form = new FormData();
  form.set('file', new Blob([text], { type: 'text/plain' }), filename);
  const uploaded = await fetch(`${app.url}/api/workspaces/${id}/documents`, { method: 'POST', body: form });
  if (!uploaded.ok) throw new Error(await uploaded.text());
  await uploaded.body?.cancel().catch(() => undefined);
  const statuses = async (): Promise<readonly string[]> => {
    const { body } = await app.call('GET', `/api/workspaces/${id}/documents`);
    return body.documents.map(({ status }: { readonly status: string }) => status);
  };
  // Threads are started for it, and a model is loaded.
  await expect.poll(statuses, { timeout: PATIENCE_MS / 2, interval: 50 }).toEqual(['ready']);
  return id;
}

test(
  'documents of projects are found over MCP, in one project and in all of them',
  async () => {
    const garden = await projectWith(
      'Garden',
      'roses.txt',
      'Roses are pruned in February, above an outward bud.',
    );
    const kitchen = await projectWith(
      'Kitchen',
      'bread.txt',
      'Bread is baked at 240 degrees for ten minutes, then at 200.',
    );
    const { tool } = await openMcp(app.url);

    const { data } = await tool('list_projects');
    expect(data.projects).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: garden, name: 'Garden', documents: 1 }),
        expect.objectContaining({ id: kitchen, name: 'Kitchen', documents: 1 }),
      ]),
    );
    const everywhere = await tool('search_projects', { query: 'When are roses pruned?' });
    expect(everywhere.data.passages).toContainEqual(
      expect.objectContaining({ project: 'Garden', document: 'roses.txt', line: 1 }),
    );
    const inOne = await tool('search_projects', { query: 'bread', project_id: kitchen, limit: 1 });
    expect(inOne.text).toContain('Kitchen / bread.txt, line 1:\nBread is baked');
    expect(inOne.data.passages).toHaveLength(1);
    expect(await tool('search_projects', { query: 'bread', project_id: 'nowhere' })).toMatchObject({
      isError: true,
      text: 'There is no project nowhere: list_projects says which there are',
    });
  },
  PATIENCE_MS,
);
