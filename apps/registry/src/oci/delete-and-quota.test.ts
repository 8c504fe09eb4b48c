import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { imageManifest, readError, testClient } from '../testing/oci.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const REPOSITORY = 'team/tools';
let registry: TestRegistry;
const client = testClient(() => registry);
const open = async (config: Partial<TestRegistry['parts']['config']> = {}) => {
  registry = await openTestRegistry({ config, start: false });
};
beforeEach(() => open());
afterEach(() => registry.close());

const put = (manifest: object | string, reference = 'v1', type?: string) =>
  client.put(REPOSITORY, reference, manifest, type === undefined ? {} : { type });

describe('deleting', () => {
  it.each(['functions/example.com/x', 'catalogs/x', 'team/x'])(
    'finds the deleted content in %s',
    async (name) => {
      for (const path of [`manifests/${sha256('x')}`, `blobs/${sha256('x')}`]) {
        const refused = await readError(await client.request('DELETE', `${name}/${path}`));
        expect([path, refused.status]).toEqual([path, 404]);
      }
    },
  );
});

describe('a repository with a quota', () => {
  const MEBIBYTE = 1_048_576;
  beforeEach(async () => {
    await registry.close();
    await open({ repositoryMebibytes: 1 });
  });

  it('accepts a blob up to the quota, and refuses one more byte, in one request and in several', async () => {
    await client.blob(REPOSITORY, 'x'.repeat(MEBIBYTE - 10));
    const refused = {
      status: 403,
      code: 'DENIED',
      message: expect.stringMatching(
        /team\/tools: quota exceeded: \d+ of 1048576 bytes.*KRMHUB_REPOSITORY_MEBIBYTES/,
      ),
      detail: { bytes: MEBIBYTE + 1, quota: MEBIBYTE },
    };
    const whole = await client.request(
      'POST',
      `${REPOSITORY}/blobs/uploads/?digest=${sha256('01234567890')}`,
      {
        body: '01234567890',
      },
    );
    expect(await readError(whole)).toEqual(refused);
    const { headers } = await client.request('POST', `${REPOSITORY}/blobs/uploads/`);
    const at = headers.get('location')!.slice('/v2/'.length);
    expect((await client.request('PATCH', at, { body: '0123456' })).status).toBe(202);
    expect(await readError(await client.request('PATCH', at, { body: '7890' }))).toEqual(refused);
    await client.blob(REPOSITORY, '0123456789');
    expect(await registry.parts.store.countBytes(REPOSITORY)).toBe(MEBIBYTE);
    await client.blob('team/other', '01234567890');
  });

  it('refuses a manifest and a mount over the quota', async () => {
    await client.blob('team/other', 'x'.repeat(100));
    await client.blob(REPOSITORY, 'y'.repeat(MEBIBYTE - 99));
    const mount = `${REPOSITORY}/blobs/uploads/?mount=${sha256('x'.repeat(100))}&from=team/other`;
    expect(await readError(await client.request('POST', mount))).toMatchObject({
      status: 403,
      code: 'DENIED',
    });
    const refused = await readError(await put(imageManifest([])));
    expect(refused).toMatchObject({ status: 403, code: 'DENIED', detail: { quota: MEBIBYTE } });
    expect((await client.request('GET', `${REPOSITORY}/manifests/v1`)).status).toBe(404);
  });

  it('accepts concurrent pushes while there is room, and deletes the files of the others', async () => {
    const contents = ['a', 'b', 'c'].map((letter) => letter.repeat(500_000));
    const responses = await Promise.all(
      contents.map((content) =>
        client.request('POST', `${REPOSITORY}/blobs/uploads/?digest=${sha256(content)}`, { body: content }),
      ),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 201, 403]);
    await registry.parts.collector.stop();
    const files: string[] = [];
    for await (const file of registry.parts.artifacts.list()) files.push(file);
    expect(files).toHaveLength(2);
  });
});
