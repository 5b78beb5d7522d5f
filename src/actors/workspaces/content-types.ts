// Content types: which files a workspace takes, what they are served as, and how. Decided by extension, not by the sender.
// Pure tables; what media are is decided by their bytes (media-type.ts).

import { extensionOf } from './filename.ts';
import { WRITABLE_EXTENSIONS } from './protocol.ts';

/** All that a workspace takes by upload. */
const TYPES: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  text: 'text/plain',
  log: 'text/plain',
  ini: 'text/plain',
  md: 'text/markdown',
  markdown: 'text/markdown',
  rst: 'text/x-rst',
  csv: 'text/csv',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  toml: 'application/toml',
  html: 'text/html',
  css: 'text/css',
  py: 'text/x-python',
  js: 'text/javascript',
  jsx: 'text/javascript',
  ts: 'text/x-typescript',
  tsx: 'text/x-typescript',
  go: 'text/x-go',
  rs: 'text/x-rust',
  java: 'text/x-java',
  c: 'text/x-c',
  h: 'text/x-c',
  cpp: 'text/x-c++',
  sh: 'text/x-sh',
  sql: 'text/x-sql',
};

export const UPLOAD_EXTENSIONS: readonly string[] = Object.keys(TYPES);

/** Undefined for a file that a workspace does not take. */
export function typeOfFilename(filename: string): string | undefined {
  const extension = extensionOf(filename);
  return Object.hasOwn(TYPES, extension) ? TYPES[extension] : undefined;
}

export function isWritable(filename: string): boolean {
  return WRITABLE_EXTENSIONS.includes(extensionOf(filename));
}

/** Images, audio and video: kept to be shown, never read for their text. */
export function isMedia(contentType: string): boolean {
  return /^(image|audio|video)\//.test(contentType);
}

/** Whether its bytes are text. */
export function isText(contentType: string): boolean {
  return contentType !== 'application/pdf' && !isMedia(contentType);
}
