// Corpus: markdown and PDF files as people have them, the same ones for the same seed. Each bears a word that no other has, near
// its end, by which it is to be found.

import { type RandomSource, seededRandom } from '../../src/std/ids.ts';
import { pdfOf } from '../../test/support/pdf.ts';

export interface CorpusFile {
  readonly filename: string;
  readonly bytes: Buffer;
  readonly mark: string;
}

const VOCABULARY = 20_000;
const SYLLABLES =
  'ba be bi bo ca ce da de di do fa fe ga ge ha he la le li lo ma me mi mo na ne ni no pa'.split(' ');
const LINES_PER_PAGE = 45;
const WORDS_PER_LINE = 11;

/** Some 85 bytes a line, as in a book; the words of a language: a few often, most of them hardly ever. */
export function markdownFiles(count: number, bytesEach: number, seed: number): CorpusFile[] {
  return Array.from({ length: count }, (_, i) => {
    const random = seededRandom(seed * 1_000 + i);
    const mark = `mark${random.hex(12)}`;
    let text = `# ${titleOf(random)}\n\n`;
    while (text.length < bytesEach) text += blockOf(random);
    return { filename: `${seed}-${i}.md`, bytes: Buffer.from(`${text}\nThe word is ${mark}.\n`), mark };
  });
}

export function pdfFiles(count: number, pagesEach: number, seed: number): CorpusFile[] {
  return Array.from({ length: count }, (_, i) => {
    const random = seededRandom(seed * 1_000 + i);
    const mark = `mark${random.hex(12)}`;
    const pages = Array.from({ length: pagesEach }, () =>
      Array.from({ length: LINES_PER_PAGE }, () => wordsOf(random, WORDS_PER_LINE)),
    );
    pages.at(-1)?.push(`The word is ${mark}.`);
    return { filename: `${seed}-${i}.pdf`, bytes: pdfOf(pages, { compressed: true }), mark };
  });
}

function blockOf(random: RandomSource): string {
  const kind = random.float();
  if (kind < 0.1) return `## ${titleOf(random)}\n\n`;
  if (kind < 0.2) return `${times(5, () => `- ${wordsOf(random, 8)}`)}\n\n`;
  if (kind < 0.25)
    return `\`\`\`ts\n${times(6, () => `const ${wordOf(random)} = ${wordOf(random)}();`)}\n\`\`\`\n\n`;
  if (kind < 0.3)
    return `| a | b |\n|---|---|\n${times(4, () => `| ${wordOf(random)} | ${wordOf(random)} |`)}\n\n`;
  return `${times(1 + Math.floor(random.float() * 6), () => `${wordsOf(random, 14)}.`)}\n\n`;
}

function times(count: number, line: () => string): string {
  return Array.from({ length: count }, line).join('\n');
}

function titleOf(random: RandomSource): string {
  return wordsOf(random, 3);
}

function wordsOf(random: RandomSource, count: number): string {
  return Array.from({ length: count }, () => wordOf(random)).join(' ');
}

/** Zipf: the n-th word is n times as rare as the first. */
function wordOf(random: RandomSource): string {
  const rank = Math.floor(VOCABULARY ** random.float());
  let word = '';
  for (let rest = rank + SYLLABLES.length; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) {
    word += SYLLABLES[rest % SYLLABLES.length];
  }
  return word;
}
