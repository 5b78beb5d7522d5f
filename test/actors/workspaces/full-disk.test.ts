// An upload to a disk that is full. The service has a disk of its own, which takes the right to mount one.

import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { openProject } from '../../support/documents.ts';
import { canMountDisk, startService } from '../../support/service-process.ts';
import { temporaryFolder } from '../../support/storage.ts';
import { blobFiles, upload } from '../../support/uploads.ts';

const DISK_MEGABYTES = 48;
const FILE_BYTES = 6 * 1024 * 1024;
const PDF_BEGINNING = Buffer.from('%PDF-1.4\n');

test.skipIf(!canMountDisk())(
  'an upload that the disk has no room for is refused, leaves nothing behind, and succeeds when there is room',
  { timeout: 120_000 },
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService({
      dataDir: folder.directory,
      diskMegabytes: DISK_MEGABYTES,
    });
    const project = await openProject(service);
    const documents = `${service.url}/api/workspaces/${project.id}/documents`;
    // Its disk is seen through its eyes.
    const files = () => blobFiles(`/proc/${service.pid}/root${folder.directory}`);
    const used = async () => (await service.call('GET', `/api/workspaces/${project.id}`)).body.workspace;
    // Damaged, so that reading it is over at once and takes no room.
    const file = (filename: string) => ({
      filename,
      content: Buffer.concat([PDF_BEGINNING, randomBytes(FILE_BYTES - PDF_BEGINNING.length)]),
    });
    const first = await upload(documents, file('first.pdf'));
    expect(first.status).toBe(201);
    await project.settled(first.body.document.id);
    const before = { files: await files(), used: await used() };
    expect(before.files).toMatchObject({ blobs: [expect.any(String)], drafts: [] });

    await service.fillDisk();
    const refused = await upload(documents, file('second.pdf'));
    expect(refused).toMatchObject({ status: 503, body: { error: expect.stringMatching(/disk .*is full/) } });
    expect(JSON.stringify(refused.body)).not.toContain('second');
    expect({ files: await files(), used: await used() }).toEqual(before);
    expect((await service.call('GET', '/api/health')).status).toBe(200);

    await service.freeDisk();
    const second = file('second.pdf');
    const accepted = await upload(documents, second);
    expect(accepted.status).toBe(201);
    const raw = await fetch(`${documents}/${accepted.body.document.id}/raw`);
    expect(Buffer.from(await raw.arrayBuffer()).equals(second.content)).toBe(true);
    expect(await used()).toMatchObject({ document_count: 2, used_bytes: 2 * FILE_BYTES });
    expect((await files()).drafts).toEqual([]);
    expect(service.stderr).toBe('');
  },
);
