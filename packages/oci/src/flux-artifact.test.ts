import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { tarArchive } from './archive.js';
import { getArtifactType } from './artifact.js';
import { computeDigest } from './digest.js';
import { FLUX_MEDIA_TYPES, fluxArtifact, REVISION, SOURCE } from './flux-artifact.js';
import { MEDIA_TYPES, readManifest, requiredDigests } from './manifest.js';

const files = [{ name: 'app.yaml', bytes: Buffer.from('kind: List\n') }];
const created = '1970-01-01T00:00:00Z';
const annotations = { [SOURCE]: 'https://git.example.com/app', [REVISION]: 'main@sha1:0f0f' };

describe('an artifact of Flux', () => {
  it('has the media types and annotations of Flux', () => {
    const { layer, config, manifest } = fluxArtifact({ files, created, annotations });
    const read = readManifest(manifest, MEDIA_TYPES.image);
    if (read.kind !== 'image') throw new Error('not an image manifest');
    expect(read.image).toMatchObject({
      config: { mediaType: 'application/vnd.cncf.flux.config.v1+json', digest: computeDigest(config.bytes) },
      layers: [
        { mediaType: 'application/vnd.cncf.flux.content.v1.tar+gzip', digest: computeDigest(layer.bytes) },
      ],
      annotations: {
        'org.opencontainers.image.created': created,
        'org.opencontainers.image.source': 'https://git.example.com/app',
        'org.opencontainers.image.revision': 'main@sha1:0f0f',
      },
    });
    expect(read.image.artifactType).toBeUndefined();
    expect(requiredDigests(read)).toEqual([config.digest, layer.digest]);
    expect(getArtifactType(read)).toBeUndefined();
    expect(FLUX_MEDIA_TYPES.config).toBe(read.image.config.mediaType);
  });

  it('has a layer that unpacks to the archive that its config names', () => {
    const { layer, config } = fluxArtifact({ files, created, annotations });
    const archive = gunzipSync(layer.bytes);
    expect(archive.equals(tarArchive(files))).toBe(true);
    const { rootfs } = JSON.parse(new TextDecoder().decode(config.bytes));
    expect(rootfs).toEqual({ type: 'layers', diff_ids: [computeDigest(archive)] });
  });

  it('is the same for the same input, whatever the order of the annotations', () => {
    const reversed = Object.fromEntries(Object.entries(annotations).reverse());
    const digest = (given: Record<string, string>) =>
      computeDigest(fluxArtifact({ files, created, annotations: given }).manifest);
    expect(digest(reversed)).toBe(digest(annotations));
    expect(digest({ ...annotations, [REVISION]: 'other' })).not.toBe(digest(annotations));
  });
});
