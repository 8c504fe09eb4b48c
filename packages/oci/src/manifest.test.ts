import { describe, expect, it } from 'vitest';
import { artifactManifest, getArtifactType, mainLayer, platformIndex } from './artifact.js';
import { computeDigest } from './digest.js';
import { MAX_MANIFEST_BYTES, MEDIA_TYPES, readManifest } from './manifest.js';

const bytes = (value: unknown) =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const descriptor = { mediaType: 'text/plain', digest: `sha256:${'a'.repeat(64)}`, size: 1 };
const image = { schemaVersion: 2, mediaType: MEDIA_TYPES.image, config: descriptor, layers: [descriptor] };
const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [descriptor] };
const LAYER = 'application/vnd.cncf.kubernetes.krm-func-catalog.layer.v1+yaml';

const annotations = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, '']));

describe('readManifest', () => {
  it('refuses a field that occurs twice in one object, however it is written', () => {
    const repeated = (text: string) => () => readManifest(Buffer.from(text), MEDIA_TYPES.image);
    const text = JSON.stringify({ ...image, annotations: { a: 'x":1,"x":', b: '{' } });
    expect(repeated(text)).not.toThrow();
    expect(repeated(text.replace('{', '{"layers" : [],'))).toThrow('the field "layers" occurs twice');
    expect(repeated(text.replace('"b"', '"\\u0061"'))).toThrow('the field "a" occurs twice');
  });

  it('parses images and indexes with unknown fields', () => {
    expect(readManifest(bytes({ ...image, more: [1] }), MEDIA_TYPES.image)).toMatchObject({ kind: 'image' });
    // Keys of a map are not fields.
    const cased = readManifest(bytes({ ...image, annotations: { a: '1', A: '2' } }), MEDIA_TYPES.image);
    expect(cased).toMatchObject({ image: { annotations: { a: '1', A: '2' } } });
    expect(
      readManifest(bytes({ ...image, annotations: annotations(1_000) }), MEDIA_TYPES.image),
    ).toMatchObject({
      image: { annotations: { k999: '' } },
    });
    expect(readManifest(bytes({ ...index, subject: descriptor }), MEDIA_TYPES.index)).toMatchObject({
      kind: 'index',
      index: { subject: descriptor },
    });
  });

  it.each<[string, unknown, string]>([
    [
      'an image with the media type of an index',
      { ...image, mediaType: MEDIA_TYPES.index },
      MEDIA_TYPES.image,
    ],
    ['manifests and layers in an image', { ...image, manifests: [] }, MEDIA_TYPES.image],
    ['layers and manifests in an index', { ...index, layers: [] }, MEDIA_TYPES.index],
    ['a config and manifests in an index', { ...index, config: descriptor }, MEDIA_TYPES.index],
    ['another schema version', { ...image, schemaVersion: 1 }, MEDIA_TYPES.image],
    ['invalid JSON', '{', MEDIA_TYPES.image],
    ['nothing', '', MEDIA_TYPES.image],
    ['a list', [], MEDIA_TYPES.image],
    ['null', 'null', MEDIA_TYPES.index],
    ['deep nesting', '['.repeat(100_000), MEDIA_TYPES.image],
    ['a negative size', { ...image, layers: [{ ...descriptor, size: -1 }] }, MEDIA_TYPES.image],
    ['a size of half a byte', { ...image, layers: [{ ...descriptor, size: 0.5 }] }, MEDIA_TYPES.image],
    ['an invalid digest', { ...image, config: { ...descriptor, digest: 'sha256:../x' } }, MEDIA_TYPES.image],
    [
      'an annotation that is not a string',
      { ...image, layers: [{ ...descriptor, annotations: { a: 1 } }] },
      MEDIA_TYPES.image,
    ],
    ['too many annotations', { ...image, annotations: annotations(1_001) }, MEDIA_TYPES.image],
    ['annotations that are a list', { ...image, annotations: ['a'] }, MEDIA_TYPES.image],
    ['too many layers', { ...image, layers: Array(1_001).fill(descriptor) }, MEDIA_TYPES.image],
    ['too many bytes', `${' '.repeat(MAX_MANIFEST_BYTES)}{}`, MEDIA_TYPES.image],
    // Go reads each as the known field.
    ['Layers beside layers', { ...image, Layers: [] }, MEDIA_TYPES.image],
    ['layers with a long s', { ...image, 'layer\u017f': [] }, MEDIA_TYPES.image],
    ['MANIFESTS in an image', { ...image, MANIFESTS: [] }, MEDIA_TYPES.image],
    ['Subject in an index', { ...index, Subject: descriptor }, MEDIA_TYPES.index],
    ['a second digest', { ...image, layers: [{ ...descriptor, Digest: '' }] }, MEDIA_TYPES.image],
    ['other URLs', { ...image, config: { ...descriptor, URLs: [] } }, MEDIA_TYPES.image],
    [
      'another system',
      { ...index, manifests: [{ ...descriptor, platform: { os: 'linux', architecture: 'arm', OS: 'x' } }] },
      MEDIA_TYPES.index,
    ],
    ['another media type', image, 'text/html'],
    ['the media type of an old manifest', image, 'application/vnd.docker.distribution.manifest.v1+prettyjws'],
  ])('rejects %s', (_, value, mediaType) => {
    const began = process.cpuUsage();
    expect(() => readManifest(bytes(value), mediaType)).toThrowError(
      expect.objectContaining({ code: 'invalid-document' }),
    );
    expect(process.cpuUsage(began).user).toBeLessThan(10_000_000);
  });
});

describe('artifacts', () => {
  const file = { title: 'catalog.yaml', mediaType: LAYER, digest: computeDigest(bytes('x')), size: 1 };
  const created = '1970-01-01T00:00:00Z';
  const manifest = artifactManifest({
    type: 'catalog',
    files: [file],
    created,
    annotations: { b: '2', a: '1' },
  });

  it('have the same bytes for the same input', () => {
    const again = artifactManifest({
      type: 'catalog',
      files: [file],
      created,
      annotations: { a: '1', b: '2' },
    });
    expect(again).toEqual(manifest);
    // A change of these bytes changes the digests of all artifacts that are pushed again.
    expect(computeDigest(manifest)).toBe(
      'sha256:e6041adfcf590aa8a0f11c7e1c7226bbaa9ea03114afa161d47937f7f777de86',
    );
  });

  it('can be read after writing', () => {
    const read = readManifest(manifest, MEDIA_TYPES.image);
    expect(getArtifactType(read)).toBe('catalog');
    if (read.kind !== 'image') throw new Error('not an image');
    expect(mainLayer(read.image, 'catalog').digest).toBe(file.digest);
    expect(() => mainLayer(read.image, 'definition')).toThrowError(
      expect.objectContaining({ code: 'invalid-document', message: expect.stringContaining(LAYER) }),
    );
    const both = { ...read.image, layers: [...read.image.layers, ...read.image.layers] };
    expect(() => mainLayer(both, 'catalog')).toThrowError(
      expect.objectContaining({ code: 'invalid-document' }),
    );
  });

  it('for several platforms are an index', () => {
    const platform = { os: 'linux', architecture: 'amd64' };
    const written = platformIndex({ type: 'exec', manifests: [{ platform, bytes: manifest }], created });
    const read = readManifest(written, MEDIA_TYPES.index);
    expect(getArtifactType(read)).toBe('exec');
    expect(read).toMatchObject({ index: { manifests: [{ digest: computeDigest(manifest), platform }] } });
  });

  it('without an artifact type are identified by their config or layer', () => {
    const layers = [{ ...descriptor, mediaType: LAYER }];
    const byLayer = readManifest(bytes({ ...image, layers }), MEDIA_TYPES.image);
    expect(getArtifactType(byLayer)).toBe('catalog');
    const config = { ...descriptor, mediaType: 'application/vnd.cncf.kubernetes.krm-func-runtime-exec.v1' };
    const starlark = 'application/vnd.cncf.kubernetes.krm-func-runtime-starlark.layer.v1';
    const repeated = { ...image, config, layers: [{ ...descriptor, mediaType: starlark }] };
    const exec = readManifest(bytes(repeated), MEDIA_TYPES.image);
    expect(getArtifactType(exec)).toBe('exec');
    // KEP-2906 repeats the type of Starlark for executables.
    if (exec.kind === 'image') expect(mainLayer(exec.image, 'exec').mediaType).toBe(starlark);
    expect(getArtifactType(readManifest(bytes(image), MEDIA_TYPES.image))).toBeUndefined();
  });
});
