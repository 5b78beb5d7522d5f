// View: runs as clients see them.

import { isoTimestamp } from '../../std/clock.ts';
import { type ChatRequest, type RunEntry, runMessage } from './protocol.ts';
import type { RunRecord } from './store.ts';

export function entryOf(record: RunRecord): RunEntry {
  return {
    run_id: record.run_id,
    status: record.status,
    message: runMessage(record.request.message ?? ''),
    session_id: record.session_id,
    created_at: isoTimestamp(record.createdAtMs),
    updated_at: isoTimestamp(record.updatedAtMs),
  };
}

/** A turn needs a text, an image or a recording. */
export function hasContent({ message, images, audio }: ChatRequest): boolean {
  return (message ?? '').trim() !== '' || Boolean(images?.length) || Boolean(audio?.length);
}
