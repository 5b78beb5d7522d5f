// Filename: what a document may be called. Names come from browsers, models and strangers, and are shown to people.
// N1 At most one folder, `folder/name.extension`; no step upwards, no root, no backslash, nothing hidden.
// N2 No character that shows nothing, or turns the direction in which the rest is read: `gpj.exe` must not look like a picture.
// N3 What is merely spelt in two ways (NFC, blanks around it) is spelt in one; everything else is refused, not mended.

import { FILENAME_LENGTH_MAX, workspaceFaults } from './protocol.ts';

const { filename_invalid } = workspaceFaults;

/** Controls, formats (zero width, directions), surrogates, private use, unassigned; line and paragraph separators. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;
/** What other systems do not take in a name. */
const UNPORTABLE = /[<>:"|?*\\]/;

/** Spelt otherwise, with its marks apart, a name is a few times longer. To put millions of marks in order takes hours. */
const GIVEN_LENGTH_MAX = 4 * FILENAME_LENGTH_MAX;

export interface NameParts {
  /** Empty, or ends with a slash. */
  readonly folder: string;
  readonly base: string;
  /** Empty, or begins with a dot. */
  readonly extension: string;
}

/** @throws filename_invalid */
export function parseFilename(given: string): string {
  const name = spelt(given);
  const steps = name.split('/');
  if (steps.length > 2) throw filename_invalid('A filename may name one folder, not more');
  for (const step of steps) assertStep(step);
  if (name.length > FILENAME_LENGTH_MAX) throw tooLong();
  return name;
}

/** The filename of a document that is called otherwise within its folder. @throws filename_invalid */
export function renamed(filename: string, name: string): string {
  const { folder, extension } = partsOf(filename);
  const given = spelt(name);
  if (given.includes('/'))
    throw filename_invalid('A document is renamed within its folder: give a name without /');
  const isWhole = extension !== '' && given.toLowerCase().endsWith(extension.toLowerCase());
  const base = isWhole ? given.slice(0, -extension.length) : given;
  if (base === '') throw filename_invalid('A filename must not be empty');
  return parseFilename(`${folder}${base}${extension}`);
}

/** `notes/plan.md` with 2 is `notes/plan (2).md`; a media file's stamp takes `-2`. */
export function numbered(filename: string, number: number, style: 'brackets' | 'dash'): string {
  const { folder, base, extension } = partsOf(filename);
  const suffix = style === 'brackets' ? ` (${number})` : `-${number}`;
  const baseLengthMax = FILENAME_LENGTH_MAX - folder.length - extension.length - suffix.length;
  return `${folder}${base.slice(0, baseLengthMax).toWellFormed()}${suffix}${extension}`;
}

export function partsOf(filename: string): NameParts {
  const folder = filename.slice(0, filename.lastIndexOf('/') + 1);
  const name = filename.slice(folder.length);
  const dot = name.lastIndexOf('.');
  return dot <= 0
    ? { folder, base: name, extension: '' }
    : { folder, base: name.slice(0, dot), extension: name.slice(dot) };
}

/** In lower case, without the dot. */
export function extensionOf(filename: string): string {
  return partsOf(filename).extension.slice(1).toLowerCase();
}

/** What is left of a name that somebody proposes for a file which we call ourselves; empty where nothing is. */
export function cleanedBase(proposed: string): string {
  const plain = proposed
    .slice(0, GIVEN_LENGTH_MAX)
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N} _-]+/gu, ' ');
  return plain.trim().replace(/\s+/g, '-').slice(0, CLEANED_LENGTH_MAX).toWellFormed();
}

const CLEANED_LENGTH_MAX = 80;

/** N3. @throws filename_invalid */
function spelt(given: string): string {
  if (given.length > GIVEN_LENGTH_MAX) throw tooLong();
  return given.normalize('NFC').trim();
}

function tooLong() {
  return filename_invalid(`A filename must have at most ${FILENAME_LENGTH_MAX} characters`);
}

function assertStep(step: string): void {
  if (step === '') throw filename_invalid('A filename must not be empty, nor begin or end with /');
  if (step.startsWith('.')) throw filename_invalid('A filename must not begin with a dot');
  if (step !== step.trim() || step.endsWith('.')) {
    throw filename_invalid('A filename must not begin or end with a blank, nor end with a dot');
  }
  if (UNSEEN.test(step)) {
    throw filename_invalid('A filename must not hold control characters or characters that show nothing');
  }
  if (UNPORTABLE.test(step)) throw filename_invalid('A filename must not hold any of < > : " | ? * \\');
}
