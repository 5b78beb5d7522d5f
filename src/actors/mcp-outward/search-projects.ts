// SearchProjects: the passages of documents that answer a question best, in one project or in all of them.
// J1 Scores of two projects say nothing about each other: of several projects the best of each come first, then the second best.
// J2 A document that is gone by the time it is named is left out.

import { isFault } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { type FoundPassage, ingestion, PASSAGES_MAX } from '../ingestion/protocol.ts';
import { workspaces } from '../workspaces/protocol.ts';
import { defineOutwardTool, type OutwardContext } from './outward-tool.ts';
import { mcpOutwardFaults } from './protocol.ts';

const PASSAGES_DEFAULT = 8;
/** Each is a question of its own; whoever has more of them names one. */
const PROJECTS_SEARCHED_MAX = 20;
const QUERY_LENGTH_MAX = 2_000;
/** A question has to be made a vector of; the engine may have to be loaded for that. */
const SEARCH_DEADLINE_MS = 60_000;

const Passage = Type.Object({
  project_id: Type.String(),
  project: Type.String(),
  document_id: Type.String(),
  document: Type.String({ description: 'Its file name.' }),
  line: Type.Integer(),
  page: Type.Union([Type.Integer(), Type.Null()]),
  text: Type.String(),
});
type Passage = Static<typeof Passage>;

interface Project {
  readonly id: string;
  readonly name: string;
}

export const searchProjectsTool = defineOutwardTool({
  name: 'search_projects',
  title: 'Search projects',
  description:
    'Finds passages in the documents of the projects of this Troupe service, by their words and by their meaning. Searches ' +
    'one project if project_id is given, else all of them.',
  isReadOnly: true,
  parameters: Type.Object({
    query: Type.String({ minLength: 1, maxLength: QUERY_LENGTH_MAX }),
    project_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 100, description: 'From list_projects.' }),
    ),
    limit: Type.Integer({ default: PASSAGES_DEFAULT, minimum: 1, maximum: PASSAGES_MAX }),
  }),
  result: Type.Object({ passages: Type.Array(Passage) }),
  async run({ query, project_id, limit }, context) {
    const projects = await projectsFor(context, project_id);
    const found = await Promise.all(projects.map((project) => passagesOf(context, project, query, limit)));
    const passages = bestOfEach(found).slice(0, limit);
    const texts = passages.map(
      ({ project, document, line, text }) => `${project} / ${document}, line ${line}:\n${text}`,
    );
    return {
      texts: texts.length === 0 ? ['Nothing was found.'] : texts,
      structured: { passages },
      isError: false,
    };
  },
});

/** @throws project_unknown */
async function projectsFor(
  { ask, userId }: OutwardContext,
  id: string | undefined,
): Promise<readonly Project[]> {
  const { workspaces: all } = await ask(workspaces, 'list', { user_id: userId });
  if (id === undefined) return all.filter((one) => one.document_count > 0).slice(0, PROJECTS_SEARCHED_MAX);
  const named = all.find((one) => one.id === id);
  if (named === undefined) {
    throw mcpOutwardFaults.project_unknown(`There is no project ${id}: list_projects says which there are`);
  }
  return [named];
}

async function passagesOf(
  context: OutwardContext,
  { id, name }: Project,
  query: string,
  k: number,
): Promise<readonly Passage[]> {
  const { ask, userId, signal } = context;
  const asked = { user_id: userId, workspace_id: id, query, k };
  const { passages } = await ask(ingestion, 'passages', asked, { deadlineMs: SEARCH_DEADLINE_MS, signal });
  const named = await Promise.all(
    passages.map(async (passage) => {
      const document = await filenameOf(context, passage, id);
      if (document === null) return [];
      const { document_id, line, page, text } = passage;
      return [{ project_id: id, project: name, document_id, document, line, page, text }];
    }),
  );
  return named.flat();
}

/** J2. */
async function filenameOf(
  { ask, userId }: OutwardContext,
  { document_id }: FoundPassage,
  workspace_id: string,
): Promise<string | null> {
  try {
    const address = { user_id: userId, workspace_id, document_id };
    return (await ask(workspaces, 'findDocument', address)).document.filename;
  } catch (error) {
    if (isFault(error) && error.kind === 'not_found') return null;
    throw error;
  }
}

/** J1. */
function bestOfEach(lists: readonly (readonly Passage[])[]): readonly Passage[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, rank) => lists.flatMap((list) => list[rank] ?? [])).flat();
}
