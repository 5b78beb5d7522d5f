// Project tools: finding and reading the documents of the project that the turn works in. Their owners are workspaces and
// ingestion; what stands in a document is data, whoever wrote it.
// J1 Only documents of the turn's project are seen, whatever id a model comes up with.

import { isFault } from '../../std/errors.ts';
import { Type } from '../../std/schema.ts';
import { type FoundPassage, ingestion } from '../ingestion/protocol.ts';
import { TOOL_RESULT_INLINE_CHARS_MAX } from '../tool-outputs/protocol.ts';
import { type Document, workspaces } from '../workspaces/protocol.ts';
import { boundedAnswer } from './bounded-answer.ts';
import { excerpt } from './excerpt.ts';
import { addressIn, DocumentId, projectOf } from './project-scope.ts';
import type { Exhibit } from './protocol.ts';
import { rankDocuments } from './ranked-documents.ts';
import { defineTool, errorAnswer, jsonAnswer, type Tool, type ToolContext } from './tool.ts';

/** A project with more is searched in its oldest half of names: by name it is still found with document_query. */
const DOCUMENTS_SEARCHED_MAX = 2_000;
const LISTED_MAX = 200;
const QUOTE_CHARS_MAX = 240;
const SOURCES_MAX = 50;

const search = {
  description: 'Finds documents of this project by their file names, tags and summaries.',
  needsProject: true,
  parameters: Type.Object({
    query: Type.String({ minLength: 1, maxLength: 500 }),
    limit: Type.Integer({ minimum: 1, maximum: 50, default: 10 }),
  }),
  async run({ query, limit }: { readonly query: string; readonly limit: number }, context: ToolContext) {
    const { documents } = await manifest(context, DOCUMENTS_SEARCHED_MAX);
    const found = rankDocuments(documents, query).slice(0, limit);
    if (found.length > 0) return jsonAnswer({ documents: found.map(entryOf) });
    return jsonAnswer({ documents: [], hint: 'No file is called or described so; try document_query.' });
  },
} as const;

export const projectTools: readonly Tool[] = [
  defineTool({ name: 'project_search', ...search }),
  // The name under which older prompts know it.
  defineTool({ name: 'workspace_search', ...search }),
  defineTool({
    name: 'document_query',
    description:
      'Finds the passages of the documents of this project that answer a question best, with their lines or pages. ' +
      'Its sources are shown to the user.',
    needsProject: true,
    parameters: Type.Object({
      query: Type.String({ minLength: 1, maxLength: 2_000 }),
      top_k: Type.Integer({ minimum: 1, maximum: 20, default: 5 }),
    }),
    async run({ query, top_k }, context) {
      const workspace_id = projectOf(context);
      const { user_id } = context.caller;
      const question = { user_id, workspace_id, query, k: top_k };
      const { passages } = await context.ask(ingestion, 'passages', question);
      const cited = await citedPassages(context, passages);
      if (cited.length === 0) {
        return jsonAnswer({ passages: [], hint: 'No document of this project says anything about it.' });
      }
      const answer = boundedAnswer((charsMax) => ({
        passages: cited.map(({ document, passage: { text, line, line_end, page } }) => ({
          document_id: document.id,
          filename: document.filename,
          ...(page === null ? { lines: `${line}-${line_end}` } : { page }),
          text: excerpt(text, charsMax),
        })),
      }));
      return { ...answer, exhibits: [citationOf(context, cited)] };
    },
  }),
  defineTool({
    name: 'read_document',
    description: 'Reads a document of this project page by page.',
    needsProject: true,
    readsStored: true,
    parameters: Type.Object({
      document_id: DocumentId,
      offset: Type.Integer({ minimum: 0, default: 0, description: 'First character, from 0.' }),
      limit: Type.Integer({
        minimum: 1,
        maximum: TOOL_RESULT_INLINE_CHARS_MAX,
        default: TOOL_RESULT_INLINE_CHARS_MAX,
      }),
    }),
    async run({ document_id, offset, limit }, context) {
      const { document } = await context.ask(workspaces, 'findDocument', addressIn(context, document_id)); // J1
      const { text, total_chars, next_offset } = await textOf(context, document, offset, limit);
      if (text === '') {
        return errorAnswer(`${document.filename} has ${total_chars} characters; offset ${offset} is beyond`);
      }
      const rest = next_offset === null ? 'this is the end' : `go on with offset ${next_offset}`;
      const head = `[${document.filename} (${document.id}), sha256 ${document.sha256}: characters ${offset} to ${offset + text.length} of ${total_chars}; ${rest}]`;
      return { content: `${head}\n${text}` };
    },
  }),
  defineTool({
    name: 'list_project_files',
    description: 'Lists the documents of this project, by file name.',
    needsProject: true,
    parameters: Type.Object({ limit: Type.Integer({ minimum: 1, maximum: LISTED_MAX, default: 50 }) }),
    async run({ limit }, context) {
      const { documents, total } = await manifest(context, limit);
      return jsonAnswer({ total, documents: documents.map(entryOf) });
    },
  }),
];

function manifest(context: ToolContext, limit: number) {
  const { user_id } = context.caller;
  return context.ask(workspaces, 'manifest', { user_id, workspace_id: projectOf(context), limit });
}

function entryOf({ id, filename, size_bytes, status, tags, summary, error }: Document): object {
  return {
    document_id: id,
    filename,
    size_bytes,
    status,
    tags,
    summary,
    ...(error === null ? {} : { error }),
  };
}

/** Text files are read as they are stored, also while they wait to be read by ingestion; all else as it was read. */
async function textOf(context: ToolContext, document: Document, offset: number, limit: number) {
  try {
    return await context.ask(workspaces, 'readText', { ...addressIn(context, document.id), offset, limit });
  } catch (error) {
    if (!isFault(error, 'document_type_unsupported')) throw error;
    return context.ask(ingestion, 'text', { document_id: document.id, offset, limit });
  }
}

interface CitedPassage {
  readonly passage: FoundPassage;
  readonly document: Document;
}

/** What was deleted meanwhile is left out. */
async function citedPassages(
  context: ToolContext,
  passages: readonly FoundPassage[],
): Promise<readonly CitedPassage[]> {
  const documents = new Map<string, Document>();
  for (const id of new Set(passages.map(({ document_id }) => document_id))) {
    try {
      const { document } = await context.ask(workspaces, 'findDocument', addressIn(context, id));
      documents.set(id, document);
    } catch (error) {
      if (!isFault(error)) throw error;
    }
  }
  return passages.flatMap((passage) => {
    const document = documents.get(passage.document_id);
    return document === undefined ? [] : [{ passage, document }];
  });
}

/** One source a document, with its best passage. */
function citationOf({ toolCallId }: ToolContext, cited: readonly CitedPassage[]): Exhibit {
  const best = new Map<string, CitedPassage>();
  for (const one of cited) if (!best.has(one.document.id)) best.set(one.document.id, one);
  return {
    schema_version: 1,
    id: `exh_doc_${toolCallId}`,
    title: null,
    layout: 'stack',
    elements: [
      {
        type: 'citation',
        title: null,
        sources: [...best.values()].slice(0, SOURCES_MAX).map(({ document, passage }) => ({
          label: document.filename,
          url: `/workspaces/documents/${document.id}`,
          quote: excerpt(passage.text, QUOTE_CHARS_MAX),
          kind: 'passive',
          source_type: 'doc',
        })),
      },
    ],
  };
}
