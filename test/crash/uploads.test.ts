// kill -9 while files are uploaded and deleted, and what an upload takes of the memory.

import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/std/ids.ts';
import { eventually } from '../support/eventually.ts';
import { type ServiceProcess, startService } from '../support/service-process.ts';
import { temporaryFolder } from '../support/storage.ts';
import { blobFiles, upload } from '../support/uploads.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);
const KILLS = 3;
const FILES_PER_LIFE = 16;
/** Some of them are equal, so that blobs are shared and go with the last. */
const CONTENTS = 6;
const FILE_BYTES_MAX = 3_000_000;
const ANSWERED_MIN = 4;
const KILLED_WITHIN_MS = 500;

/** Media are never read for their text: nothing but the upload is at work. */
const MEDIA = '/api/agent/chat/media';
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const picture = (size: number) => Buffer.concat([PNG, randomBytes(Math.ceil(size))]);

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

interface Fate {
  readonly sha256: string;
  /** Gone is what was told to be deleted; doubtful what was not answered. */
  state: 'kept' | 'gone' | 'doubtful';
}

test(`a service that is killed loses no document that it has, and keeps no bytes of others (TEST_SEED=${seed})`, {
  timeout: 500_000,
}, async () => {
  console.log(`uploads.test.ts: TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  await using folder = await temporaryFolder();
  const contents = Array.from({ length: CONTENTS }, () => picture(random.float() * FILE_BYTES_MAX));
  const fates = new Map<string, Fate>();

  for (let life = 0; life < KILLS; life += 1) {
    await using service = await startService({ dataDir: folder.directory });
    await assertWhole(service, folder.directory, fates);
    const knownBefore = fates.size;
    const work = [
      ...Array.from({ length: FILES_PER_LIFE }, async () => {
        const content = contents[Math.floor(random.float() * CONTENTS)] as Uint8Array;
        await after(random.float() * KILLED_WITHIN_MS);
        const { status, body } = await upload(`${service.url}${MEDIA}`, { filename: 'a.png', content });
        expect(status).toBe(200);
        fates.set(body.doc_id, { sha256: sha256(content), state: 'kept' });
      }),
      ...Array.from(fates).map(async ([id, fate]) => {
        if (fate.state !== 'kept' || random.float() < 0.5) return;
        await after(random.float() * KILLED_WITHIN_MS);
        fate.state = 'doubtful';
        const { status } = await service.call('DELETE', `/api/workspaces/ws_home/documents/${id}`);
        expect(status).toBe(200);
        fate.state = 'gone';
      }),
    ].map((one) => one.catch((error: unknown) => expect(error).toBeInstanceOf(TypeError)));
    // Not before some were answered: else nothing is tested.
    await eventually(() => fates.size - knownBefore).toBeGreaterThanOrEqual(ANSWERED_MIN);
    await after(random.float() * KILLED_WITHIN_MS);
    await service.kill();
    await Promise.all(work);
  }

  await using service = await startService({ dataDir: folder.directory });
  await assertWhole(service, folder.directory, fates);
  const states = [...fates.values()].map(({ state }) => state);
  console.log(`uploads.test.ts: ${JSON.stringify(Object.groupBy(states, (state) => state))}`);
});

/** What was answered holds; and the folder of blobs has the bytes of the documents, and no others. */
async function assertWhole(
  service: ServiceProcess,
  dataDir: string,
  fates: ReadonlyMap<string, Fate>,
): Promise<void> {
  const { body } = await service.call('GET', '/api/workspaces/ws_home/documents');
  const found = new Map<string, string>(
    body.documents.map((document: { id: string; sha256: string }) => [document.id, document.sha256]),
  );
  for (const [id, fate] of fates) {
    if (fate.state === 'kept') expect(found.get(id)).toBe(fate.sha256);
    if (fate.state === 'gone') expect(found.has(id)).toBe(false);
  }
  for (const [id, hash] of found) {
    const raw = await fetch(`${service.url}/api/workspaces/ws_home/documents/${id}/raw`);
    expect(sha256(new Uint8Array(await raw.arrayBuffer()))).toBe(hash);
  }
  const { body: home } = await service.call('GET', '/api/workspaces/ws_home');
  const sizes = body.documents.map(({ size_bytes }: { size_bytes: number }) => size_bytes);
  expect(home.workspace).toMatchObject({
    document_count: sizes.length,
    used_bytes: sizes.reduce((sum: number, size: number) => sum + size, 0),
  });
  const expected = { blobs: [...new Set(found.values())].sort(), drafts: [] };
  await eventually(async () => {
    const { blobs, drafts } = await blobFiles(dataDir);
    return { blobs: blobs.sort(), drafts };
  }).toEqual(expected);
}

test('a workspace that was being deleted is gone after a restart, with all that was in it', {
  timeout: 300_000,
}, async () => {
  await using folder = await temporaryFolder();
  const path = await (async () => {
    await using service = await startService({ dataDir: folder.directory });
    const { body } = await service.call('POST', '/api/workspaces', { name: 'Short-lived' });
    const project = `/api/workspaces/${body.workspace.id}`;
    await Promise.all(
      Array.from({ length: 105 }, (_, i) =>
        service.call('POST', `${project}/documents/text`, { filename: `${i}.md`, content: `text ${i}` }),
      ),
    );
    expect((await blobFiles(folder.directory)).blobs).toHaveLength(105);
    // It may be killed before, while or after it is cleared: only that it was answered counts.
    expect((await service.call('DELETE', project)).status).toBe(200);
    await service.kill();
    return project;
  })();
  await using service = await startService({ dataDir: folder.directory });
  expect((await service.call('GET', `${path}/documents`)).status).toBe(404);
  await eventually(() => blobFiles(folder.directory)).toEqual({ blobs: [], drafts: [] });
});

const UPLOAD_BYTES = 50_000_000;
const UPLOADS_AT_ONCE = 4;
/**
 * Of the young generation, pieces that were not collected yet, and threads that are still getting ready: 10 to 40 MB. What the
 * bodies would take in memory is twice the bound.
 */
const UPLOAD_MEMORY_MAX_BYTES = 100_000_000;

test.runIf(process.platform === 'linux')(
  'files of 50 MB do not pass through memory',
  {
    timeout: 300_000,
  },
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService({ dataDir: folder.directory });
    await upload(`${service.url}${MEDIA}`, { filename: 'a.png', content: picture(5_000_000) });
    const contents = Array.from({ length: UPLOADS_AT_ONCE }, () => picture(UPLOAD_BYTES));
    // From here on the peak is counted anew.
    await writeFile(`/proc/${service.pid}/clear_refs`, '5');
    const beforeBytes = await memoryOf(service.pid, 'VmRSS');
    const answers = await Promise.all(
      contents.map((content) => upload(`${service.url}${MEDIA}`, { filename: 'a.png', content })),
    );
    const peakBytes = await memoryOf(service.pid, 'VmHWM');
    for (const [i, { status, body }] of answers.entries()) {
      expect(status).toBe(200);
      const { body: found } = await service.call('GET', `/api/workspaces/ws_home/documents/${body.doc_id}`);
      const content = contents[i] as Buffer;
      expect(found.document).toMatchObject({ size_bytes: content.length, sha256: sha256(content) });
    }
    const tookMb = Math.round((peakBytes - beforeBytes) / 1e6);
    console.log(`uploads.test.ts: ${UPLOADS_AT_ONCE} files of 50 MB took ${tookMb} MB of memory`);
    expect(peakBytes - beforeBytes).toBeLessThan(UPLOAD_MEMORY_MAX_BYTES);
  },
);

async function memoryOf(pid: number, name: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
}

/** The moments of the kills are what is tested: these waits are for time itself. */
function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
