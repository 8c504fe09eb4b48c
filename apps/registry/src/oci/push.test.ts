import { MAX_MANIFEST_BYTES, MEDIA_TYPES } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import {
  descriptor,
  EMPTY_DESCRIPTOR,
  imageManifest,
  indexManifest,
  manifestDigest,
  readError,
  testClient,
} from '../testing/oci.js';
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

describe('a pushed manifest', () => {
  it('may be an index of stored manifests, also an empty one', async () => {
    const image = imageManifest([]);
    await put(image, manifestDigest(image));
    for (const [at, index] of [
      indexManifest([image]),
      indexManifest([]),
      indexManifest([indexManifest([])]),
    ].entries()) {
      const response = await put(index, `v${at}`);
      expect([at, response.status, response.headers.get('oci-subject')]).toEqual([at, 201, null]);
    }
  });

  it('may name a blob twice, and foreign layers that are not stored', async () => {
    await client.blob(REPOSITORY, 'layer');
    const twice = [descriptor('layer'), descriptor('layer')];
    expect((await put(imageManifest([], { config: twice[0], layers: twice }))).status).toBe(201);
    const foreign = [
      descriptor('a', 'application/vnd.oci.image.layer.nondistributable.v1.tar+gzip'),
      descriptor('b', 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip'),
      { ...descriptor('c'), urls: ['https://example.com/c'] },
    ];
    expect((await put(imageManifest([], { layers: foreign }))).status).toBe(201);
  });

  it('can be put under several tags and its digest in one request', async () => {
    const digest = manifestDigest(imageManifest([]));
    const response = await put(imageManifest([]), `${digest}?tag=a&tag=b&tag=a`);
    expect([response.status, response.headers.get('oci-tag')]).toEqual([201, 'a, b']);
    const tags = (count: number) => Array.from({ length: count }, (_, at) => `tag=t${at}`).join('&');
    const { maxTagsAtOnce } = SERVER_LIMITS;
    expect((await put(imageManifest([]), `${digest}?${tags(maxTagsAtOnce)}`)).status).toBe(201);
    expect(await readError(await put(imageManifest([]), `${digest}?${tags(maxTagsAtOnce + 1)}`))).toEqual({
      status: 400,
      code: 'MANIFEST_INVALID',
      message: `too many tags: the limit is ${maxTagsAtOnce}`,
    });
    const wrong = await readError(await put(imageManifest([]), `${digest}?tag=c&tag=-x`));
    expect([wrong.code, wrong.message]).toEqual(['MANIFEST_INVALID', '"-x" is not a valid tag']);
    const list = await client.request('GET', `${REPOSITORY}/tags/list`);
    const { tags: named } = (await list.json()) as { tags: string[] };
    expect([named.length, named.includes('c')]).toEqual([2 + maxTagsAtOnce, false]);
  });
});

describe('an invalid manifest', () => {
  const deep = (count: number) => `${'['.repeat(count)}${']'.repeat(count)}`;
  const withField = (field: string, json: string) =>
    `{"${field}":${json},${JSON.stringify(imageManifest([])).slice(1)}`.replace(
      new RegExp(`(?<!^\\{)"${field}":"[^"]*",`),
      '',
    );
  const other = (more: object) => JSON.stringify({ ...imageManifest([]), ...more });

  it.each<[string, string | object, RegExp, string?]>([
    ['no JSON', '{', /invalid manifest: not valid JSON/],
    ['nothing', '', /invalid manifest: not valid JSON/],
    ['null', 'null', /invalid manifest: the document root: /],
    ['a text', '"x"', /invalid manifest: the document root: /],
    ['null bytes', '\0\0\0', /invalid manifest: not valid JSON/],
    ['an open nest', '['.repeat(1_000_000), /invalid manifest: not valid JSON/],
    ['a deep nest', deep(1_000_000), /invalid manifest: the document root: /],
    [
      'a media type that is a deep nest',
      withField('mediaType', deep(500_000)),
      /its media type is .*, but its field mediaType is not a string/,
    ],
    [
      'layers that are a deep nest',
      other({ layers: 0 }).replace('0', deep(500_000)),
      /invalid manifest: config.digest: Too big/,
    ],
    [
      'another media type than it was sent with',
      other({ mediaType: MEDIA_TYPES.index }),
      /its media type is .*, but its field mediaType is "application/,
      MEDIA_TYPES.image,
    ],
    [
      'a media type that is a number',
      other({ mediaType: 7 }),
      /its field mediaType is not a string/,
      MEDIA_TYPES.image,
    ],
    [
      'a media type that is null',
      other({ mediaType: null }),
      /its field mediaType is not a string/,
      MEDIA_TYPES.image,
    ],
    ['manifests beside layers', other({ manifests: [] }), /manifests: must not be combined with layers/],
    [
      'layers beside manifests',
      indexManifest([], { layers: [] }),
      /layers: must not be combined with manifests/,
    ],
    ['a schema version of a text', other({ schemaVersion: '2' }), /schemaVersion/],
    ['no configuration', other({ config: undefined }), /config/],
    ['a list as configuration', other({ config: [] }), /config/],
    ['a layer that is null', other({ layers: [null] }), /layers\.0/],
    [
      'a digest without its algorithm',
      other({ layers: [{ ...EMPTY_DESCRIPTOR, digest: 'a'.repeat(64) }] }),
      /digest/,
    ],
    [
      'a digest in upper case',
      other({ config: { ...EMPTY_DESCRIPTOR, digest: `sha256:${'A'.repeat(64)}` } }),
      /digest/,
    ],
    ['a digest that climbs', other({ config: { ...EMPTY_DESCRIPTOR, digest: 'sha256:../../x' } }), /digest/],
    ['a size that is a text', other({ config: { ...EMPTY_DESCRIPTOR, size: '2' } }), /size/],
    [
      'a size beyond numbers',
      other({ config: EMPTY_DESCRIPTOR }).replace('"size":2', '"size":1e400'),
      /size/,
    ],
    ['a subject that is a text', other({ subject: sha256('x') }), /subject/],
    ['a subject without a digest', other({ subject: { mediaType: 'a/b', size: 1 } }), /subject/],
    ['an annotation that is a number', other({ annotations: { a: 1 } }), /annotations/],
    ['an artifact type that is a list', other({ artifactType: ['a/b'] }), /artifactType/],
    ['too many layers', other({ layers: Array(1_001).fill(EMPTY_DESCRIPTOR) }), /layers/],
    [
      'a media type of no manifest',
      imageManifest([]),
      /"text\/html" is not a manifest media type/,
      'text/html',
    ],
    [
      'the type of a form',
      imageManifest([]),
      /is not a manifest media type/,
      'multipart/form-data; boundary=x',
    ],
    ['a media type without a name', imageManifest([]), /has no media type/, ' ; charset=utf-8'],
  ])('is refused with a reason for %s', async (_, manifest, message, type) => {
    const refused = await readError(await put(manifest, 'v1', type ?? undefined));
    expect([refused.status, refused.code]).toEqual([400, 'MANIFEST_INVALID']);
    expect(refused.message).toMatch(message);
    expect(refused.message.length).toBeLessThan(1_000);
    expect((await client.request('GET', `${REPOSITORY}/tags/list`)).status).toBe(404);
  });

  it('is refused over the size limit, and accepted at the limit', async () => {
    const text = JSON.stringify(imageManifest([]));
    const padded = (size: number) => text + ' '.repeat(size - text.length);
    expect((await put(padded(MAX_MANIFEST_BYTES))).status).toBe(201);
    for (const size of [MAX_MANIFEST_BYTES + 1, 5_000_000]) {
      const response = await put(padded(size), 'v2');
      expect(response.headers.get('connection')).toBe('close');
      expect(await readError(response)).toEqual({
        status: 413,
        code: 'SIZE_INVALID',
        message: `the body exceeds ${MAX_MANIFEST_BYTES} bytes`,
        detail: { code: 'too-large' },
      });
    }
    expect((await client.request('GET', `${REPOSITORY}/manifests/v2`)).status).toBe(404);
  });

  it('is refused with a content coding', async () => {
    const response = await client.put(REPOSITORY, 'v1', imageManifest([]), {
      type: MEDIA_TYPES.image,
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect(await readError(response)).toMatchObject({ status: 415, code: 'MANIFEST_INVALID' });
  });

  it('is refused if the digest differs from the path', async () => {
    const text = JSON.stringify(imageManifest([]));
    const refused = await readError(await put(`${text}  `, manifestDigest(text)));
    expect([refused.status, refused.code]).toEqual([400, 'DIGEST_INVALID']);
    expect(refused.message).toContain(`expected ${manifestDigest(text)}`);
    const bad = await readError(await put(text, 'sha256:baddigeststring'));
    expect([bad.status, bad.code]).toEqual([400, 'DIGEST_INVALID']);
  });

  it('is refused with a list of everything that the repository lacks', async () => {
    const layers = ['one', 'two', 'three', 'four'];
    await client.blob('team/other', 'one');
    await client.blob(REPOSITORY, 'two');
    const refused = await readError(await put(imageManifest(layers)));
    expect([refused.status, refused.code]).toEqual([404, 'MANIFEST_BLOB_UNKNOWN']);
    const missing = ['one', 'three', 'four'].map((layer) => ({ digest: sha256(layer) }));
    expect(refused.detail).toEqual(missing);
    expect(refused.message).toContain(
      `missing in this repository: ${missing.map(({ digest }) => digest).join(', ')}.`,
    );
    const child = await readError(await put(indexManifest([imageManifest([])])));
    expect(child).toMatchObject({
      code: 'MANIFEST_BLOB_UNKNOWN',
      detail: [{ digest: manifestDigest(imageManifest([])) }],
    });
    const many = Array.from({ length: 1_000 }, (_, at) => `layer ${at}`);
    const long = await readError(await put(imageManifest(many)));
    expect((long.detail as unknown[]).length).toBe(1_000);
    expect(long.message.length).toBeLessThan(600);
  });
});

describe('a path', () => {
  const paths: [path: string, status: number, code: string][] = [
    ['Team/tools/manifests/v1', 400, 'NAME_INVALID'],
    ['team//tools/manifests/v1', 400, 'NAME_INVALID'],
    ['team/-tools/manifests/v1', 400, 'NAME_INVALID'],
    ['team%2Ftools/manifests/v1', 400, 'NAME_INVALID'],
    ['%74eam/manifests/v1', 400, 'NAME_INVALID'],
    ['team%00/manifests/v1', 400, 'NAME_INVALID'],
    ['team/%2e%2e%2fx/manifests/v1', 400, 'NAME_INVALID'],
    ['team/..%2fx/manifests/v1', 400, 'NAME_INVALID'],
    ['t\u00e9am/manifests/v1', 400, 'NAME_INVALID'],
    [`${'a'.repeat(256)}/manifests/v1`, 400, 'NAME_INVALID'],
    [`${'a/'.repeat(150)}a/manifests/v1`, 400, 'NAME_INVALID'],
    ['../../api/v1/tokens', 404, ''],
    ['team/manifests/', 404, 'NAME_UNKNOWN'],
    ['team/manifests/a/b', 404, 'NAME_UNKNOWN'],
    ['/manifests/v1', 400, 'NAME_INVALID'],
    ['manifests/v1', 400, 'NAME_INVALID'],
    ['team/tags/other', 404, 'NAME_UNKNOWN'],
    ['team', 404, 'NAME_UNKNOWN'],
    ['team/blobs/sha256:x', 400, 'DIGEST_INVALID'],
    [`team/blobs/md5:${'a'.repeat(32)}`, 400, 'DIGEST_INVALID'],
    [`team/blobs/sha256%3A${'a'.repeat(64)}`, 400, 'DIGEST_INVALID'],
    ['team/referrers/v1', 400, 'DIGEST_INVALID'],
    ['team/manifests/sha256:totallywrong', 400, 'DIGEST_INVALID'],
    ['team/manifests/.INVALID', 404, 'MANIFEST_UNKNOWN'],
    [`team/manifests/${'a'.repeat(300)}`, 404, 'MANIFEST_UNKNOWN'],
    ['team/manifests/v%31', 404, 'MANIFEST_UNKNOWN'],
    ['team/manifests/%00', 404, 'MANIFEST_UNKNOWN'],
  ];
  it.each(paths.filter(([, , code]) => code !== ''))('%s responds %d %s', async (path, status, code) => {
    const refused = await readError(await client.request('GET', path, { authorization: '' }));
    expect([refused.status, refused.code]).toEqual([status, code]);
    expect((await client.request('HEAD', path, { authorization: '' })).status).toBe(status);
  });

  it('with dot segments is read as its normalized path', async () => {
    await client.image('team/x', 'v1', []);
    expect((await client.request('GET', 'team/y/../x/manifests/v1')).status).toBe(200);
    expect((await client.request('GET', '../api/v1/tokens', { authorization: '' })).status).toBe(401);
  });

  it('with the longest possible name is accepted', async () => {
    const name = `${'a/'.repeat(127)}a`;
    expect(name.length).toBe(255);
    await client.image(name, 'v1', ['layer']);
    expect((await client.request('GET', `${name}/manifests/v1`)).status).toBe(200);
  });

  it.each(['-x', '.x', 'a b', 'a%20b', 'a+b', 'v%31', '%00', 'a'.repeat(129), 'latest%00', 'é'])(
    'with the tag %s accepts no manifest',
    async (tag) => {
      const refused = await readError(await put(imageManifest([]), tag));
      expect([refused.status, refused.code]).toEqual([400, 'MANIFEST_INVALID']);
      expect(refused.message).toContain('is not a valid tag');
    },
  );

  it('with the longest tag accepts a manifest', async () => {
    expect((await put(imageManifest([]), 'a'.repeat(128))).status).toBe(201);
  });

  it.each([
    ['POST', '', 'GET, HEAD'],
    ['PUT', '_catalog', 'GET, HEAD'],
    ['POST', 'token', 'GET, HEAD'],
    ['DELETE', 'team/tags/list', 'GET, HEAD'],
    ['PATCH', 'team/manifests/v1', 'GET, HEAD, PUT, DELETE'],
    ['PUT', `team/blobs/${sha256('')}`, 'GET, HEAD, DELETE'],
    ['GET', 'team/blobs/uploads/', 'POST'],
    ['GET', 'team/blobs/uploads', 'POST'],
    ['DELETE', `team/referrers/${sha256('')}`, 'GET, HEAD'],
    ['OPTIONS', 'team/manifests/v1', 'GET, HEAD, PUT, DELETE'],
  ])('responds 405 to %s of %s', async (method, path, allow) => {
    const response = await client.request(method, path);
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
    expect((await readError(response)).code).toBe('UNSUPPORTED');
  });
});
