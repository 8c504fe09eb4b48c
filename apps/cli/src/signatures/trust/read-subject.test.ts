import {
  ARTIFACT_MEDIA_TYPES,
  computeDigest,
  type Descriptor,
  type ImageManifest,
  MEDIA_TYPES,
  type OciClient,
  TITLE,
  VERSION,
} from '@krmhub/oci';
import { DOCUMENT_LIMITS, readMachineYaml, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { findDefinitions, readSubject } from './read-subject.js';

const DEFINITION = `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: example.com
  names: {kind: SetLabels}
`;
const NAME = { group: 'example.com', kind: 'SetLabels' };
const { layer: OWN, artifact: ARTIFACT } = ARTIFACT_MEDIA_TYPES.definition;

interface Layer {
  text: string | Uint8Array;
  mediaType?: string;
  size?: number;
  title?: string;
}

/** What is read of an artifact with these layers. */
async function findSubject(
  layers: readonly Layer[],
  {
    repository = 'team/x',
    tag = '1.0.0',
    version,
    artifactType = ARTIFACT,
  }: { repository?: string; tag?: string; version?: string; artifactType?: string } = {},
) {
  const blobs = new Map(
    layers.map(({ text }) => [computeDigest(Buffer.from(text as string)), Buffer.from(text as string)]),
  );
  const files: Descriptor[] = layers.map(({ text, mediaType = OWN, size = text.length, title }) => ({
    mediaType,
    digest: computeDigest(Buffer.from(text as string)),
    size,
    ...(title === undefined ? {} : { annotations: { [TITLE]: title } }),
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

describe('the subject of an artifact', () => {
  it('is the definition in it, at its exact bytes', async () => {
    const { subject, layer } = await findSubject([{ text: DEFINITION }]);
    expect(subject).toMatchObject({
      definitions: [NAME],
      definition: sha256(Buffer.from(DEFINITION)),
      manifests: [{ version: undefined }],
    });
    expect(layer?.digest).toBe(subject.definition);
    expect(subject.unreadable).toBeUndefined();
  });

  it('is a definition in JSON, with any artifact type', async () => {
    const json = JSON.stringify({
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'KRMFunctionDefinition',
      spec: { group: 'example.com', names: { kind: 'SetLabels' } },
    });
    const { subject } = await findSubject([{ text: json, mediaType: 'text/plain' }], {
      artifactType: 'application/x',
    });
    expect(subject.definitions).toEqual([NAME]);
  });

  const disguised = (text: string | Uint8Array, more: Partial<Layer> = {}) =>
    findSubject([{ text, mediaType: 'application/octet-stream', ...more }], {
      artifactType: 'application/x',
    });

  it.each([
    ['an escape', DEFINITION.replace('KRMFunctionDefinition', '"KRM\\x46unctionDefinition"')],
    ['an escape in its key', DEFINITION.replace('kind:', '"k\\u0069nd":')],
    ['a folded line', DEFINITION.replace('KRMFunctionDefinition', '"KRMFunction\\\n  Definition"')],
    ['an alias', DEFINITION.replace('kind: ', 'metadata: {name: &k KRMFunctionDefinition}\nkind: *k #')],
    ['JSON', `\ufeff${JSON.stringify(readMachineYaml(Buffer.from(DEFINITION), { file: 'x' }).documents[0])}`],
    ['a list', `kind: List\nitems:\n- ${DEFINITION.trimEnd().replaceAll('\n', '\n  ')}\n`],
  ])('is a definition whose kind is written with %s, whatever its type says', async (_, text) => {
    const { subject } = await disguised(text);
    expect(subject.definitions).toEqual([NAME]);
  });

  const utf16 = (text: string) => Buffer.from(text, 'utf16le');
  it.each<[string, string | Uint8Array]>([
    ['a sequence', `- ${DEFINITION.trimEnd().replaceAll('\n', '\n  ')}\n`],
    ['a sequence in a sequence', `- - ${DEFINITION.trimEnd().replaceAll('\n', '\n    ')}\n`],
    ['UTF-16 with a mark', utf16(`\ufeff${DEFINITION}`)],
    ['UTF-16 without a mark', utf16(DEFINITION)],
    ['big-endian UTF-16', utf16(`\ufeff${DEFINITION}`).swap16()],
    ['big-endian UTF-16 without a mark', utf16(DEFINITION).swap16()],
  ])('is a definition in %s, as other tools read it', async (_, text) => {
    for (const more of [{}, { title: 'definition.yaml' }, { mediaType: OWN }]) {
      expect((await disguised(text, more)).subject.definitions).toEqual([NAME]);
    }
  });

  it('is several definitions in a sequence', async () => {
    const item = `- ${DEFINITION.trimEnd().replaceAll('\n', '\n  ')}\n`;
    expect((await disguised(item + item)).subject.definitions).toEqual([NAME, NAME]);
  });

  it.each<[string, string]>([
    ['a merge key', '<<: {kind: KRMFunctionDefinition}\nspec: {group: example.com}\n'],
    ['duplicate keys', '{"kind":"KRMFunctionDefinition","kind":"ConfigMap"}'],
    ['a tag', 'kind: !!binary S1JNRnVuY3Rpb25EZWZpbml0aW9u\n'],
    ['an apiVersion of its own', DEFINITION.replace('config.kubernetes.io', 'example.com')],
    ['half of a definition', 'kind: KRMFunctionDefinition: [\n'],
  ])('cannot be read where a file that tools read as YAML has %s', async (_, text) => {
    for (const named of [{ title: 'x.yaml' }, { title: 'X.JSON' }, { mediaType: 'application/yaml' }]) {
      expect((await disguised(text, named)).subject.unreadable).toBeDefined();
    }
  });

  it('is the definition next to other files and YAML of other kinds', async () => {
    for (const [title, text] of [
      ['function.star', 'def transform(r):\n\tfor x in r: [\n'],
      ['function', '\u007fELF\u0000'],
      ['values.yaml', 'kind: ConfigMap\n'],
      ['empty.yaml', '# nothing\n'],
    ]) {
      const { subject } = await disguised(text!, { title: title! });
      expect([subject.definitions, subject.unreadable]).toEqual([[], undefined]);
    }
    const large = { title: 'big.yaml', size: DOCUMENT_LIMITS.maxCatalogBytes + 1 };
    expect((await disguised('a: 1\n', large)).subject.unreadable).toContain('big.yaml');
  });

  it('does not depend on a README', async () => {
    const readme = { text: '# Labels\n\n- kind: KRMFunctionDefinition: {[\n', mediaType: 'text/markdown' };
    const { subject } = await findSubject([{ text: DEFINITION }, readme]);
    expect([subject.definitions, subject.unreadable]).toEqual([[NAME], undefined]);
  });

  it('is two definitions if it contains a second one', async () => {
    const second = DEFINITION.replace('example.com', 'other.example.org');
    for (const layers of [
      [{ text: `${DEFINITION}---\n${second}` }],
      [{ text: DEFINITION }, { text: second, mediaType: 'text/plain' }],
    ]) {
      const { subject, layer } = await findSubject(layers);
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
    expect((await findSubject([layer])).subject.unreadable).toBeDefined();
  });

  it('has the release of its tag, otherwise of its manifest', async () => {
    const release = async (tag: string, version?: string) =>
      (await findSubject([{ text: DEFINITION }], { tag, ...(version === undefined ? {} : { version }) }))
        .subject.release;
    expect(await release('v1.2', '9.9.9')).toEqual({ name: '1.2.0', by: 'user' });
    expect(await release('stable', 'v9.9.9')).toEqual({ name: '9.9.9', by: 'artifact' });
    expect(await release('stable', 'soon')).toBeUndefined();
    expect(await release('stable')).toBeUndefined();
  });

  it('knows whether its repository belongs to a function', async () => {
    const of = async (repository: string) =>
      (await findSubject([{ text: DEFINITION }], { repository })).subject.repository;
    expect(await of('functions/example.com/setlabels')).toEqual({ group: 'example.com', kind: 'setlabels' });
    expect(await of('mirror/functions/example.com/setlabels')).toBeUndefined();
    expect(await of('functions/example.com')).toBeUndefined();
  });
});

it.each([
  'Kind: KRMFunctionDefinition\n',
  'kind: ConfigMap\nKIND: KRMFunctionDefinition\n',
  'kind: List\nItems: [{Kind: KRMFunctionDefinition}]\n',
  'kind: List\nitem\u017f: [{\u212aind: KRMFunctionDefinition}]\n',
  DEFINITION.replace('  group:', '  Group: other.example\n  group:'),
  DEFINITION.replace('spec:', 'Spec: {group: other.example}\nspec:'),
  DEFINITION.replace('kind: SetLabels', 'kind: SetLabels, Kind: Other'),
])('finds a definition by fields in another case, as the JSON library of Go does: %j', (text) => {
  expect(findDefinitions(Buffer.from(text))).toMatchObject({ nameless: true });
});
