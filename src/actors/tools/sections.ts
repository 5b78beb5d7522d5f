// Sections: the parts of a text that have a name. Markdown headings, or the members of a JSON object. Pure.

export interface Section {
  readonly name: string;
  /** Depth of the heading, from 1. */
  readonly level: number;
  readonly text: string;
}

/** At most this many are told apart; a table of contents longer than that helps nobody. */
const SECTIONS_MAX = 500;
const NAME_LENGTH_MAX = 200;

export function sectionsOf(text: string): readonly Section[] {
  return membersOf(text) ?? headingsOf(text);
}

/** By name: the same but for case and blanks, or else the only one that contains it. */
export function findSection(sections: readonly Section[], name: string): Section | undefined {
  const wanted = comparable(name);
  const same = sections.find((section) => comparable(section.name) === wanted);
  if (same !== undefined) return same;
  const containing = sections.filter((section) => comparable(section.name).includes(wanted));
  return containing.length === 1 ? containing[0] : undefined;
}

const comparable = (name: string): string => name.replaceAll(/\s+/g, ' ').trim().toLowerCase();

function membersOf(text: string): readonly Section[] | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined; // a text that only looks like JSON
  }
  return Object.entries(parsed as object)
    .slice(0, SECTIONS_MAX)
    .map(([name, value]) => ({
      name: name.slice(0, NAME_LENGTH_MAX),
      level: 1,
      text: typeof value === 'string' ? value : JSON.stringify(value, null, 1),
    }));
}

interface Heading {
  readonly name: string;
  readonly level: number;
  readonly start: number;
}

/** A section goes from its heading to the next one of its own level or above: subsections belong to it. */
function headingsOf(text: string): readonly Section[] {
  const headings = scanHeadings(text);
  return headings.map(({ name, level, start }, at) => {
    const next = headings.slice(at + 1).find((other) => other.level <= level);
    return { name, level, text: text.slice(start, next?.start ?? text.length) };
  });
}

function scanHeadings(text: string): readonly Heading[] {
  const headings: Heading[] = [];
  let fenced = false;
  for (let start = 0; start < text.length && headings.length < SECTIONS_MAX; ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    // A heading is short: only the beginning of a line is looked at, however long the line.
    const line = text.slice(start, Math.min(end, start + NAME_LENGTH_MAX + 8)).trimEnd();
    if (line.startsWith('```') || line.startsWith('~~~')) fenced = !fenced;
    const marks = fenced ? 0 : leadingMarks(line);
    const name = line.slice(marks).trim();
    if (marks >= 1 && marks <= 6 && line[marks] === ' ' && name !== '')
      headings.push({ name, level: marks, start });
    start = end + 1;
  }
  return headings;
}

function leadingMarks(line: string): number {
  let marks = 0;
  while (line[marks] === '#') marks += 1;
  return marks;
}
