// ToolSearch: which of many tools a few words mean. Pure. A word counts for more the fewer tools have it, and for more in a name
// than in a description; beginnings of words count a little.

export interface Searchable {
  /** `server.tool`. */
  readonly label: string;
  readonly description: string;
}

const IN_NAME = 4;
const BEGINS_IN_NAME = 2;
const IN_DESCRIPTION = 1;
const WORD_CHARS_MIN = 2;
/** A beginning that is shorter says nothing. */
const BEGINNING_CHARS_MIN = 3;
const WORDS_MAX = 32;

/** The best first; only those that any word hits. */
export function rankedTools<Tool extends Searchable>(
  tools: readonly Tool[],
  query: string,
  limit: number,
): readonly Tool[] {
  const sought = [...new Set(wordsOf(query))].slice(0, WORDS_MAX);
  const indexed = tools.map((tool) => ({
    tool,
    named: new Set(wordsOf(tool.label)),
    described: new Set(wordsOf(tool.description)),
  }));
  const rarity = new Map(
    sought.map((word) => {
      const count = indexed.filter(({ named, described }) => named.has(word) || described.has(word)).length;
      return [word, Math.log(1 + tools.length / (1 + count))];
    }),
  );
  const plainQuery = query.trim().toLowerCase();
  return indexed
    .map(({ tool, named, described }) => {
      let score = tool.label.toLowerCase() === plainQuery ? Number.MAX_VALUE : 0;
      for (const word of sought) score += weightOf(word, named, described) * (rarity.get(word) ?? 0);
      return { tool, score };
    })
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, limit)
    .map(({ tool }) => tool);
}

function weightOf(word: string, named: ReadonlySet<string>, described: ReadonlySet<string>): number {
  if (named.has(word)) return IN_NAME;
  const begins = (other: string): boolean =>
    (word.length >= BEGINNING_CHARS_MIN && other.startsWith(word)) ||
    (other.length >= BEGINNING_CHARS_MIN && word.startsWith(other));
  if ([...named].some(begins)) return BEGINS_IN_NAME;
  return described.has(word) ? IN_DESCRIPTION : 0;
}

/** `listPullRequests` and `list_pull_requests` are the same three words. */
function wordsOf(text: string): readonly string[] {
  return text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length >= WORD_CHARS_MIN);
}
