// Limits of reading one document. What is uploaded is smaller than 50 MB; what it expands to is another matter.

/** A text file of the largest size is taken whole. */
export const TEXT_CHARS_MAX = 52_428_800;
/** More than any book. */
export const PAGES_MAX = 5_000;
/** One stream of a PDF, expanded: a page of text needs a few hundred kilobytes. */
export const EXPANDED_BYTES_MAX = 48 * 1024 * 1024;
/** What a parser thread may hold while it reads a PDF, heap and buffers: less than the heap alone may be, so that it says why. */
export const MEMORY_BYTES_MAX = 640 * 1024 * 1024;
