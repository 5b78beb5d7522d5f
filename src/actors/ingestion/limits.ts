// Limits of reading one document. What is uploaded is smaller than 50 MB; what it expands to is another matter.

/** A text file of the largest size is taken whole. */
export const TEXT_CHARS_MAX = 52_428_800;
/** More than any book. */
export const PAGES_MAX = 5_000;
/** A file of 2,000 pages takes some 15 seconds of a core, several times that on a busy machine. */
export const PARSE_MS_MAX = 180_000;
/** One stream of a PDF, expanded: a page of text needs a few hundred kilobytes. */
export const EXPANDED_BYTES_MAX = 48 * 1024 * 1024;
/** What a parser thread may hold while it works: heap and buffers. */
export const MEMORY_BYTES_MAX = 640 * 1024 * 1024;
