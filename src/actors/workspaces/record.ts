// Records: what is kept about workspaces and documents, and how the wire shows it. Pure.

import { isoTimestamp } from '../../std/clock.ts';
import { isMedia } from './content-types.ts';
import { type Document, HOME_ID, HOME_NAME, type PendingDocument, type Workspace } from './protocol.ts';

export interface WorkspaceRecord {
  readonly userId: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly allowShell: boolean;
  readonly shellBackend: Workspace['shell_backend'];
  readonly documentCount: number;
  /** Of all its documents, whether they share a blob or not. */
  readonly usedBytes: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface DocumentRecord {
  readonly userId: string;
  readonly workspaceId: string;
  readonly filename: string;
  readonly contentType: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly status: Document['status'];
  /** Null unless it failed. */
  readonly error: string | null;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly chunkCount: number;
  /** Counts the times that it became pending. */
  readonly revision: number;
  readonly createdAtMs: number;
  /** Of its content or its name. */
  readonly updatedAtMs: number;
  readonly pendingSinceMs: number;
}

/** The bytes that a document is given, and when. */
export interface Content {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly atMs: number;
}

export function newWorkspace(
  userId: string,
  workspaceId: string,
  name: string,
  nowMs: number,
): WorkspaceRecord {
  return {
    userId,
    workspaceId,
    name,
    description: '',
    instructions: '',
    allowShell: false,
    shellBackend: 'bubblewrap',
    documentCount: 0,
    usedBytes: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

export function newHome(userId: string, nowMs: number): WorkspaceRecord {
  return newWorkspace(userId, HOME_ID, HOME_NAME, nowMs);
}

export interface NewDocument {
  readonly userId: string;
  readonly workspaceId: string;
  readonly filename: string;
  readonly contentType: string;
}

export function newDocument(identity: NewDocument, { sha256, sizeBytes, atMs }: Content): DocumentRecord {
  return {
    ...identity,
    sha256,
    sizeBytes,
    status: isMedia(identity.contentType) ? 'ready' : 'pending',
    error: null,
    tags: [],
    summary: '',
    chunkCount: 0,
    revision: 1,
    createdAtMs: atMs,
    updatedAtMs: atMs,
    pendingSinceMs: atMs,
  };
}

/** What is known about its text stays until it was read anew. */
export function pendingAgain(record: DocumentRecord, nowMs: number): DocumentRecord {
  return { ...record, status: 'pending', error: null, revision: record.revision + 1, pendingSinceMs: nowMs };
}

export function withContent(record: DocumentRecord, { sha256, sizeBytes, atMs }: Content): DocumentRecord {
  return { ...pendingAgain(record, atMs), sha256, sizeBytes, updatedAtMs: atMs };
}

export function viewWorkspace(record: WorkspaceRecord): Workspace {
  return {
    id: record.workspaceId,
    name: record.name,
    user_id: record.userId,
    description: record.description,
    instructions: record.instructions,
    allow_shell: record.allowShell,
    shell_backend: record.shellBackend,
    document_count: record.documentCount,
    used_bytes: record.usedBytes,
    created_at: isoTimestamp(record.createdAtMs),
    updated_at: isoTimestamp(record.updatedAtMs),
  };
}

export function viewDocument(documentId: string, record: DocumentRecord): Document {
  return {
    id: documentId,
    workspace_id: record.workspaceId,
    filename: record.filename,
    content_type: record.contentType,
    size_bytes: record.sizeBytes,
    sha256: record.sha256,
    tags: [...record.tags],
    summary: record.summary,
    chunk_count: record.chunkCount,
    status: record.status,
    error: record.error,
    // Until it is known to be further (progress.ts).
    progress: record.status === 'pending' ? { stage: 'waiting', fraction: null } : null,
    created_at: isoTimestamp(record.createdAtMs),
    updated_at: isoTimestamp(record.updatedAtMs),
  };
}

export function viewPending(documentId: string, record: DocumentRecord, path: string): PendingDocument {
  return {
    user_id: record.userId,
    workspace_id: record.workspaceId,
    document_id: documentId,
    revision: record.revision,
    filename: record.filename,
    content_type: record.contentType,
    size_bytes: record.sizeBytes,
    sha256: record.sha256,
    path,
  };
}

/** As exhibits name it. */
export function rawUrl(workspaceId: string, documentId: string): string {
  return `/api/workspaces/${workspaceId}/documents/${documentId}/raw`;
}
