// Stored output tools: reading what was too long for the conversation, in pages, passages, sections and paths.
// Their answers are bounded here and never stored again.

import { Type } from '../../std/schema.ts';
import { TOOL_RESULT_INLINE_CHARS_MAX, toolOutputs } from '../tool-outputs/protocol.ts';
import { boundedAnswer } from './bounded-answer.ts';
import { excerpt } from './excerpt.ts';
import { selectByPath } from './json-path.ts';
import { rankPassages } from './passages.ts';
import { findSection, sectionsOf } from './sections.ts';
import { defineTool, errorAnswer, jsonAnswer, type Tool, type ToolAnswer, type ToolContext } from './tool.ts';

const LISTED_OUTPUTS_MAX = 40;
const LISTED_SECTIONS_MAX = 100;
const SECTION_NAME_CHARS_MAX = 60;

const Key = Type.String({ minLength: 1, maxLength: 200, description: 'The storage key.' });
const Offset = Type.Integer({ minimum: 0, default: 0, description: 'First character, from 0.' });
const Limit = (initial: number) =>
  Type.Integer({
    minimum: 1,
    maximum: TOOL_RESULT_INLINE_CHARS_MAX,
    default: initial,
    description: 'Most characters to read.',
  });
const PageOfText = Type.Object({ key: Key, offset: Offset, limit: Limit(TOOL_RESULT_INLINE_CHARS_MAX) });

export const storedOutputTools: readonly Tool[] = [
  defineTool({
    name: 'read_stored_output',
    description: 'Reads a stored tool output page by page.',
    readsStored: true,
    parameters: PageOfText,
    run: readPage,
  }),
  defineTool({
    name: 'list_stored_outputs',
    description: 'Lists the tool outputs that are stored at the moment, newest first.',
    readsStored: true,
    parameters: Type.Object({
      pattern: Type.String({
        maxLength: 200,
        default: '*',
        description: 'Tool name; * and ? are wildcards.',
      }),
    }),
    async run({ pattern }, context) {
      const { outputs, count } = await context.ask(toolOutputs, 'list', { pattern });
      const listed = outputs
        .slice(0, LISTED_OUTPUTS_MAX)
        .map(({ key, tool_name, size_chars, stored_at }) => ({
          key,
          tool: tool_name,
          size_chars,
          stored_at,
        }));
      return jsonAnswer({ count, outputs: listed });
    },
  }),
  defineTool({
    name: 'tool_output_query',
    description:
      'Finds the passages of a stored output that fit a query best. It compares words, not meaning: use words that ' +
      'the text itself would use.',
    readsStored: true,
    parameters: Type.Object({
      key: Key,
      query: Type.String({ minLength: 1, maxLength: 500 }),
      top_k: Type.Integer({ minimum: 1, maximum: 10, default: 5 }),
    }),
    async run({ key, query, top_k }, context) {
      const passages = rankPassages(await readWhole(key, context), query, top_k);
      if (passages.length === 0) {
        return jsonAnswer({
          key,
          passages,
          hint: 'No passage has any of these words; try others, or read pages.',
        });
      }
      return boundedAnswer((charsMax) => ({
        key,
        passages: passages.map(({ offset, score, text }) => ({
          offset,
          score: Number(score.toFixed(3)),
          text: excerpt(text, charsMax),
        })),
      }));
    },
  }),
  defineTool({
    name: 'tool_output_section',
    description:
      'Lists the sections of a stored output (its headings, or the members of a JSON object), or reads one by name.',
    readsStored: true,
    parameters: Type.Object({
      key: Key,
      section: Type.Optional(
        Type.String({ maxLength: 200, description: 'Name of a section; without it they are listed.' }),
      ),
      limit: Limit(10_000),
    }),
    async run({ key, section, limit }, context) {
      const sections = sectionsOf(await readWhole(key, context));
      const names = sections.slice(0, LISTED_SECTIONS_MAX).map((each) => ({
        name: excerpt(each.name, SECTION_NAME_CHARS_MAX),
        level: each.level,
        size_chars: each.text.length,
      }));
      if (section === undefined || section.trim() === '') {
        return jsonAnswer({ key, count: sections.length, sections: names });
      }
      const found = findSection(sections, section);
      if (found === undefined) {
        const known = excerpt(names.map(({ name }) => name).join(', '), 1_000);
        return errorAnswer(
          `No single section is called "${section}". Sections: ${known === '' ? 'none' : known}`,
        );
      }
      return { content: `[section "${found.name}" of ${key}]\n${excerpt(found.text, limit)}` };
    },
  }),
  defineTool({
    name: 'tool_output_path',
    description:
      'Selects parts of a stored JSON output by JSON path, such as $.items[0].title, $..url or $.items[?(@.price < 10)].',
    readsStored: true,
    parameters: Type.Object({ key: Key, jsonpath: Type.String({ minLength: 1, maxLength: 500 }) }),
    async run({ key, jsonpath }, context) {
      const text = await readWhole(key, context);
      let document: unknown;
      try {
        document = JSON.parse(text);
      } catch {
        return errorAnswer(`The output ${key} is not JSON; use tool_output_section or read_stored_output`);
      }
      return matchesAnswer(key, selectByPath(document, jsonpath));
    },
  }),
  defineTool({
    name: 'read_user_message',
    description:
      'Reads the full text of a long message of the user, of which only the beginning is in the conversation.',
    readsStored: true,
    parameters: PageOfText,
    run: readPage,
  }),
];

async function readPage(
  { key, offset, limit }: { readonly key: string; readonly offset: number; readonly limit: number },
  context: ToolContext,
): Promise<ToolAnswer> {
  const page = await context.ask(toolOutputs, 'read', { storage_key: key, offset, limit });
  const content = page.content ?? '';
  const end = Math.min(offset + limit, page.size_chars);
  if (content === '')
    return errorAnswer(`The output ${key} has ${page.size_chars} characters; offset ${offset} is beyond`);
  const rest = end < page.size_chars ? `; go on with offset ${end}` : '; this is the end';
  return { content: `[${key}: characters ${offset} to ${end} of ${page.size_chars}${rest}]\n${content}` };
}

async function readWhole(key: string, context: ToolContext): Promise<string> {
  const { content } = await context.ask(toolOutputs, 'read', { storage_key: key });
  return content ?? '';
}

/** As many matches as fit; a first one that is too long by itself is cut. */
function matchesAnswer(key: string, matches: readonly unknown[]): ToolAnswer {
  const shown: string[] = [];
  let chars = 0;
  for (const match of matches) {
    const text = JSON.stringify(match);
    chars += text.length + 1;
    if (chars > TOOL_RESULT_INLINE_CHARS_MAX) {
      if (shown.length === 0) shown.push(excerpt(text, TOOL_RESULT_INLINE_CHARS_MAX));
      break;
    }
    shown.push(text);
  }
  const whole =
    shown.length === matches.length ? '' : `, the first ${shown.length} shown; make the path more specific`;
  return { content: `[${key}: ${matches.length} matches${whole}]\n${shown.join('\n')}` };
}
