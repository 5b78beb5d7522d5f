// Projects: the workspaces themselves, and which conversation is in which of them.
// J1 Home is not a project: it is not renamed, not deleted, and no conversation is linked to it.

import type { Handlers } from '../../supervisor/actor.ts';
import { conversations } from '../conversations/protocol.ts';
import type { Desk } from './desk.ts';
import {
  HOME_ID,
  ID_LENGTH_MAX,
  PROJECT_CONVERSATIONS_MAX,
  workspaceFaults,
  type workspaces,
} from './protocol.ts';
import { newWorkspace, viewWorkspace, type WorkspaceRecord } from './record.ts';

const WORKSPACE_ID_DIGITS = 12;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type ProjectMessages = Pick<
  Handlers<typeof workspaces>,
  | 'list'
  | 'create'
  | 'read'
  | 'update'
  | 'remove'
  | 'conversations'
  | 'link'
  | 'unlink'
  | 'memberships'
  | 'conversationRemoved'
  | 'resolveProject'
  | 'projectOf'
>;

export function projectHandlers({ context, store, work, cleanSoon }: Desk): ProjectMessages {
  const { clock, random } = context;
  const { memberships } = store;

  const workspaceOf = (userId: string, workspaceId: string) =>
    store.workspace(userId, workspaceId, clock.nowMs());

  /** Undefined where there is none: of a workspace that is named in passing. */
  const foundWorkspace = async (userId: string, workspaceId: string) => {
    if (workspaceId === HOME_ID) return workspaceOf(userId, HOME_ID);
    return isFileable(workspaceId) ? store.findWorkspace(userId, workspaceId) : undefined;
  };

  const projectOf = (userId: string, conversationId: string): string | undefined =>
    isFileable(conversationId) ? memberships.projectOf(userId, conversationId) : undefined;

  return {
    async list({ user_id }) {
      await workspaceOf(user_id, HOME_ID);
      const records = store.workspacesOf(user_id);
      const sorted = [...records.filter(isHome), ...records.filter((record) => !isHome(record))];
      return { workspaces: sorted.map(viewWorkspace) };
    },

    async create({ user_id, name }) {
      const workspaceId = `ws_${random.hex(WORKSPACE_ID_DIGITS)}`;
      const record = newWorkspace(user_id, workspaceId, givenName(name), clock.nowMs());
      await store.create(record);
      return { workspace: viewWorkspace(record) };
    },

    async read({ user_id, workspace_id }) {
      return { workspace: viewWorkspace(await workspaceOf(user_id, workspace_id)) };
    },

    async update({ user_id, workspace_id, name, description, instructions, allow_shell, shell_backend }) {
      if (workspace_id === HOME_ID && name !== undefined) throw notWithHome('renamed');
      const change = {
        ...(name === undefined ? {} : { name: givenName(name) }),
        ...(description === undefined ? {} : { description: description.toWellFormed() }),
        ...(instructions === undefined ? {} : { instructions: instructions.toWellFormed() }),
        ...(allow_shell === undefined ? {} : { allowShell: allow_shell }),
        ...(shell_backend === undefined ? {} : { shellBackend: shell_backend }),
      };
      return { workspace: viewWorkspace(await store.change(user_id, workspace_id, change, clock.nowMs())) };
    },

    async remove({ user_id, workspace_id }) {
      if (workspace_id === HOME_ID) throw notWithHome('deleted');
      try {
        await store.removeWorkspace(user_id, workspace_id);
      } finally {
        cleanSoon();
        work.wake();
      }
      return { status: 'deleted', workspace_id };
    },

    async conversations({ user_id, workspace_id }) {
      await workspaceOf(user_id, workspace_id);
      const conversation_ids = memberships.conversationsOf({ userId: user_id, workspaceId: workspace_id });
      const found = await context.ask(conversations, 'listed', {
        conversation_ids,
        limit: PROJECT_CONVERSATIONS_MAX,
      });
      const rows = found.conversations.map((row) => ({ ...row, workspace_id }));
      return { conversations: rows, total: found.total };
    },

    async link({ user_id, workspace_id, conversation_id }) {
      if (workspace_id === HOME_ID) throw notWithHome('given a conversation');
      if (!UUID.test(conversation_id)) throw invalid('conversation_id must be a UUID');
      await memberships.put(conversation_id, { userId: user_id, workspaceId: workspace_id });
      return { status: 'linked', workspace_id, conversation_id };
    },

    async unlink({ user_id, workspace_id, conversation_id }) {
      await workspaceOf(user_id, workspace_id);
      const was = await memberships.remove(conversation_id, { userId: user_id, workspaceId: workspace_id });
      if (!was) throw workspaceFaults.membership_not_found('The conversation is not in this project');
      return { status: 'unlinked', workspace_id, conversation_id };
    },

    memberships({ conversation_ids }) {
      const found = conversation_ids
        .filter(isFileable)
        .map((id) => [id, memberships.find(id)?.workspaceId] as const);
      return {
        workspace_ids: Object.fromEntries(
          found.filter((entry): entry is [string, string] => entry[1] !== undefined),
        ),
      };
    },

    async conversationRemoved({ conversation_id }) {
      if (isFileable(conversation_id)) await memberships.remove(conversation_id);
      return {};
    },

    async resolveProject({ user_id, conversation_id, workspace_id }) {
      const own = projectOf(user_id, conversation_id);
      const named = workspace_id === undefined ? undefined : await foundWorkspace(user_id, workspace_id);
      if (named !== undefined) {
        const isProject = named.workspaceId !== HOME_ID;
        if (isProject && named.workspaceId !== own && isFileable(conversation_id))
          await memberships.put(conversation_id, named);
        return { workspace: viewWorkspace(named), from: 'request' };
      }
      const record = own === undefined ? undefined : store.findWorkspace(user_id, own);
      if (record === undefined) return { workspace: null, from: null };
      return { workspace: viewWorkspace(record), from: 'membership' };
    },

    projectOf({ user_id, conversation_id }) {
      return { workspace_id: projectOf(user_id, conversation_id) ?? null };
    },
  };
}

function isHome({ workspaceId }: WorkspaceRecord): boolean {
  return workspaceId === HOME_ID;
}

const invalid = workspaceFaults.workspace_invalid;

function notWithHome(what: string) {
  return invalid(`Home cannot be ${what}`);
}

/** @throws workspace_invalid */
function givenName(name: string): string {
  const trimmed = name.toWellFormed().trim();
  if (trimmed === '') throw invalid('name must not be empty');
  return trimmed;
}

/** Ids come from clients and models; what cannot be a key belongs to nothing. */
function isFileable(id: string): boolean {
  return id !== '' && id.length <= ID_LENGTH_MAX && id.isWellFormed();
}
