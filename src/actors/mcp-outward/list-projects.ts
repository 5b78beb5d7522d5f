// ListProjects: which projects there are to search.

import { Type } from '../../std/schema.ts';
import { workspaces } from '../workspaces/protocol.ts';
import { defineOutwardTool } from './outward-tool.ts';

const Project = Type.Object({
  id: Type.String({ description: 'What search_projects takes as `project_id`.' }),
  name: Type.String(),
  description: Type.String(),
  documents: Type.Integer(),
});

export const listProjectsTool = defineOutwardTool({
  name: 'list_projects',
  title: 'List projects',
  description: 'Lists the projects of this Troupe service, with how many documents each has.',
  isReadOnly: true,
  parameters: Type.Object({}),
  result: Type.Object({ projects: Type.Array(Project) }),
  async run(_args, { ask, userId }) {
    const { workspaces: all } = await ask(workspaces, 'list', { user_id: userId });
    const projects = all.map(({ id, name, description, document_count }) => ({
      ...{ id, name, description },
      documents: document_count,
    }));
    return { texts: [JSON.stringify({ projects })], structured: { projects }, isError: false };
  },
});
