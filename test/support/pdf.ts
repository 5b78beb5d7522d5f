// Pdf: writes small PDF files for tests and benches, good ones and hostile ones. Objects in order, one cross-reference table.

import { deflateSync } from 'node:zlib';

export interface PdfOptions {
  /** Compresses the pages, as most writers do. */
  readonly compressed?: boolean;
  /** Claims to be encrypted with a password that nobody knows. */
  readonly encrypted?: boolean;
  /** How often each page names its content; once when absent. */
  readonly times?: number;
  /** What each `a` stands for, as the font says: a text may be far longer than what is drawn. */
  readonly letterA?: string;
}

/** Each page is a list of lines. A page without lines has a filled box instead of text, as a scan has a picture. */
export function pdfOf(pages: readonly (readonly string[])[], options: PdfOptions = {}): Buffer {
  return pdfOfStreams(
    pages.map((lines) => Buffer.from(contentOf(lines), 'latin1')),
    options,
  );
}

/** Each page is the bytes of its content stream, before compression. */
export function pdfOfStreams(contents: readonly Buffer[], options: PdfOptions = {}): Buffer {
  const objects: Buffer[] = [];
  const firstPage = 4;
  const kids = contents.map((_, i) => `${firstPage + 2 * i} 0 R`).join(' ');
  const { letterA } = options;
  const meanings = letterA === undefined ? '' : ` /ToUnicode ${firstPage + 2 * contents.length} 0 R`;
  objects.push(Buffer.from('<< /Type /Catalog /Pages 2 0 R >>'));
  objects.push(Buffer.from(`<< /Type /Pages /Count ${contents.length} /Kids [${kids}] >>`));
  objects.push(
    Buffer.from(
      `<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding${meanings} >>`,
    ),
  );
  contents.forEach((content, i) => {
    const stream = options.compressed === true ? deflateSync(content, { level: 6 }) : content;
    const filter = options.compressed === true ? ' /Filter /FlateDecode' : '';
    objects.push(
      Buffer.from(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents [${`${firstPage + 2 * i + 1} 0 R `.repeat(options.times ?? 1)}] /Resources << /Font << /F1 3 0 R >> >> >>`,
      ),
    );
    objects.push(
      Buffer.concat([
        Buffer.from(`<< /Length ${stream.length}${filter} >>\nstream\n`),
        stream,
        Buffer.from('\nendstream'),
      ]),
    );
  });
  if (letterA !== undefined) objects.push(tableOfMeanings(letterA));
  const encryption = options.encrypted === true ? encryptionDictionary() : '';
  return assemble(objects, encryption);
}

/**
 * Its catalog lies in a compressed stream of objects, as newer writers do it, with so many blanks behind it: whoever opens the
 * file has to expand them.
 */
export function pdfOfObjectStream(blanks: number): Buffer {
  const head = Buffer.from('%PDF-1.5\n');
  const catalog = '1 0 << /Type /Catalog /Pages 2 0 R >>';
  const packed = deflateSync(Buffer.concat([Buffer.from(catalog), Buffer.alloc(blanks, ' ')]));
  const pages = Buffer.from('2 0 obj\n<< /Type /Pages /Count 0 /Kids [] >>\nendobj\n');
  const container = Buffer.concat([
    Buffer.from(`3 0 obj\n<< /Type /ObjStm /N 1 /First 4 /Filter /FlateDecode /Length ${packed.length} >>\n`),
    Buffer.from('stream\n'),
    packed,
    Buffer.from('\nendstream\nendobj\n'),
  ]);
  const tableAt = head.length + pages.length + container.length;
  // Kind, offset or number of the container, place in it.
  const rows = [
    [0, 0],
    [2, 3],
    [1, head.length],
    [1, head.length + pages.length],
    [1, tableAt],
  ].map(([kind = 0, where = 0]) => Buffer.from([kind, where >>> 24, where >>> 16, where >>> 8, where, 0]));
  const table = Buffer.concat([
    Buffer.from(
      `4 0 obj\n<< /Type /XRef /Size 5 /W [1 4 1] /Root 1 0 R /Length ${6 * rows.length} >>\nstream\n`,
    ),
    ...rows,
    Buffer.from(`\nendstream\nendobj\nstartxref\n${tableAt}\n%%EOF\n`),
  ]);
  return Buffer.concat([head, pages, container, table]);
}

function tableOfMeanings(letterA: string): Buffer {
  const meaning = Array.from(letterA, (letter) => letter.charCodeAt(0).toString(16).padStart(4, '0')).join(
    '',
  );
  const table = [
    '/CIDInit /ProcSet findresource begin 12 dict begin begincmap',
    '1 begincodespacerange <00> <ff> endcodespacerange',
    `1 beginbfchar <61> <${meaning}> endbfchar`,
    'endcmap end end',
  ].join('\n');
  return Buffer.from(`<< /Length ${table.length} >>\nstream\n${table}\nendstream`);
}

function contentOf(lines: readonly string[]): string {
  if (lines.length === 0) return '0.5 g 50 50 500 700 re f';
  const shown = lines.map((line) => `(${line.replace(/[\\()]/g, '\\$&')}) Tj T*`);
  return `BT /F1 11 Tf 14 TL 50 750 Td\n${shown.join('\n')}\nET`;
}

function assemble(objects: readonly Buffer[], trailer: string): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n', 'latin1')];
  let length = parts[0]?.length ?? 0;
  const offsets: number[] = [];
  objects.forEach((object, i) => {
    const part = Buffer.concat([Buffer.from(`${i + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]);
    offsets.push(length);
    length += part.length;
    parts.push(part);
  });
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const count = objects.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${count}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${count} /Root 1 0 R${trailer} >>\nstartxref\n${length}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}

/** The two hashes of no password at all. */
function encryptionDictionary(): string {
  const hash = '5a'.repeat(32);
  return ` /Encrypt << /Filter /Standard /V 1 /R 2 /O <${hash}> /U <${hash}> /P -44 >> /ID [<00112233> <00112233>]`;
}
