// Kinds: how a document is read, by the end of its name. What a client says of the type is not relied on.

export type DocumentKind = 'pdf' | 'markdown' | 'code' | 'csv' | 'json' | 'html' | 'text';

const KIND_BY_EXTENSION: Readonly<Record<string, DocumentKind>> = {
  pdf: 'pdf',
  md: 'markdown',
  markdown: 'markdown',
  rst: 'markdown',
  csv: 'csv',
  json: 'json',
  html: 'html',
  htm: 'html',
  py: 'code',
  js: 'code',
  ts: 'code',
  tsx: 'code',
  jsx: 'code',
  go: 'code',
  rs: 'code',
  java: 'code',
  c: 'code',
  h: 'code',
  cpp: 'code',
  sh: 'code',
  sql: 'code',
  css: 'code',
  yaml: 'code',
  yml: 'code',
  toml: 'code',
  ini: 'code',
};

export function kindOf(filename: string): DocumentKind {
  const extension = /\.([A-Za-z0-9]+)$/.exec(filename)?.[1]?.toLowerCase() ?? '';
  return KIND_BY_EXTENSION[extension] ?? 'text';
}
