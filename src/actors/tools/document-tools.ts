// Document tools: writing the documents of the project that the turn works in. Text files only; whatever is changed is read anew
// by ingestion. Workspaces see to names, sizes, quotas and to nobody writing over what he has not seen.

import { Type } from '../../std/schema.ts';
import { type Document, workspaces } from '../workspaces/protocol.ts';
import { addressIn, DocumentId, projectOf } from './project-scope.ts';
import { defineTool, errorAnswer, jsonAnswer, type Tool, type ToolAnswer } from './tool.ts';

/** Where agents have their pictures: these are not the documents of a project. */
const AVATARS = 'avatars/';

const ExpectedSha256 = Type.Optional(
  Type.String({
    maxLength: 64,
    description: 'Of the document as you have read it: refused when it has changed since.',
  }),
);
const writes = {
  needsProject: true,
  writesMemory: true,
  offeredWhen: (settings: { readonly workspace_agent_write_tools: boolean }) =>
    settings.workspace_agent_write_tools,
} as const;

export const documentTools: readonly Tool[] = [
  defineTool({
    name: 'create_document',
    description: 'Writes a new text document (md, markdown or txt) into this project.',
    ...writes,
    parameters: Type.Object({
      filename: Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'May name one folder: notes/plan.md',
      }),
      content: Type.String(),
    }),
    async run({ filename, content }, context) {
      const { user_id } = context.caller;
      const order = { user_id, workspace_id: projectOf(context), filename, content };
      return written('created', (await context.ask(workspaces, 'createText', order)).document);
    },
  }),
  defineTool({
    name: 'update_document',
    description: 'Replaces the whole text of a text document of this project.',
    ...writes,
    parameters: Type.Object({
      document_id: DocumentId,
      content: Type.String(),
      expected_sha256: ExpectedSha256,
    }),
    async run({ document_id, ...change }, context) {
      const order = { ...addressIn(context, document_id), ...change };
      return written('updated', (await context.ask(workspaces, 'updateText', order)).document);
    },
  }),
  defineTool({
    name: 'append_to_document',
    description: 'Adds text at the end of a text document of this project.',
    ...writes,
    parameters: Type.Object({
      document_id: DocumentId,
      text: Type.String({ minLength: 1 }),
      expected_sha256: ExpectedSha256,
    }),
    async run({ document_id, ...change }, context) {
      const order = { ...addressIn(context, document_id), ...change };
      return written('updated', (await context.ask(workspaces, 'appendText', order)).document);
    },
  }),
  defineTool({
    name: 'edit_document',
    description: 'Replaces a passage of a text document of this project; it must be found exactly as given.',
    ...writes,
    parameters: Type.Object({
      document_id: DocumentId,
      find: Type.String({ minLength: 1 }),
      replace: Type.String(),
      replace_all: Type.Boolean({ default: false }),
      expected_sha256: ExpectedSha256,
    }),
    async run({ document_id, ...change }, context) {
      const order = { ...addressIn(context, document_id), ...change };
      const { document, found, replacements } = await context.ask(workspaces, 'editText', order);
      if (found === 0) return errorAnswer(`The text is not in ${document.filename}; nothing was changed`);
      if (replacements === 0) {
        return errorAnswer(
          `The text is ${found} times in ${document.filename}; give more of it, or set replace_all`,
        );
      }
      return written('updated', document, { replacements });
    },
  }),
  defineTool({
    name: 'rename_document',
    description: 'Renames a document of this project; its folder and extension stay.',
    ...writes,
    parameters: Type.Object({
      document_id: DocumentId,
      name: Type.String({ minLength: 1, maxLength: 200 }),
    }),
    async run({ document_id, name }, context) {
      const order = { ...addressIn(context, document_id), name };
      return written('renamed', (await context.ask(workspaces, 'rename', order)).document);
    },
  }),
  defineTool({
    name: 'delete_document',
    description: 'Deletes a document of this project for good.',
    ...writes,
    parameters: Type.Object({ document_id: DocumentId }),
    async run({ document_id }, context) {
      const address = addressIn(context, document_id);
      const { document } = await context.ask(workspaces, 'findDocument', address);
      if (document.filename.startsWith(AVATARS))
        return errorAnswer('pictures of agents are not deleted here');
      await context.ask(workspaces, 'removeDocument', address);
      return jsonAnswer({ status: 'deleted', document_id, filename: document.filename });
    },
  }),
];

function written(
  status: string,
  { id, filename, size_bytes, sha256 }: Document,
  more: object = {},
): ToolAnswer {
  return jsonAnswer({ status, document_id: id, filename, size_bytes, sha256, ...more });
}
