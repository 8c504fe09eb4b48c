import {
  type DeprecationRecord,
  type Event,
  type EventType,
  type FunctionChange,
  imageRepositories,
  type LifecycleRecord,
  type ReleaseRecord,
  releaseWords,
  runtimeFacts,
  type SearchDocument,
  type SearchResult,
  type Signer,
  type SnapshotStore,
} from '@krmhub/catalog';
import { type Digest, type FunctionDefinition, type FunctionVersion, sha256 } from '@krmhub/schema';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';

export const AT = '2030-01-02T03:04:05.678Z';

export interface SampleFunction {
  group?: string;
  kind: string;
  release?: string;
  description?: string;
  publisher?: string;
  tags?: string[];
  runtimes?: string[];
  /** Of the definition; its facts are for search. */
  runtime?: FunctionVersion['runtime'];
  /** Names of the fields of its functionConfig. */
  fields?: string[];
  readme?: string;
  licenses?: string[];
  publishedAt?: string;
  /** Signers whose signatures are valid. */
  signers?: Signer[];
  allYanked?: boolean;
  deprecated?: DeprecationRecord;
  yanked?: LifecycleRecord;
}

function definitionOf(
  sample: Required<Pick<SampleFunction, 'group' | 'kind' | 'description'>> &
    Pick<SampleFunction, 'runtime' | 'fields'>,
): FunctionDefinition {
  return {
    group: sample.group,
    names: { kind: sample.kind },
    description: sample.description,
    publisher: 'Example Co',
    versions: [
      {
        name: 'v1',
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: Object.fromEntries(
              (sample.fields ?? ['zebra', 'apple']).map((name) => [name, { type: 'string' }]),
            ),
          },
        },
        idempotent: true,
        runtime: sample.runtime ?? { container: { image: 'registry.example.com/fn:v1.0.0' } },
        usage: 'https://example.com/usage.md',
        examples: ['https://example.com/example.yaml'],
        license: 'Apache-2.0',
      },
    ],
  };
}

/** What search shows of the function after a change. */
export function foundAfter({ search }: FunctionChange): SearchResult {
  const { images: _, published: publishedAt, ...found } = search;
  return { ...found, publishedAt };
}

/** A change that stores a release of a function, or changes its lifecycle. */
export function changeOf(
  sample: SampleFunction,
  expectedRevision = 0,
  action: FunctionChange['action'] = 'insert',
  type: EventType = 'release.published',
): FunctionChange {
  const {
    kind,
    group = 'example.com',
    release: name = '1.0.0',
    description = `${kind} does its work.`,
  } = sample;
  const { publisher = 'Example Co', tags = [], runtimes = ['container'], licenses = ['Apache-2.0'] } = sample;
  const digest = sha256(`${group}/${kind}@${name}`);
  const definition = definitionOf({
    group,
    kind,
    description,
    ...(sample.runtime && { runtime: sample.runtime }),
    ...(sample.fields && { fields: sample.fields }),
  });
  const readme = sample.readme === undefined ? undefined : Buffer.from(sample.readme);
  const release: ReleaseRecord = {
    group,
    kind,
    release: name,
    digest,
    size: 1234,
    mediaType: 'application/yaml',
    versions: ['v1'],
    tags,
    publisher,
    runtimes,
    licenses,
    publishedAt: sample.publishedAt ?? AT,
    publishedBy: 'token publisher',
    definition,
    ...(readme && { readme: sha256(readme) }),
    ...(sample.yanked && { yanked: sample.yanked }),
    ...(sample.deprecated && { deprecated: sample.deprecated }),
  };
  const search: SearchDocument = {
    group,
    kind,
    description,
    publisher,
    release: name,
    versions: ['v1'],
    tags,
    runtimes,
    licenses,
    ...runtimeFacts(definition),
    images: imageRepositories(definition),
    yanked: sample.allYanked ?? false,
    deprecated: sample.deprecated !== undefined,
    attestations: [],
    signatures: (sample.signers ?? []).map((signer) => ({
      bundle: sha256('a bundle'),
      signer,
      receivedAt: AT,
    })),
    published: release.publishedAt,
  };
  const event = { type, at: AT, by: 'token publisher', group, kind, release: name, digest };
  const change: FunctionChange = { group, kind, expectedRevision, action, release, search, event };
  return action === 'insert' ? { ...change, words: releaseWords(definition, readme) } : change;
}

/** Applies a recipe whose text does not matter, or one that replaces another. */
export function applySample(
  store: Pick<SnapshotStore, 'applyRecipe'>,
  name: string,
  recipe = 'r',
  expectedRecipe?: string,
): Promise<Event> {
  return store.applyRecipe({
    name,
    recipe,
    expectedRecipe,
    at: AT,
    by: 'admin',
    event: { type: 'catalog.applied', at: AT, by: 'admin', catalog: name },
  });
}

/** Publishes a release that runs a script. */
export async function publishScript(store: RegistryStore, kind: string, starlark: string): Promise<void> {
  await store.commitFunction(changeOf({ kind, runtimes: ['starlark'], runtime: { starlark } }));
}

/** Takes down a release with these bytes. */
export async function takeDownBytes(
  store: RegistryStore,
  digest: Digest,
  { kind, expectedRevision } = { kind: 'Bad', expectedRevision: 0 },
): Promise<void> {
  const name = { group: 'example.com', kind };
  await store.commitTakedown({
    ...name,
    expectedRevision,
    takedowns: [{ ...name, release: '1.0.0', digest, at: AT, by: 'root', reason: 'malware' }],
  });
}
