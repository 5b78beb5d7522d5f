// Store: the tables of workspaces and documents, and every change of them as one transaction.
// S1 A change reads and writes inside one write. What it rests on (the workspace is there, the name is free, the quota holds)
//    is decided there and nowhere else.
// S2 A document and its reference to a blob come and go together; a workspace counts its documents and their bytes.
// S3 A deletion takes the record away at once. A workspace's documents and memberships are cleared in bounded steps, which a
//    crash only puts off; nothing can be added to it meanwhile.
// S4 A deleted document is owed to ingestion until that says that it has forgotten it.

import type { Key, Storage, Table, Transaction } from '../../storage/contract.ts';
import { isMedia } from './content-types.ts';
import { numbered } from './filename.ts';
import { keyOf, type Membership, Memberships, unknownWorkspace } from './memberships.ts';
import { HOME_ID, workspaceFaults } from './protocol.ts';
import {
  type Content,
  type DocumentRecord,
  type NewDocument,
  newDocument,
  newHome,
  pendingAgain,
  type WorkspaceRecord,
  withContent,
} from './record.ts';
import type { Refusals } from './refusals.ts';

/** Documents, or memberships, of a deleted workspace that go in one transaction. */
const CLEARED_PER_STEP_MAX = 100;
/** A manifest is one answer, and is never longer. */
export const DOCUMENTS_PER_WORKSPACE_MAX = 10_000;
const WORKSPACES_PER_USER_MAX = 1_000;
/** Of the documents that are asked for to be read, so many workspaces have some, however many of them another one has. */
const WORKSPACES_TAKING_TURNS = 32;

export interface Addition extends NewDocument {
  readonly documentId: string;
  readonly content: Content;
  /** What happens where the name is taken: it is refused, or it gets a number. */
  readonly whenTaken: 'refuse' | 'brackets' | 'dash';
  readonly quota: Quota;
}

export interface Replacement {
  readonly documentId: string;
  readonly content: Content;
  /** What the caller believes the content to be. */
  readonly expectedSha256: string | undefined;
  readonly quota: Quota;
}

export interface Quota {
  readonly bytesMax: number;
  readonly refuse: Refusals;
}

export interface RemovedDocument extends Membership {
  readonly documentId: string;
}

interface Owed extends Membership {
  readonly atMs: number;
}

export type WorkspaceChange = Partial<
  Pick<WorkspaceRecord, 'name' | 'description' | 'instructions' | 'allowShell' | 'shellBackend'>
>;

const WORKSPACE_INDEXES = {
  by_age: ({ userId, workspaceId, createdAtMs }: WorkspaceRecord) => [userId, createdAtMs, workspaceId],
};
const DOCUMENT_INDEXES = {
  by_name: ({ userId, workspaceId, filename }: DocumentRecord) => [userId, workspaceId, filename],
  pending: ({ status, pendingSinceMs }: DocumentRecord) => (status === 'pending' ? [pendingSinceMs] : null),
  pending_by_workspace: ({ status, userId, workspaceId, pendingSinceMs }: DocumentRecord) =>
    status === 'pending' ? [userId, workspaceId, pendingSinceMs] : null,
};
const OWED_INDEXES = { by_age: ({ atMs }: Owed) => [atMs] };

export class WorkspaceStore {
  readonly #storage: Storage;
  readonly #workspaces: Table<WorkspaceRecord, 'by_age'>;
  readonly #documents: Table<DocumentRecord, keyof typeof DOCUMENT_INDEXES>;
  readonly memberships: Memberships;
  /** S3. */
  readonly #removals: Table<true>;
  /** S4. */
  readonly #owed: Table<Owed, 'by_age'>;

  constructor(storage: Storage) {
    this.#storage = storage;
    this.#workspaces = storage.table<WorkspaceRecord, typeof WORKSPACE_INDEXES>({
      name: 'workspaces',
      indexes: WORKSPACE_INDEXES,
    });
    this.#documents = storage.table<DocumentRecord, typeof DOCUMENT_INDEXES>({
      name: 'documents',
      indexes: DOCUMENT_INDEXES,
    });
    this.#removals = storage.table({ name: 'workspace_removals' });
    this.#owed = storage.table<Owed, typeof OWED_INDEXES>({
      name: 'document_removals',
      indexes: OWED_INDEXES,
    });
    this.memberships = new Memberships(storage, this.#workspaces);
  }

  // ---- Workspaces.

  /** Oldest first. */
  workspacesOf(userId: string): WorkspaceRecord[] {
    return Array.from(this.#workspaces.by('by_age', { prefix: userId }), ({ value }) => value);
  }

  findWorkspace(userId: string, workspaceId: string): WorkspaceRecord | undefined {
    return this.#workspaces.get([userId, workspaceId]);
  }

  /** Home is made when it is first looked for. @throws workspace_not_found */
  async workspace(userId: string, workspaceId: string, nowMs: number): Promise<WorkspaceRecord> {
    const record = this.findWorkspace(userId, workspaceId);
    if (record !== undefined) return record;
    if (workspaceId !== HOME_ID) throw unknownWorkspace();
    return this.#storage.write('flushed', (tx) => this.#mustWorkspace(tx, userId, HOME_ID, nowMs));
  }

  /** @throws workspace_invalid */
  create(record: WorkspaceRecord): Promise<void> {
    return this.#storage.write('flushed', (tx) => {
      const range = { prefix: record.userId, limit: WORKSPACES_PER_USER_MAX };
      if ([...tx.by(this.#workspaces, 'by_age', range)].length === WORKSPACES_PER_USER_MAX) {
        throw workspaceFaults.workspace_invalid(`There are ${WORKSPACES_PER_USER_MAX} workspaces already`);
      }
      tx.put(this.#workspaces, keyOf(record), record);
    });
  }

  /** @throws workspace_not_found */
  change(
    userId: string,
    workspaceId: string,
    change: WorkspaceChange,
    nowMs: number,
  ): Promise<WorkspaceRecord> {
    return this.#storage.write('flushed', (tx) => {
      const record = this.#mustWorkspace(tx, userId, workspaceId, nowMs);
      const changed = { ...record, ...change, updatedAtMs: nowMs };
      tx.put(this.#workspaces, keyOf(record), changed);
      return changed;
    });
  }

  /** S3. @throws workspace_not_found */
  removeWorkspace(userId: string, workspaceId: string): Promise<void> {
    return this.#storage.write('flushed', (tx) => {
      if (!tx.remove(this.#workspaces, [userId, workspaceId])) throw unknownWorkspace();
      tx.put(this.#removals, [userId, workspaceId], true);
    });
  }

  /** The workspaces that are left to clear. */
  removals(): Membership[] {
    return Array.from(this.#removals.range(), ({ key }) => {
      const [userId, workspaceId] = key as readonly [string, string];
      return { userId, workspaceId };
    });
  }

  /** S3. True when nothing is left. */
  clearStep({ userId, workspaceId }: Membership, nowMs: number): Promise<boolean> {
    const range = { prefix: [userId, workspaceId], limit: CLEARED_PER_STEP_MAX };
    return this.#storage.write('committed', (tx) => {
      const documents = [...tx.by(this.#documents, 'by_name', range)];
      for (const { key, value } of documents) this.#drop(tx, key, value, nowMs);
      const members = this.memberships.clear(tx, { userId, workspaceId }, CLEARED_PER_STEP_MAX);
      if (documents.length === CLEARED_PER_STEP_MAX || members === CLEARED_PER_STEP_MAX) return false;
      tx.remove(this.#removals, [userId, workspaceId]);
      return true;
    });
  }

  // ---- Documents.

  findDocument(documentId: string): DocumentRecord | undefined {
    const record = this.#documents.get(documentId);
    // S3: one of a workspace that is being cleared.
    return record !== undefined && this.#workspaces.has(keyOf(record)) ? record : undefined;
  }

  /** By filename. */
  documentsOf(userId: string, workspaceId: string, limit = DOCUMENTS_PER_WORKSPACE_MAX) {
    const range = { prefix: [userId, workspaceId], limit };
    return Array.from(this.#documents.by('by_name', range), ({ key, value }) => ({
      documentId: key as string,
      record: value,
    }));
  }

  /** S2. @throws workspace_not_found, document_conflict, quota_exceeded */
  add({ documentId, content, whenTaken, quota, ...identity }: Addition): Promise<DocumentRecord> {
    const { userId, workspaceId } = identity;
    return this.#storage.write('flushed', (tx) => {
      const workspace = this.#mustWorkspace(tx, userId, workspaceId, content.atMs);
      this.#count(tx, workspace, { documents: 1, bytes: content.sizeBytes }, quota);
      const filename =
        whenTaken === 'refuse' ? this.#mustBeFree(tx, identity) : this.#freeName(tx, identity, whenTaken);
      const record = newDocument({ ...identity, filename }, content);
      tx.put(this.#documents, documentId, record);
      this.#storage.blobs.retain(tx, content);
      return record;
    });
  }

  /** The same content changes nothing. @throws document_not_found, document_conflict, quota_exceeded */
  replace({ documentId, content, expectedSha256, quota }: Replacement): Promise<DocumentRecord> {
    return this.#storage.write('flushed', (tx) => {
      const record = this.#mustDocument(tx, documentId);
      if (record.sha256 === content.sha256) return record;
      assertExpected(documentId, record, expectedSha256);
      const workspace = tx.get(this.#workspaces, keyOf(record));
      if (workspace === undefined) throw unknownWorkspace();
      const grown = content.sizeBytes - record.sizeBytes;
      this.#count(tx, workspace, { documents: 0, bytes: grown }, grown > 0 ? quota : undefined);
      const changed = withContent(record, content);
      tx.put(this.#documents, documentId, changed);
      this.#storage.blobs.retain(tx, content);
      this.#storage.blobs.release(tx, record.sha256);
      return changed;
    });
  }

  /** @throws document_not_found, document_conflict */
  rename(documentId: string, filename: string, nowMs: number): Promise<DocumentRecord> {
    return this.#storage.write('flushed', (tx) => {
      const record = this.#mustDocument(tx, documentId);
      if (record.filename === filename) return record;
      this.#mustBeFree(tx, { ...record, filename });
      const changed = { ...record, filename, updatedAtMs: nowMs };
      tx.put(this.#documents, documentId, changed);
      return changed;
    });
  }

  /** @throws document_not_found */
  removeDocument(documentId: string, nowMs: number): Promise<void> {
    return this.#storage.write('flushed', (tx) => {
      const record = this.#mustDocument(tx, documentId);
      this.#drop(tx, documentId, record, nowMs);
      const workspace = tx.get(this.#workspaces, keyOf(record));
      if (workspace !== undefined) this.#count(tx, workspace, { documents: -1, bytes: -record.sizeBytes });
    });
  }

  // ---- Ingestion.

  /** Makes a document wait to be read, unless it waits already or is never read. @throws document_not_found */
  reingest(documentId: string, nowMs: number): Promise<{ record: DocumentRecord; isStarted: boolean }> {
    return this.#storage.write('flushed', (tx) => {
      const record = this.#mustDocument(tx, documentId);
      if (record.status === 'pending' || isMedia(record.contentType)) return { record, isStarted: false };
      const changed = pendingAgain(record, nowMs);
      tx.put(this.#documents, documentId, changed);
      return { record: changed, isStarted: true };
    });
  }

  /** Half of them are those that wait longest, the others the first of each workspace. The oldest first. */
  pending(limit: number) {
    const found = new Map<Key, DocumentRecord>();
    const longest = this.#documents.by('pending', { limit: Math.ceil(limit / 2) });
    for (const { key, value } of longest) found.set(key, value);
    const shareMax = Math.ceil(limit / 2 / WORKSPACES_TAKING_TURNS);
    for (let start: Key | undefined; found.size < limit; ) {
      const [next] = this.#documents.by('pending_by_workspace', { ...(start && { start }), limit: 1 });
      if (next === undefined) break;
      const workspace = [next.value.userId, next.value.workspaceId];
      const range = { prefix: workspace, limit: Math.min(shareMax, limit - found.size) };
      for (const { key, value } of this.#documents.by('pending_by_workspace', range)) found.set(key, value);
      start = [...workspace, Number.POSITIVE_INFINITY];
    }
    return Array.from(found, ([key, record]) => ({ documentId: key as string, record })).sort(
      (one, other) => one.record.pendingSinceMs - other.record.pendingSinceMs,
    );
  }

  /** False when that revision is not waited for any more. */
  settle(
    documentId: string,
    revision: number,
    outcome: Partial<Pick<DocumentRecord, 'status' | 'error' | 'tags' | 'summary' | 'chunkCount'>>,
  ): Promise<boolean> {
    return this.#storage.write('flushed', (tx) => {
      const record = tx.get(this.#documents, documentId);
      if (record?.status !== 'pending' || record.revision !== revision) return false;
      if (!tx.get(this.#workspaces, keyOf(record))) return false;
      tx.put(this.#documents, documentId, { ...record, ...outcome });
      return true;
    });
  }

  /** S4. */
  owed(limit: number): RemovedDocument[] {
    return Array.from(this.#owed.by('by_age', { limit }), ({ key, value: { userId, workspaceId } }) => ({
      documentId: key as string,
      userId,
      workspaceId,
    }));
  }

  /** S4. */
  settleOwed(documentIds: readonly string[]): Promise<void> {
    return this.#storage.write('committed', (tx) => {
      for (const documentId of documentIds) tx.remove(this.#owed, documentId);
    });
  }

  // ---- Within a transaction.

  /** Home is made on the way. */
  #mustWorkspace(tx: Transaction, userId: string, workspaceId: string, nowMs: number): WorkspaceRecord {
    const record = tx.get(this.#workspaces, [userId, workspaceId]);
    if (record !== undefined) return record;
    if (workspaceId !== HOME_ID) throw unknownWorkspace();
    const home = newHome(userId, nowMs);
    tx.put(this.#workspaces, keyOf(home), home);
    return home;
  }

  #mustDocument(tx: Transaction, documentId: string): DocumentRecord {
    const record = tx.get(this.#documents, documentId);
    if (record === undefined || !tx.get(this.#workspaces, keyOf(record))) throw unknownDocument();
    return record;
  }

  /** S2. */
  #count(
    tx: Transaction,
    workspace: WorkspaceRecord,
    more: { readonly documents: number; readonly bytes: number },
    quota?: Quota,
  ): void {
    const documentCount = workspace.documentCount + more.documents;
    const usedBytes = workspace.usedBytes + more.bytes;
    if (quota !== undefined) {
      const { bytesMax, refuse } = quota;
      if (usedBytes > bytesMax) throw refuse.overQuota(bytesMax);
      if (documentCount > DOCUMENTS_PER_WORKSPACE_MAX) throw refuse.tooMany(DOCUMENTS_PER_WORKSPACE_MAX);
    }
    tx.put(this.#workspaces, keyOf(workspace), { ...workspace, documentCount, usedBytes });
  }

  #drop(tx: Transaction, documentId: Key, record: DocumentRecord, nowMs: number): void {
    const { userId, workspaceId, sha256 } = record;
    tx.remove(this.#documents, documentId);
    tx.put(this.#owed, documentId, { userId, workspaceId, atMs: nowMs });
    this.#storage.blobs.release(tx, sha256);
  }

  #named(tx: Transaction, { userId, workspaceId, filename }: NewDocument) {
    const range = { prefix: [userId, workspaceId, filename], limit: 1 };
    const [found] = tx.by(this.#documents, 'by_name', range);
    return found;
  }

  /** W3. */
  #mustBeFree(tx: Transaction, identity: NewDocument): string {
    const taken = this.#named(tx, identity);
    if (taken !== undefined) throw nameTaken(taken.key as string, taken.value);
    return identity.filename;
  }

  #freeName(tx: Transaction, identity: NewDocument, style: 'brackets' | 'dash'): string {
    let { filename } = identity;
    for (let number = 2; this.#named(tx, { ...identity, filename }) !== undefined; number += 1) {
      filename = numbered(identity.filename, number, style);
    }
    return filename;
  }
}

export function unknownDocument() {
  return workspaceFaults.document_not_found('Unknown document');
}

function nameTaken(documentId: string, record: DocumentRecord) {
  return workspaceFaults.document_conflict(`There is a document of that name: ${record.filename}`, {
    details: { code: 'conflict', document_id: documentId, current_sha256: record.sha256 },
  });
}

/** @throws document_conflict */
export function assertExpected(
  documentId: string,
  { sha256 }: DocumentRecord,
  expectedSha256: string | undefined,
): void {
  if (expectedSha256 === undefined || expectedSha256.toLowerCase() === sha256) return;
  throw workspaceFaults.document_conflict('The document has changed meanwhile', {
    details: { code: 'conflict', document_id: documentId, current_sha256: sha256 },
  });
}
