// Projects over HTTP: the workspaces themselves, and the conversations that are in them.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { workspaces } from '../../../src/actors/workspaces/protocol.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe();
afterAll(() => app.close());

const NOBODY = '11111111-1111-4111-8111-111111111111';

let id: string;
let project: string;
beforeEach(async () => {
  const { body } = await app.call('POST', '/api/workspaces', { name: '  A project ' });
  id = body.workspace.id;
  project = `/api/workspaces/${id}`;
});

describe('a workspace', () => {
  test('is created, listed behind Home, read and changed', async () => {
    const { body } = await app.call('GET', '/api/workspaces');
    expect(body.workspaces[0]).toMatchObject({ id: 'ws_home', name: 'Home', document_count: 0 });
    const found = body.workspaces.find((workspace: { id: string }) => workspace.id === id);
    expect(found).toEqual({
      id: expect.stringMatching(/^[A-Za-z0-9_-]+$/),
      name: 'A project',
      user_id: 'default',
      description: '',
      instructions: '',
      allow_shell: false,
      shell_backend: 'bubblewrap',
      document_count: 0,
      used_bytes: 0,
      created_at: expect.stringMatching(/\+00:00$/),
      updated_at: expect.any(String),
    });
    const change = {
      description: 'What it is',
      instructions: 'Be kind',
      allow_shell: true,
      shell_backend: 'container',
    };
    const changed = await app.call('PATCH', project, change);
    expect(changed.body.workspace).toMatchObject({ ...found, ...change, updated_at: expect.any(String) });
    expect((await app.call('GET', project)).body).toEqual(changed.body);
  });

  test.each([
    [{ description: 'x'.repeat(501) }],
    [{ instructions: 'x'.repeat(8001) }],
    [{ shell_backend: 'chroot' }],
    [{ name: '  ' }],
    [{ allow_shell: 'yes' }],
  ])('refuses %.40j and stays as it is', async (change) => {
    const before = (await app.call('GET', project)).body;
    const { status, body } = await app.call('PATCH', project, change);
    expect(status).toBe(400);
    expect(body.error).toMatch(/\S/);
    expect((await app.call('GET', project)).body).toEqual(before);
  });

  test('that is deleted is gone with its documents; Home stays', async () => {
    const { body } = await app.call('POST', `${project}/documents/text`, { filename: 'a.md', content: 'a' });
    expect(await app.call('DELETE', project)).toMatchObject({
      status: 200,
      body: { status: 'deleted', workspace_id: id },
    });
    for (const path of [project, `${project}/documents`, `${project}/documents/${body.document.id}`]) {
      expect((await app.call('GET', path)).status).toBe(404);
    }
    expect((await app.call('DELETE', project)).status).toBe(404);
    expect((await app.call('DELETE', '/api/workspaces/ws_home')).status).toBe(400);
    expect((await app.call('PATCH', '/api/workspaces/ws_home', { name: 'House' })).status).toBe(400);
  });

  test('keeps its avatars as long as nobody can tell who uses them', async () => {
    const home = '/api/workspaces/ws_home';
    const { body } = await app.call('POST', `${home}/documents/text`, {
      filename: 'avatars/a.md',
      content: 'a',
    });
    const pruned = await app.call('POST', `${home}/avatars/prune`);
    expect(pruned).toMatchObject({ status: 200, body: { deleted: [], count: 0 } });
    expect((await app.call('GET', `${home}/documents/${body.document.id}`)).status).toBe(200);
    expect((await app.call('POST', '/api/workspaces/nowhere/avatars/prune')).status).toBe(404);
  });
});

describe('a conversation', () => {
  const conversationRow = async (sessionId: string) => {
    const { body } = await app.call('GET', '/api/conversations?limit=100&include_archived=1');
    return body.conversations.find((row: { conversation_id: string }) => row.conversation_id === sessionId);
  };
  const inProject = async (path: string) => (await app.call('GET', `${path}/conversations`)).body;

  test('is in one project at most, which its row names', async () => {
    const { sessionId } = await app.turn('Hello');
    expect((await conversationRow(sessionId)).workspace_id).toBeNull();
    const linked = await app.call('PUT', `${project}/conversations/${sessionId}`);
    expect(linked).toMatchObject({
      status: 200,
      body: { status: 'linked', workspace_id: id, conversation_id: sessionId },
    });
    const row = await conversationRow(sessionId);
    expect(row.workspace_id).toBe(id);
    expect(await inProject(project)).toEqual({ conversations: [row], total: 1 });

    const { body } = await app.call('POST', '/api/workspaces', { name: 'Another' });
    const another = `/api/workspaces/${body.workspace.id}`;
    await app.call('PUT', `${another}/conversations/${sessionId}`);
    expect((await inProject(project)).total).toBe(0);
    expect((await inProject(another)).total).toBe(1);
    expect((await app.call('DELETE', `${project}/conversations/${sessionId}`)).status).toBe(404);
    const unlinked = await app.call('DELETE', `${another}/conversations/${sessionId}`);
    expect(unlinked.body).toEqual({
      status: 'unlinked',
      workspace_id: body.workspace.id,
      conversation_id: sessionId,
    });
    expect((await conversationRow(sessionId)).workspace_id).toBeNull();
  });

  test('that is archived is left out of its project; one that is deleted leaves it', async () => {
    const { sessionId } = await app.turn('Hello');
    await app.call('PUT', `${project}/conversations/${sessionId}`);
    await app.call('PATCH', `/api/memory/conversations/${sessionId}/meta`, { archived: true });
    expect(await inProject(project)).toEqual({ conversations: [], total: 0 });
    await app.call('DELETE', `/api/memory/conversations/${sessionId}`);
    expect((await app.call('DELETE', `${project}/conversations/${sessionId}`)).status).toBe(404);
  });

  test('is in no project any more when that is deleted', async () => {
    const { sessionId } = await app.turn('Hello');
    await app.call('PUT', `${project}/conversations/${sessionId}`);
    await app.call('DELETE', project);
    expect((await conversationRow(sessionId)).workspace_id).toBeNull();
  });

  test('of another form, or for Home, is not linked', async () => {
    expect((await app.call('PUT', `${project}/conversations/no-uuid`)).status).toBe(400);
    expect((await app.call('PUT', `/api/workspaces/ws_home/conversations/${NOBODY}`)).status).toBe(400);
    expect((await app.call('PUT', `/api/workspaces/ws_none/conversations/${NOBODY}`)).status).toBe(404);
    expect((await app.call('DELETE', `${project}/conversations/${NOBODY}`)).status).toBe(404);
  });
});

describe('the workspace of a turn', () => {
  const resolve = (conversation_id: string, workspace_id?: string) =>
    app.troupe.system.named(workspaces).ask('resolveProject', {
      user_id: 'default',
      conversation_id,
      ...(workspace_id === undefined ? {} : { workspace_id }),
    });

  test('is the one that it names, which becomes the conversation’s own', async () => {
    const conversation = randomUUID();
    expect(await resolve(conversation)).toEqual({ workspace: null, from: null });
    expect(await resolve(conversation, id)).toMatchObject({ workspace: { id }, from: 'request' });
    expect(await resolve(conversation)).toMatchObject({ workspace: { id }, from: 'membership' });
    // Home is used for this turn, and the conversation stays where it is.
    expect(await resolve(conversation, 'ws_home')).toMatchObject({
      workspace: { id: 'ws_home' },
      from: 'request',
    });
    expect(await resolve(conversation, 'ws_none')).toMatchObject({ workspace: { id }, from: 'membership' });
    expect(await resolve(conversation, 'half a \ud800')).toMatchObject({ from: 'membership' });
    await app.call('DELETE', project);
    expect(await resolve(conversation)).toEqual({ workspace: null, from: null });
  });
});
