// Memberships: which conversation is in which project. At most one each: the key is the conversation.
// M1 A membership in a workspace that is gone is none, before it is cleared too.

import type { Key, Storage, Table, Transaction } from '../../storage/contract.ts';
import { workspaceFaults } from './protocol.ts';

/** The address of a workspace. */
export interface Membership {
  readonly userId: string;
  readonly workspaceId: string;
}

const INDEXES = {
  by_workspace: ({ userId, workspaceId }: Membership) => [userId, workspaceId],
};

export class Memberships {
  readonly #storage: Storage;
  readonly #workspaces: Table<unknown, string>;
  readonly #rows: Table<Membership, 'by_workspace'>;

  constructor(storage: Storage, workspaces: Table<unknown, string>) {
    this.#storage = storage;
    this.#workspaces = workspaces;
    this.#rows = storage.table<Membership, typeof INDEXES>({ name: 'workspace_members', indexes: INDEXES });
  }

  /** M1. */
  find(conversationId: string): Membership | undefined {
    const found = this.#rows.get(conversationId);
    return found !== undefined && this.#workspaces.has(keyOf(found)) ? found : undefined;
  }

  /** The project of a conversation, if it is this user's. */
  projectOf(userId: string, conversationId: string): string | undefined {
    const found = this.find(conversationId);
    return found?.userId === userId ? found.workspaceId : undefined;
  }

  conversationsOf({ userId, workspaceId }: Membership): string[] {
    const found = this.#rows.by('by_workspace', { prefix: [userId, workspaceId] });
    return Array.from(found, ({ key }) => key as string);
  }

  /** Out of any other project. @throws workspace_not_found */
  put(conversationId: string, { userId, workspaceId }: Membership): Promise<void> {
    return this.#storage.write('flushed', (tx) => {
      if (tx.get(this.#workspaces, [userId, workspaceId]) === undefined) throw unknownWorkspace();
      tx.put(this.#rows, conversationId, { userId, workspaceId });
    });
  }

  /** Out of this project, or of any. False when it was not in it. */
  remove(conversationId: string, from?: Membership): Promise<boolean> {
    return this.#storage.write('flushed', (tx) => {
      const found = tx.get(this.#rows, conversationId);
      const isIt =
        from === undefined || (found?.userId === from.userId && found.workspaceId === from.workspaceId);
      return isIt && tx.remove(this.#rows, conversationId);
    });
  }

  /** At most `limit` of a workspace that is gone; answers how many. */
  clear(tx: Transaction, { userId, workspaceId }: Membership, limit: number): number {
    const found = [...tx.by(this.#rows, 'by_workspace', { prefix: [userId, workspaceId], limit })];
    for (const { key } of found) tx.remove(this.#rows, key);
    return found.length;
  }
}

export function keyOf({ userId, workspaceId }: Membership): Key {
  return [userId, workspaceId];
}

export function unknownWorkspace() {
  return workspaceFaults.workspace_not_found('Unknown workspace');
}
