// The bytes of a document over HTTP: whole, in ranges, and so that nothing in them can run.

import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openTroupe } from '../../support/troupe.ts';
import { upload } from '../../support/uploads.ts';

const app = await openTroupe({ offline: true });
afterAll(() => app.close());

const TEXT = 'The quick brown fox';
const ETAG = `"${createHash('sha256').update(TEXT).digest('hex')}"`;
let documents: string;
let raw: string;

beforeAll(async () => {
  const { body } = await app.call('POST', '/api/workspaces', { name: 'A project' });
  documents = `/api/workspaces/${body.workspace.id}/documents`;
  raw = await rawOf('notes/fox – 狐.txt', TEXT);
});

async function rawOf(filename: string, content: string | Uint8Array): Promise<string> {
  const { body } = await upload(`${app.url}${documents}`, { filename, content });
  return `${app.url}${documents}/${body.document.id}/raw`;
}

const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(url, { method, headers });

test('come with their type, their name and their hash, for a day', async () => {
  const response = await get(raw);
  expect(response.status).toBe(200);
  expect(await response.text()).toBe(TEXT);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/plain',
    'content-length': String(TEXT.length),
    'content-disposition': `inline; filename="fox _ _.txt"; filename*=UTF-8''fox%20%E2%80%93%20%E7%8B%90.txt`,
    'cache-control': 'private, max-age=86400',
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
    etag: ETAG,
  });
});

test('are not sent to whoever has them', async () => {
  const known = await get(raw, { 'if-none-match': `"other", W/${ETAG}` });
  expect(known.status).toBe(304);
  expect(await known.text()).toBe('');
  expect((await get(raw, { 'if-none-match': '"other"' })).status).toBe(200);
});

test('answer HEAD with the same head', async () => {
  const head = await get(raw, {}, 'HEAD');
  expect(head.status).toBe(200);
  expect(head.headers.get('content-length')).toBe(String(TEXT.length));
  expect(head.headers.get('etag')).toBe(ETAG);
  expect(await head.text()).toBe('');
});

test.each([
  ['bytes=4-8', 'quick', '4-8'],
  ['bytes=16-', 'fox', '16-18'],
  ['bytes=-3', 'fox', '16-18'],
  ['bytes=4-999', TEXT.slice(4), '4-18'],
  ['bytes=-999', TEXT, '0-18'],
])('asked for %s are %j', async (range, text, sent) => {
  const response = await get(raw, { range });
  expect(response.status).toBe(206);
  expect(response.headers.get('content-range')).toBe(`bytes ${sent}/${TEXT.length}`);
  expect(response.headers.get('content-length')).toBe(String(text.length));
  expect(await response.text()).toBe(text);
});

test.each(['bytes=19-', 'bytes=-0', 'bytes=900-901'])('asked for %s are too few', async (range) => {
  const response = await get(raw, { range });
  expect(response.status).toBe(416);
  expect(response.headers.get('content-range')).toBe(`bytes */${TEXT.length}`);
});

test.each(['bytes=0-1,4-5', 'bytes=8-4', 'lines=1-2', 'bytes=-', 'nonsense'])(
  'asked for %s come whole',
  async (range) => {
    const response = await get(raw, { range });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(TEXT);
  },
);

test('come in part only to whoever has the rest of the same', async () => {
  expect((await get(raw, { range: 'bytes=0-2', 'if-range': ETAG })).status).toBe(206);
  const other = await get(raw, { range: 'bytes=0-2', 'if-range': '"other"' });
  expect(other.status).toBe(200);
  expect(await other.text()).toBe(TEXT);
});

test('of a page stand in a sandbox; those of a picture do not need one', async () => {
  const page = await get(await rawOf('page.html', '<script>alert(1)</script>'));
  expect(page.headers.get('content-type')).toBe('text/html');
  expect(page.headers.get('content-security-policy')).toContain('sandbox');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  const script = await get(await rawOf('code.js', 'alert(1)'));
  expect(script.headers.get('content-security-policy')).toContain('sandbox');
  expect((await get(raw)).headers.get('content-security-policy')).toBeNull();
});

test('of nothing are nothing', async () => {
  const response = await get(await rawOf('empty.txt', ''));
  expect(response.status).toBe(200);
  expect(response.headers.get('content-length')).toBe('0');
  expect(await response.text()).toBe('');
});

test('of many are read as they are taken; a reader that leaves is no matter', async () => {
  const bytes = new Uint8Array(8 * 1024 * 1024).map((_, i) => i % 251);
  const url = await rawOf('large.log', bytes);
  const whole = new Uint8Array(await (await get(url)).arrayBuffer());
  expect(Buffer.compare(whole, bytes)).toBe(0);

  const abort = new AbortController();
  const left = await fetch(url, { signal: abort.signal });
  await left.body?.getReader().read();
  abort.abort();
  await eventually(async () => (await get(raw)).status).toBe(200);
});

test('of a document that is not there, or lies elsewhere, are not there', async () => {
  const { body } = await app.call('POST', '/api/workspaces', { name: 'Another' });
  const documentId = raw.split('/').at(-2);
  const elsewhere = `${app.url}/api/workspaces/${body.workspace.id}/documents/${documentId}/raw`;
  expect((await get(elsewhere)).status).toBe(404);
  expect((await get(`${app.url}${documents}/doc_none/raw`)).status).toBe(404);
});
