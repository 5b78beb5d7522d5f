// View image tool: shows an image to the model, in its next call. What the conversation mentions by id, what a tool has stored, what
// lies in the project.
// I1 Images of the turn's project are seen, and those of Home, where the images of chats lie; none of another project.

import { Type } from '../../std/schema.ts';
import { HOME_ID, workspaces } from '../workspaces/protocol.ts';
import { DocumentId } from './project-scope.ts';
import { defineTool, errorAnswer, jsonAnswer, type Tool } from './tool.ts';

export const viewImageTools: readonly Tool[] = [
  defineTool({
    name: 'view_image',
    description:
      'Shows you an image of this conversation, its project or Home. You see it after the results of your tools.',
    needsVision: true,
    offeredWhen: (settings) => settings['vision.enabled'],
    parameters: Type.Object({ document_id: DocumentId }),
    async run({ document_id }, { caller, ask }) {
      const places = new Set([caller.workspace_id ?? HOME_ID, HOME_ID]); // I1
      const { documents } = await ask(workspaces, 'findDocuments', {
        user_id: caller.user_id,
        documents: [...places].map((workspace_id) => ({ workspace_id, document_id })),
      });
      const document = documents.find((found) => found !== null);
      if (document === undefined) return errorAnswer(`there is no document ${document_id}`);
      const { workspace_id, filename, content_type } = document;
      if (!content_type.startsWith('image/')) return errorAnswer(`${filename} is no image: ${content_type}`);
      return {
        ...jsonAnswer({ status: 'shown', document_id, filename, media_type: content_type }),
        images: [{ kind: 'image', workspace_id, document_id }],
      };
    },
  }),
];
