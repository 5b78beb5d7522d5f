// Routes of workspaces (projects), their documents and conversations, and of the media of a chat, which go to Home.

import { workspaces } from '../../actors/workspaces/protocol.ts';
import { type Binding, bind, bindBytes, bindUpload } from '../route.ts';

const WORKSPACE = '/api/workspaces/{workspace_id}';
const DOCUMENT = `${WORKSPACE}/documents/{document_id}`;
const CONVERSATION = `${WORKSPACE}/conversations/{conversation_id}`;
const PIECES = { write: 'writeUpload', abandon: 'abandonUpload' } as const;

export const workspaceRoutes: readonly Binding[] = [
  bind('GET', '/api/workspaces', workspaces, 'list'),
  bind('POST', '/api/workspaces', workspaces, 'create', { status: 201 }),
  bind('GET', WORKSPACE, workspaces, 'read'),
  bind('PATCH', WORKSPACE, workspaces, 'update'),
  bind('DELETE', WORKSPACE, workspaces, 'remove'),

  bind('GET', `${WORKSPACE}/documents`, workspaces, 'documents'),
  bindUpload('POST', `${WORKSPACE}/documents`, workspaces, 'beginUpload', {
    ...PIECES,
    finish: 'finishUpload',
    status: 201,
  }),
  bind('POST', `${WORKSPACE}/documents/text`, workspaces, 'createText', { status: 201 }),
  bind('PUT', `${DOCUMENT}/text`, workspaces, 'updateText'),
  bind('GET', DOCUMENT, workspaces, 'document'),
  bind('PATCH', DOCUMENT, workspaces, 'rename'),
  bind('DELETE', DOCUMENT, workspaces, 'removeDocument'),
  bindBytes('GET', `${DOCUMENT}/raw`, workspaces, 'raw'),
  bind('POST', `${DOCUMENT}/reingest`, workspaces, 'reingest', {
    isPending: ({ is_started }) => is_started,
  }),
  bind('POST', `${WORKSPACE}/avatars/prune`, workspaces, 'pruneAvatars'),

  bind('GET', `${WORKSPACE}/conversations`, workspaces, 'conversations'),
  bind('PUT', CONVERSATION, workspaces, 'link'),
  bind('DELETE', CONVERSATION, workspaces, 'unlink'),

  ...['/api/agent/chat/images', '/api/agent/chat/media'].map((url) =>
    bindUpload('POST', url, workspaces, 'beginMedia', { ...PIECES, finish: 'finishMedia', tag: 'agent' }),
  ),
];
