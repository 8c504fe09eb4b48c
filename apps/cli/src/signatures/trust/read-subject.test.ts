import {
  ARTIFACT_MEDIA_TYPES,
  computeDigest,
  type Descriptor,
  type ImageManifest,
  MEDIA_TYPES,
  type OciClient,
  VERSION,
} from '@krmhub/oci';
import { DOCUMENT_LIMITS, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { readSubject } from './read-subject.js';

const DEFINITION = `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: example.com
  names: {kind: SetLabels}
`;
const NAME = { group: 'example.com', kind: 'SetLabels' };
const { layer: OWN, artifact: ARTIFACT } = ARTIFACT_MEDIA_TYPES.definition;

interface Layer {
  text: string;
  mediaType?: string;
  size?: number;
}

/** What is read of an artifact with these layers. */
async function subjectOf(
  layers: readonly Layer[],
  {
    repository = 'team/x',
    tag = '1.0.0',
    version,
    artifactType = ARTIFACT,
  }: { repository?: string; tag?: string; version?: string; artifactType?: string } = {},
) {
  const blobs = new Map(layers.map(({ text }) => [computeDigest(Buffer.from(text)), Buffer.from(text)]));
  const files: Descriptor[] = layers.map(({ text, mediaType = OWN, size = text.length }) => ({
    mediaType,
    digest: computeDigest(Buffer.from(text)),
    size,
  }));
  const image: ImageManifest = {
    schemaVersion: 2,
    artifactType,
    config: { mediaType: MEDIA_TYPES.empty, digest: computeDigest(Buffer.from('{}')), size: 2 },
    layers: files,
    ...(version === undefined ? {} : { annotations: { [VERSION]: version } }),
  };
  const bytes = Buffer.from(JSON.stringify(image));
  const named = {
    bytes,
    mediaType: MEDIA_TYPES.image,
    digest: computeDigest(bytes),
    manifest: { kind: 'image' as const, image },
  };
  const client = {
    withRetries: (work: () => Promise<unknown>) => work(),
    blob: async (_: unknown, { digest }: Descriptor) => [blobs.get(digest)!],
  } as unknown as OciClient;
  const reference = { registry: 'localhost:5000', repository, tag };
  return readSubject(client, { reference, named, stored: named, image, files });
}

describe('what an artifact says that it is', () => {
  it('is the definition in it, at its exact bytes', async () => {
    const { subject, layer } = await subjectOf([{ text: DEFINITION }]);
    expect(subject).toMatchObject({
      definitions: [NAME],
      definition: sha256(Buffer.from(DEFINITION)),
      manifests: [{ version: undefined }],
    });
    expect(layer?.digest).toBe(subject.definition);
    expect(subject.unreadable).toBeUndefined();
  });

  it('is a definition in JSON, and of whatever type it is pushed as', async () => {
    const json = JSON.stringify({
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'KRMFunctionDefinition',
      spec: { group: 'example.com', names: { kind: 'SetLabels' } },
    });
    const { subject } = await subjectOf([{ text: json, mediaType: 'text/plain' }], {
      artifactType: 'application/x',
    });
    expect(subject.definitions).toEqual([NAME]);
  });

  it('is not what a README beside it speaks of', async () => {
    const readme = { text: '# Labels\n\n- kind: KRMFunctionDefinition: {[\n', mediaType: 'text/markdown' };
    const { subject } = await subjectOf([{ text: DEFINITION }, readme]);
    expect([subject.definitions, subject.unreadable]).toEqual([[NAME], undefined]);
  });

  it('is two definitions where a second one stands in it', async () => {
    const second = DEFINITION.replace('example.com', 'other.example.org');
    for (const layers of [
      [{ text: `${DEFINITION}---\n${second}` }],
      [{ text: DEFINITION }, { text: second, mediaType: 'text/plain' }],
    ]) {
      const { subject, layer } = await subjectOf(layers);
      expect([subject.definitions.length, subject.definition, layer]).toEqual([2, undefined, undefined]);
    }
  });

  it.each<[string, Layer]>([
    ['no definition', { text: 'kind: ConfigMap\n' }],
    ['no YAML', { text: 'kind: KRMFunctionDefinition: [\n' }],
    ['no group', { text: DEFINITION.replace('group', 'grup') }],
    ['a group that is not a string', { text: DEFINITION.replace('example.com', '[example.com]') }],
    ['too much', { text: DEFINITION, size: DOCUMENT_LIMITS.maxDefinitionBytes + 1 }],
  ])('cannot be read where it is %s', async (_, layer) => {
    expect((await subjectOf([layer])).subject.unreadable).toBeDefined();
  });

  it('has the release of its tag, else the one that it says', async () => {
    const release = async (tag: string, version?: string) =>
      (await subjectOf([{ text: DEFINITION }], { tag, ...(version === undefined ? {} : { version }) }))
        .subject.release;
    expect(await release('v1.2', '9.9.9')).toEqual({ name: '1.2.0', by: 'user' });
    expect(await release('stable', 'v9.9.9')).toEqual({ name: '9.9.9', by: 'artifact' });
    expect(await release('stable', 'soon')).toBeUndefined();
    expect(await release('stable')).toBeUndefined();
  });

  it('stands in the repository of a function, or in any other', async () => {
    const of = async (repository: string) =>
      (await subjectOf([{ text: DEFINITION }], { repository })).subject.repository;
    expect(await of('functions/example.com/setlabels')).toEqual({ group: 'example.com', kind: 'setlabels' });
    expect(await of('mirror/functions/example.com/setlabels')).toBeUndefined();
    expect(await of('functions/example.com')).toBeUndefined();
  });
});
