// ProjectScope: which project a tool works on, and how it names a document of it.

import { declareFaults } from '../../std/errors.ts';
import { Type } from '../../std/schema.ts';
import type { DocumentAddress } from '../workspaces/protocol.ts';
import type { ToolContext } from './tool.ts';

const projectFaults = declareFaults({ no_project: 'unprocessable' });

export const DocumentId = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The id of a document.',
});

/** @throws no_project: tools stay callable where they are not offered. */
export function projectOf({ caller }: ToolContext): string {
  if (caller.workspace_id !== undefined) return caller.workspace_id;
  throw projectFaults.no_project('this conversation is in no project');
}

export function addressIn(
  context: ToolContext,
  document_id: string,
): DocumentAddress & { readonly workspace_id: string } {
  return { user_id: context.caller.user_id, workspace_id: projectOf(context), document_id };
}
