// Uploads that do not go well, or not alone; and the media of a chat.

import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startService } from '../../support/service-process.ts';
import { temporaryFolder } from '../../support/storage.ts';
import { openTroupe } from '../../support/troupe.ts';
import { blobFiles, upload } from '../../support/uploads.ts';

const FILE_BYTES_MAX = 200_000;
const QUOTA_BYTES = 500_000;

const app = await openTroupe({ offline: true });
afterAll(() => app.close());
beforeAll(async () => {
  const settings = { workspaces: { file_bytes_max: FILE_BYTES_MAX, quota_bytes: QUOTA_BYTES } };
  await writeFile(join(app.dataDir, 'settings.json'), JSON.stringify(settings));
  await app.restart();
});

let project: string;
beforeEach(async () => {
  const { body } = await app.call('POST', '/api/workspaces', { name: 'A project' });
  project = `/api/workspaces/${body.workspace.id}`;
});

const send = (filename: string, content: string | Uint8Array) =>
  upload(`${app.url}${project}/documents`, { filename, content });
const used = async () => (await app.call('GET', project)).body.workspace;

/** A form that is sent by hand: its head, then whatever the test writes. */
async function beginForm(headers: readonly string[], path = `${project}/documents`): Promise<Socket> {
  const { port } = new URL(app.url);
  const socket = connect({ host: '127.0.0.1', port: Number(port) });
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  socket.write(
    [
      `POST ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Content-Type: multipart/form-data; boundary=edge',
      ...headers,
      '',
      '',
    ].join('\r\n'),
  );
  return socket;
}

const FILE_HEAD = '--edge\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';

/** The first line of the answer. */
async function statusLine(socket: Socket): Promise<string> {
  let text = '';
  for await (const piece of socket) {
    text += piece;
    if (text.includes('\r\n')) break;
  }
  return text.split('\r\n', 1)[0] ?? '';
}

describe('a file that is too large', () => {
  test('is refused before it comes where its length is told', async () => {
    const refused = await send('large.txt', randomBytes(FILE_BYTES_MAX + 50_000));
    expect(refused).toMatchObject({ status: 413, body: { code: 'too_large' } });
    expect(await used()).toMatchObject({ document_count: 0, used_bytes: 0 });
  });

  test('is refused on the way where it is not, and leaves nothing', async () => {
    const before = await blobFiles(app.dataDir);
    const socket = await beginForm(['Transfer-Encoding: chunked']);
    const chunk = (text: string) => socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
    chunk(FILE_HEAD);
    for (let sent = 0; sent <= FILE_BYTES_MAX; sent += 10_000) chunk('x'.repeat(10_000));
    expect(await statusLine(socket)).toContain('413');
    socket.destroy();
    await eventually(() => blobFiles(app.dataDir)).toEqual(before);
  });

  test('of exactly the size that is allowed is taken', async () => {
    expect((await send('fits.txt', randomBytes(FILE_BYTES_MAX))).status).toBe(201);
    expect((await send('one more.txt', randomBytes(FILE_BYTES_MAX + 1))).status).toBe(413);
  });
});

describe('a sender that leaves', () => {
  test('in the middle of a file leaves nothing behind', async () => {
    const before = await blobFiles(app.dataDir);
    const socket = await beginForm(['Content-Length: 100000']);
    socket.write(FILE_HEAD + 'x'.repeat(70_000));
    await eventually(async () => (await blobFiles(app.dataDir)).drafts.length).toBe(before.drafts.length + 1);
    socket.destroy();
    await eventually(() => blobFiles(app.dataDir)).toEqual(before);
    expect(await used()).toMatchObject({ document_count: 0, used_bytes: 0 });
  });

  test('gives back what it had set aside', async () => {
    for (let round = 0; round < 4; round += 1) {
      const socket = await beginForm(['Content-Length: 190000']);
      socket.write(FILE_HEAD + 'x'.repeat(10_000));
      await eventually(async () => (await blobFiles(app.dataDir)).drafts.length).toBe(1);
      socket.destroy();
      await eventually(async () => (await blobFiles(app.dataDir)).drafts.length).toBe(0);
    }
    for (const name of ['a', 'b']) {
      expect((await send(`${name}.txt`, randomBytes(FILE_BYTES_MAX))).status).toBe(201);
    }
  });

  test('before the end of its form has sent no document', async () => {
    const rest = `${FILE_HEAD}half a file`;
    const socket = await beginForm([`Content-Length: ${rest.length}`]);
    socket.write(rest);
    expect(await statusLine(socket)).toContain('400');
    socket.destroy();
    expect(await used()).toMatchObject({ document_count: 0 });
  });
});

// Linux says what the most was that a process has taken.
const isTold = process.platform === 'linux';
test.runIf(isTold)('a file of 50 MB is never in memory', { timeout: 150_000 }, async () => {
  await using folder = await temporaryFolder();
  await using service = await startService({ dataDir: folder.directory });
  const peakMb = async (): Promise<number> => {
    const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  };
  // Media are not read: nothing but their way to the disk takes memory.
  const path = '/api/agent/chat/media';
  const webm = Buffer.from('\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm', 'latin1');
  const form = (megabytes: number): FormData => {
    const blob = new Blob([webm, ...new Array(megabytes).fill(randomBytes(1024 * 1024))]);
    const body = new FormData();
    body.append('file', blob.slice(0, blob.size, 'video/webm'), 'a.webm');
    return body;
  };
  const post = (megabytes: number) => fetch(service.url + path, { method: 'POST', body: form(megabytes) });
  expect((await post(5)).status).toBe(200);
  const before = await peakMb();
  expect((await post(49)).status).toBe(200);
  expect((await peakMb()) - before).toBeLessThan(30);
});

test('uploads at the same time do not exceed a quota together', async () => {
  const SIZE = 120_000;
  const FITTING = Math.floor(QUOTA_BYTES / SIZE);
  const answers = await Promise.all(Array.from({ length: 9 }, (_, i) => send(`${i}.txt`, randomBytes(SIZE))));
  const taken = answers.filter(({ status }) => status === 201);
  const refused = answers.filter(({ status }) => status === 413);
  expect(taken.length + refused.length).toBe(9);
  for (const { body } of refused) expect(body.code).toBe('quota_exceeded');
  expect(taken.length).toBe(FITTING);
  expect(await used()).toMatchObject({ document_count: FITTING, used_bytes: FITTING * SIZE });
  // What was refused was not stored either: the room that is left can be used to the last byte.
  const leftBytes = QUOTA_BYTES - FITTING * SIZE;
  expect((await send('too much.txt', randomBytes(leftBytes + 1))).status).toBe(413);
  expect((await send('the rest.txt', randomBytes(leftBytes))).status).toBe(201);
});

test('a workspace that is deleted while a file comes takes none', async () => {
  const before = await blobFiles(app.dataDir);
  const body = `${FILE_HEAD}${'x'.repeat(50_000)}`;
  const end = '\r\n--edge--\r\n';
  const socket = await beginForm([`Content-Length: ${body.length + end.length}`]);
  socket.write(body);
  await eventually(async () => (await blobFiles(app.dataDir)).drafts.length).toBe(before.drafts.length + 1);
  expect((await app.call('DELETE', project)).status).toBe(200);
  socket.write(end);
  expect(await statusLine(socket)).toContain('404');
  socket.destroy();
  await eventually(() => blobFiles(app.dataDir)).toEqual(before);
});

describe('media of a chat', () => {
  const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(500)]);
  const WAV = Buffer.concat([Buffer.from('RIFF....WAVEfmt '), randomBytes(500)]);
  const WEBM = Buffer.concat([
    Buffer.from('\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm', 'latin1'),
    randomBytes(50),
  ]);
  const sendMedia = (content: Uint8Array, type: string, route = 'images') =>
    upload(`${app.url}/api/agent/chat/${route}`, { filename: 'clip', content, type });

  test('go to Home, ready at once, named after what they are', async () => {
    const { status, body } = await sendMedia(PNG, 'image/png');
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      doc_id: expect.stringMatching(/^[A-Za-z0-9_-]+$/),
      workspace_id: 'ws_home',
      media_type: 'image/png',
      url: `/api/workspaces/ws_home/documents/${body.doc_id}/raw`,
    });
    const { body: found } = await app.call('GET', `/api/workspaces/ws_home/documents/${body.doc_id}`);
    expect(found.document).toMatchObject({ status: 'ready', content_type: 'image/png' });
    expect(found.document.filename).toMatch(/^uploads\/image-\d{8}-\d{6}(-\d+)?\.png$/);
    const bytes = await fetch(app.url + body.url);
    expect(Buffer.from(await bytes.arrayBuffer()).equals(PNG)).toBe(true);
    expect(bytes.headers.get('content-security-policy')).toBeNull();
    const again = await app.call('POST', `/api/workspaces/ws_home/documents/${body.doc_id}/reingest`);
    expect(again).toMatchObject({ status: 200, body: { document: { status: 'ready' } } });
  });

  test('of the same second get names of their own', async () => {
    const sent = await Promise.all(Array.from({ length: 4 }, () => sendMedia(WAV, 'audio/wav', 'media')));
    const names = await Promise.all(
      sent.map(async ({ body }) => {
        const { body: found } = await app.call('GET', `/api/workspaces/ws_home/documents/${body.doc_id}`);
        return found.document.filename;
      }),
    );
    expect(new Set(names).size).toBe(4);
  });

  test.each([
    [PNG, 'image/jpeg', 'image/png'],
    [PNG, '', 'image/png'],
    [WAV, 'audio/x-wav', 'audio/x-wav'],
    [WEBM, 'audio/webm;codecs=opus', 'audio/webm'],
    [WEBM, 'video/webm', 'video/webm'],
  ])('are what their bytes say: %#', async (content, declared, found) => {
    expect((await sendMedia(content, declared)).body.media_type).toBe(found);
  });

  test('that are none are refused with a code', async () => {
    const refusal = { status: 422, body: { code: 'unsupported', error: expect.any(String) } };
    expect(await sendMedia(Buffer.from('<svg onload="alert(1)"/>'), 'image/svg+xml')).toMatchObject(refusal);
    expect(await sendMedia(Buffer.from('no picture at all'), 'image/png')).toMatchObject(refusal);
    expect(await sendMedia(Buffer.from(''), 'image/png')).toMatchObject(refusal);
    const large = await sendMedia(Buffer.concat([PNG, randomBytes(FILE_BYTES_MAX)]), 'image/png');
    expect(large).toMatchObject({ status: 422, body: { code: 'too_large' } });
    expect(await app.call('POST', '/api/agent/chat/media')).toMatchObject({
      status: 400,
      body: { code: 'no_file' },
    });
  });
});
