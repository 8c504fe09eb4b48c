import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { SourceAddress } from '@krmhub/catalog';
import {
  ARTIFACT_MEDIA_TYPES,
  artifactManifest,
  computeDigest,
  MEDIA_TYPES,
  type OciDigest,
  platformIndex,
} from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema/error';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { FetcherOptions } from './context.js';
import type { DownloadRequest } from './download-request.js';
import { asking, TestRepositories } from './testing/repositories.js';
import {
  catchFailure,
  httpServer,
  type TestServer,
  temporaryFolder,
  testFetcher,
} from './testing/servers.js';

const { folder, remove } = temporaryFolder();
const servers: TestServer[] = [];
const MEGABYTE = Buffer.alloc(1 << 20, 'x');

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
afterAll(remove);

async function serving<Started extends TestServer>(starting: Promise<Started>): Promise<Started> {
  const server = await starting;
  servers.push(server);
  return server;
}

const collect = async (body: AsyncIterable<Uint8Array>) => {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
};

function downloading(
  address: SourceAddress,
  consume: (body: AsyncIterable<Uint8Array>) => Promise<unknown> = collect,
  more: Partial<DownloadRequest> = {},
  options: Partial<FetcherOptions> = {},
) {
  return testFetcher(folder, options).download(
    { address, maxBytes: 1 << 21, platform: { os: 'linux', architecture: 'amd64' }, ...more },
    consume,
  );
}
const http = (url: string): SourceAddress => ({ type: 'http', url });

describe('a download with HTTP', () => {
  it('is streamed with its bytes as they are stored', async () => {
    const server = await serving(httpServer((_, response) => response.end(MEGABYTE)));
    const progress: number[] = [];
    const bytes = await downloading(http(server.origin), collect, {
      onProgress: (count) => progress.push(count),
    });
    expect(MEGABYTE.equals(bytes as Buffer)).toBe(true);
    expect(progress.at(-1)).toBe(MEGABYTE.length);
    expect(progress.length).toBeGreaterThan(1);
    expect(server.asked[0]!.headers['accept-encoding']).toBe('identity');
  });

  it('begins again after a temporary failure', async () => {
    let times = 0;
    const server = await serving(
      httpServer((_, response) => {
        times++;
        response.writeHead(200, { 'Content-Length': MEGABYTE.length });
        if (times === 1) response.write(MEGABYTE.subarray(0, 1_000), () => response.destroy());
        else response.end(MEGABYTE);
      }),
    );
    let begun = 0;
    const bytes = await downloading(http(server.origin), (body) => {
      begun++;
      return collect(body);
    });
    expect([begun, MEGABYTE.equals(bytes as Buffer)]).toEqual([2, true]);
  });

  it('ends at the limit, also if the server announces less', async () => {
    const announced = await serving(httpServer((_, response) => response.end(MEGABYTE)));
    const chunked = await serving(
      httpServer((_, response) => {
        const send = () => response.write(MEGABYTE, (error) => (error ? undefined : send()));
        send();
      }),
    );
    for (const server of [announced, chunked]) {
      const failure = await catchFailure(downloading(http(server.origin), collect, { maxBytes: 100_000 }));
      expect(failure).toMatchObject({ problem: 'too-large' });
    }
  });

  it('passes on the error of the consumer, without a retry', async () => {
    const server = await serving(httpServer((_, response) => response.end(MEGABYTE)));
    const mismatch = new KrmhubError('digest-mismatch', 'another digest');
    const refused = downloading(http(server.origin), async (body) => {
      await collect(body);
      throw mismatch;
    });
    await expect(refused).rejects.toBe(mismatch);
    expect(server.asked).toHaveLength(1);
  });

  it('does not follow a redirect to an address that is not allowed', async () => {
    const open = await serving(
      httpServer((_, response) =>
        response.writeHead(302, { Location: 'http://metadata.example.com/' }).end(),
      ),
    );
    const resolve = async () => [{ address: '169.254.169.254', family: 4 }];
    const failure = await catchFailure(downloading(http(open.origin), collect, {}, { resolve }));
    expect(failure).toMatchObject({ problem: 'forbidden-address' });
    expect(failure.message).toContain('metadata.example.com (169.254.169.254)');
  });
});

describe('a download of an OCI artifact', () => {
  const files: Record<string, { type?: string; body: Uint8Array }> = {};
  const put = (kind: 'manifests' | 'blobs', body: Uint8Array, type?: string): OciDigest => {
    const digest = computeDigest(body);
    files[`/v2/team/exec/${kind}/${digest}`] = { body, ...(type === undefined ? {} : { type }) };
    return digest;
  };
  const artifact = (content: string, type: 'exec' | 'catalog' = 'exec') => {
    const body = Buffer.from(content);
    const digest = put('blobs', body);
    const bytes = Buffer.from(
      artifactManifest({
        type,
        files: [{ title: 'fn', mediaType: ARTIFACT_MEDIA_TYPES[type].layer, digest, size: body.length }],
      }),
    );
    return { bytes, digest: put('manifests', bytes, MEDIA_TYPES.image), layer: digest };
  };
  const registry = () =>
    serving(
      httpServer((request, response) => {
        const file = files[request.url!];
        if (file === undefined) response.writeHead(404).end();
        else
          response.writeHead(200, { 'Content-Type': file.type ?? 'application/octet-stream' }).end(file.body);
      }),
    );
  const oci = ({ port }: TestServer, digest: OciDigest): SourceAddress => ({
    type: 'oci',
    reference: `127.0.0.1:${port}/team/exec@${digest}`,
  });

  it('is that of the platform', async () => {
    const [arm, amd] = [artifact('for arm'), artifact('for amd')];
    const platforms = [
      { platform: { os: 'linux', architecture: 'arm64' }, bytes: arm.bytes },
      { platform: { os: 'linux', architecture: 'amd64' }, bytes: amd.bytes },
    ];
    const index = Buffer.from(
      platformIndex({ type: 'exec', manifests: platforms, created: '2026-01-01T00:00:00Z' }),
    );
    const digest = put('manifests', index, MEDIA_TYPES.index);
    const server = await registry();
    const manifests: string[] = [];
    const bytes = await downloading(oci(server, digest), collect, {
      onManifest: async (manifest) => void manifests.push(computeDigest(manifest)),
    });
    expect(String(bytes)).toBe('for amd');
    expect(manifests).toEqual([digest, amd.digest]);
    const missing = downloading(oci(server, digest), collect, {
      platform: { os: 'plan9', architecture: 'amd64' },
    });
    expect((await catchFailure(missing)).message).toBe('team/exec has no manifest for plan9/amd64');
  });

  it('is refused for another type, and for other content', async () => {
    const catalog = artifact('kind: Catalog', 'catalog');
    const server = await registry();
    expect((await catchFailure(downloading(oci(server, catalog.digest)))).message).toContain(
      'is not an executable: it is an artifact of the type catalog',
    );
    const exec = artifact('honest');
    files[`/v2/team/exec/blobs/${exec.layer}`] = { body: Buffer.from('hacked') };
    await expect(downloading(oci(server, exec.digest))).rejects.toMatchObject({ code: 'digest-mismatch' });
    const other = artifact('other');
    files[`/v2/team/exec/manifests/${exec.digest}`] = { type: MEDIA_TYPES.image, body: other.bytes };
    await expect(downloading(oci(server, exec.digest))).rejects.toMatchObject({ code: 'digest-mismatch' });
  });
});

describe('a download from another host', () => {
  it('reads a file of the folder of the catalog, if that is a file too', async () => {
    writeFileSync(path.join(folder, 'fn.sh'), '#!/bin/sh\n');
    const file: SourceAddress = { type: 'file', path: 'fn.sh' };
    expect(String(await downloading(file, collect, {}, { fileFolder: folder }))).toBe('#!/bin/sh\n');
    expect(await catchFailure(downloading(file))).toMatchObject({ problem: 'forbidden-address' });
    const options = { fileFolder: folder };
    expect(await catchFailure(downloading(file, collect, { maxBytes: 3 }, options))).toMatchObject({
      problem: 'too-large',
    });
    expect(await catchFailure(downloading({ ...file, path: '.' }, collect, {}, options))).toMatchObject({
      problem: 'bad-answer',
    });
  });

  it('reads a file of a git repository', async () => {
    const repositories = new TestRepositories();
    await repositories.start();
    try {
      repositories.write('team/fn', 'from git');
      repositories.commit('an executable');
      repositories.publish('with-executable.git');
      const { address } = asking(repositories.at('team/fn', 'with-executable.git'));
      expect(String(await downloading(address))).toBe('from git');
    } finally {
      await repositories.stop();
    }
  });
});
