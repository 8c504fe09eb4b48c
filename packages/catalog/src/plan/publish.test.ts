import { DOCUMENT_LIMITS, lint, README_PLACEHOLDER, sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { ReleaseRecord } from '../ports/records.js';
import { renderCatalog, renderDefinition, renderEntry } from '../render/render.js';
import {
  functionDefinition,
  functionRecord,
  functionVersion,
  lifecycleRecord,
  NOW,
  releaseRecord,
} from '../testing/records.js';
import { displayedRelease, findPredecessor } from './displayed-release.js';
import { type PublishInput, type PublishPlan, planPublish } from './publish.js';
import { PUBLISH_CODES, PUBLISH_LIMITS } from './publish-codes.js';

const NAME = { group: 'example.com', kind: 'SetLabels' };
const encode = (text: string) => new TextEncoder().encode(text);
const BYTES = encode(renderDefinition(functionDefinition()));
const README = encode('# Set labels\n');

/** Plans as a registry does, with the existing releases. */
function plan(input: Partial<PublishInput> & { standing?: ReleaseRecord[] } = {}): PublishPlan {
  const { standing = [], ...rest } = input;
  const current = standing.length === 0 ? undefined : functionRecord(standing, 3);
  const newest =
    current && standing.find(({ release }) => release === displayedRelease(current.releases).release);
  const before = findPredecessor(current, rest.release ?? 'v1.0');
  return planPublish({
    name: NAME,
    release: 'v1.0',
    bytes: BYTES,
    mediaType: 'application/yaml',
    current,
    currentRelease: standing.find(({ release }) => release === '1.0.0'),
    takedowns: [],
    displayed: newest,
    predecessor: standing.find(({ release }) => release === before),
    allowBreaking: false,
    now: NOW,
    by: 'alice',
    ...rest,
  });
}

const text = new TextDecoder().decode(BYTES);

/** Decoders that ignore case take the last of two such fields, so signers and policies would be of another function. */
it.each([
  ['the document', text.replace('spec:', 'Spec: {group: other.example}\nspec:'), 'dialect/unknown-field'],
  ['the kind', text.replace('kind:', 'Kind: Catalog\nkind:'), 'dialect/unknown-field'],
  ['the group', text.replace('  group:', '  Group: other.example\n  group:'), 'shape/unknown-field'],
  ['the names', text.replace('    kind:', '    KIND: Other\n    kind:'), 'shape/unknown-field'],
  ['an API version', text.replace('idempotent:', 'Idempotent: true\n    idempotent:'), 'shape/unknown-field'],
  ['the image', text.replace(/( +)image:/, '$1Image: evil\n$1image:'), 'shape/unknown-field'],
  ['a schema', text.replace(/( +)type: object/, '$1Type: string\n$1type: object'), 'schema/keyword-case'],
])('refuses two fields that differ only by case: %s', (_, definition, code) => {
  expect(definition).not.toBe(text);
  expect(errors({ bytes: encode(definition) }).join()).toContain(code);
});

function created(input: Parameters<typeof plan>[0] = {}) {
  const result = plan(input);
  if (result.outcome !== 'created') throw new Error(JSON.stringify(result));
  return result;
}

/** `code path` of the errors of a refused submission. */
function errors(input: Parameters<typeof plan>[0]): string[] {
  const result = plan(input);
  if (result.outcome !== 'invalid') throw new Error(`not refused but ${result.outcome}`);
  return result.diagnostics
    .filter(({ severity }) => severity === 'error')
    .map(({ code, path }) => `${code} ${path}`.trim());
}

function standing(release: string, overrides: Partial<ReleaseRecord> = {}): ReleaseRecord {
  return releaseRecord(release, functionDefinition({ description: `about ${release}` }), overrides);
}

const publishedBytes = releaseRecord('1.0.0', functionDefinition());

describe('a new release', () => {
  it('of a new function is inserted, with its summary, search document and event', () => {
    const { change, files, diagnostics } = created({ readme: README });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(files).toEqual([BYTES, README]);
    expect(change).toEqual({
      ...NAME,
      expectedRevision: 0,
      action: 'insert',
      release: {
        ...NAME,
        release: '1.0.0',
        digest: sha256(BYTES),
        size: BYTES.byteLength,
        versions: ['v1'],
        tags: ['mutator'],
        publisher: 'Example Co',
        runtimes: ['container'],
        licenses: ['Apache-2.0'],
        publishedAt: NOW,
        publishedBy: 'alice',
        mediaType: 'application/yaml',
        definition: functionDefinition(),
        readme: sha256(README),
      },
      words: { fields: 'spec', readme: 'Set labels' },
      search: {
        ...NAME,
        description: 'Sets labels on resources',
        publisher: 'Example Co',
        release: '1.0.0',
        versions: ['v1'],
        tags: ['mutator'],
        runtimes: ['container'],
        licenses: ['Apache-2.0'],
        network: false,
        storage: false,
        pinned: true,
        images: ['registry.example.com/functions/set-labels'],
        yanked: false,
        deprecated: false,
        signatures: [],
        attestations: [],
        published: NOW,
      },
      event: {
        type: 'release.published',
        at: NOW,
        by: 'alice',
        ...NAME,
        release: '1.0.0',
        digest: sha256(BYTES),
      },
    });
  });

  it('may be JSON, and keeps its exact bytes', () => {
    const document = {
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'KRMFunctionDefinition',
      spec: functionDefinition(),
    };
    const bytes = encode(JSON.stringify(document));
    const { change, files } = created({ bytes, mediaType: 'application/json' });
    expect(change.release).toMatchObject({
      digest: sha256(bytes),
      mediaType: 'application/json',
      definition: functionDefinition(),
    });
    expect(files).toEqual([bytes]);
  });

  it('lists API versions by preference and each license once', () => {
    const versions = ['v1beta1', 'v1', 'v1alpha1'].map((name) => functionVersion(name));
    const bytes = encode(renderDefinition(functionDefinition({ versions })));
    expect(created({ bytes }).change.release).toMatchObject({
      versions: ['v1', 'v1beta1', 'v1alpha1'],
      licenses: ['Apache-2.0'],
    });
  });

  it('is displayed in search if it is the newest', () => {
    const shown = (release: string, releases: ReleaseRecord[]) =>
      created({ release, standing: releases, currentRelease: undefined }).change.search;
    expect(shown('2.0.0', [standing('1.5.0')])).toMatchObject({
      release: '2.0.0',
      description: 'Sets labels on resources',
    });
    expect(shown('1.2.0', [standing('1.5.0')])).toMatchObject({
      release: '1.5.0',
      description: 'about 1.5.0',
    });
    expect(shown('2.0.0-rc.1', [standing('1.5.0')])).toMatchObject({ release: '1.5.0' });
    expect(shown('1.2.0', [standing('1.5.0', { yanked: lifecycleRecord('x') })])).toMatchObject({
      release: '1.2.0',
      yanked: false,
    });
    expect(shown('0.10.0', [standing('0.9.0')])).toMatchObject({ release: '0.10.0' });
  });

  it('has the expected revision in its plan', () => {
    expect(created({ release: '2.0.0', standing: [standing('1.5.0')] }).change.expectedRevision).toBe(3);
    expect(() => plan({ release: '1.2.0', standing: [standing('1.5.0')], displayed: undefined })).toThrow(
      RangeError,
    );
  });
});

describe('an existing release', () => {
  const withReadme = { ...publishedBytes, readme: sha256(README) };

  it('with the same bytes is unchanged, with or without its README, yanked or not', () => {
    for (const record of [publishedBytes, withReadme, { ...publishedBytes, yanked: lifecycleRecord('x') }]) {
      expect(plan({ standing: [record] })).toEqual({
        outcome: 'unchanged',
        release: record,
        diagnostics: [],
      });
    }
    expect(plan({ standing: [withReadme], readme: README }).outcome).toBe('unchanged');
  });

  it('rejects other bytes or another README, with the existing digest and a fix', () => {
    const conflicts = [
      [plan({ standing: [standing('1.0.0')] }), standing('1.0.0').digest],
      [plan({ standing: [publishedBytes], readme: README }), 'without a README'],
      [plan({ standing: [withReadme], readme: encode('# Other\n') }), sha256(README)],
      [plan({ standing: [publishedBytes], bytes: encode('not: a definition') }), publishedBytes.digest],
    ] as const;
    for (const [result, says] of conflicts) {
      if (result.outcome !== 'conflict') throw new Error(result.outcome);
      expect(result.error).toMatchObject({ code: 'conflict', hint: expect.stringContaining('new release') });
      expect(result.error.message).toContain('example.com/SetLabels@1.0.0');
      expect(result.error.message).toContain(says);
    }
  });
});

describe('an existing release with other bytes', () => {
  const hint = (bytes: Uint8Array) => {
    const result = plan({ standing: [publishedBytes], bytes });
    if (result.outcome !== 'conflict') throw new Error(result.outcome);
    return result.error.hint;
  };

  it('has a hint if only the formatting differs', () => {
    expect(hint(encode(`# A comment.\n${new TextDecoder().decode(BYTES)}`))).toContain(
      'Only the formatting of the definition differs',
    );
    const other = renderDefinition({ ...functionDefinition(), description: 'Something else.' });
    expect(hint(encode(other))).not.toContain('Only the formatting of the definition differs');
    expect(hint(encode('not: a definition'))).not.toContain('Only the formatting of the definition differs');
  });
});

describe('a rejected release', () => {
  it.each([
    '',
    'latest',
    'one',
    '1.2.3.4',
    '1.0.0+build',
    'v',
    '../1.0.0',
    '1.0.0\n',
    `1.0.0-${'a'.repeat(130)}`,
    '01.0.0',
  ])('the release %j', (release) => {
    expect(errors({ release, currentRelease: undefined })).toEqual(['publish/release']);
  });

  it('has another group or kind, reported at its position', () => {
    const result = plan({ name: { group: 'other.com', kind: 'Other' } });
    if (result.outcome !== 'invalid') throw new Error(result.outcome);
    const found = result.diagnostics.filter(({ code }) => code === 'publish/name-mismatch');
    expect(found.map(({ path, range }) => `${path} ${range?.start.line}`)).toEqual([
      'spec.group 4',
      'spec.names.kind 6',
    ]);
  });

  it('has a kind that differs from an existing kind only in case', () => {
    const bytes = encode(renderDefinition(functionDefinition({ names: { kind: 'Setlabels' } })));
    const input = { name: { ...NAME, kind: 'Setlabels' }, bytes, standing: [publishedBytes] };
    expect(errors(input)).toEqual(['publish/kind-case']);
    expect(errors({ ...input, currentRelease: undefined })).toEqual(['publish/kind-case']);
  });

  it('is not exactly one definition', () => {
    const text = renderDefinition(functionDefinition());
    const catalog = [
      ...renderCatalog('catalog.yaml', { name: 'a' }, [renderEntry(functionDefinition())]),
    ].join('');
    expect(errors({ bytes: encode(`${text}---\n${text.replace('SetLabels', 'Other')}`) })).toContain(
      'publish/one-definition',
    );
    expect(errors({ bytes: encode(catalog) })).toEqual(['publish/one-definition']);
    expect(errors({ bytes: encode('') }).length).toBeGreaterThan(0);
  });

  it('has lint errors', () => {
    const { versions: _, ...rest } = functionDefinition();
    const document = {
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'KRMFunctionDefinition',
      spec: rest,
    };
    expect(errors({ bytes: encode(JSON.stringify(document)) })).toEqual([
      'shape/missing-field spec.versions',
    ]);
    for (const hostile of ['[', `${'['.repeat(1_000)}`, 'a: &a [*a]', '\u0000', 'x: !!js/function y']) {
      expect(errors({ bytes: encode(hostile) }).length).toBeGreaterThan(0);
    }
    expect(errors({ bytes: new Uint8Array([0xff, 0xfe, 0x00, 0x41]) }).length).toBeGreaterThan(0);
  });

  it('is too large, and is not parsed', () => {
    const bytes = new Uint8Array(DOCUMENT_LIMITS.maxDefinitionBytes + 1).fill(0x20);
    expect(errors({ bytes })).toEqual(['publish/size']);
  });

  it('is YAML with the media type of JSON', () => {
    expect(errors({ mediaType: 'application/json' })).toEqual(['publish/media-type']);
  });

  it('has an unpaired surrogate, with the code of the lint rule', () => {
    const document = {
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'KRMFunctionDefinition',
      spec: functionDefinition({ description: 'half PAIR' }),
    };
    const bytes = encode(JSON.stringify(document).replace('PAIR', '\\ud83d'));
    expect(errors({ bytes, mediaType: 'application/json' })).toEqual([
      'text/unpaired-surrogate spec.description',
    ]);
  });

  it('has nesting that would make its catalog entry too large', () => {
    const leaves = Array.from({ length: 300_000 }, () => 1);
    const nested = Array.from({ length: 40 }).reduce<unknown>((value) => [value], leaves);
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        default: { nested },
      },
    } as never;
    const document = {
      apiVersion: 'config.kubernetes.io/v1alpha1',
      kind: 'KRMFunctionDefinition',
      spec: functionDefinition({ versions: [functionVersion('v1', { schema })] }),
    };
    expect(errors({ bytes: encode(JSON.stringify(document)) })).toContain('publish/entry-size spec.versions');
  });

  it('has a README that is too large or not text', () => {
    expect(errors({ readme: new Uint8Array(PUBLISH_LIMITS.maxReadmeBytes + 1).fill(0x61) })).toEqual([
      'publish/readme-size',
    ]);
    expect(errors({ readme: new Uint8Array([0xc3, 0x28]) })).toEqual(['publish/readme-encoding']);
    expect(created({ readme: new Uint8Array(PUBLISH_LIMITS.maxReadmeBytes).fill(0x61) }).files).toHaveLength(
      2,
    );
  });

  it('warns of a README of init that nobody changed, unless the function is an example', () => {
    const warnings = (group: string, sentence: string) => {
      const { diagnostics } = created({
        name: { ...NAME, group },
        bytes: encode(renderDefinition(functionDefinition({ group }))),
        readme: encode(`# SetLabels\n\n${sentence}\n`),
      });
      return diagnostics.map(({ code, severity }) => `${severity} ${code}`);
    };
    const ofReadme = 'warning publish/readme-placeholder';
    expect(warnings('fn.acme.dev', README_PLACEHOLDER)).toContain(ofReadme);
    expect(warnings('fn.acme.dev', 'Sets labels.')).not.toContain(ofReadme);
    expect(warnings('fn.example.com', README_PLACEHOLDER)).not.toContain(ofReadme);
  });

  it('has every problem reported at once, each with a fix', () => {
    const input = {
      release: 'latest',
      name: { group: 'other.com', kind: 'Other' },
      readme: new Uint8Array([0xff]),
      currentRelease: undefined,
    };
    expect(errors(input)).toEqual([
      'publish/release',
      'publish/name-mismatch spec.group',
      'publish/name-mismatch spec.names.kind',
      'publish/readme-encoding',
    ]);
    const result = plan(input);
    if (result.outcome !== 'invalid') throw new Error(result.outcome);
    for (const { code, hint } of result.diagnostics) {
      if (code in PUBLISH_CODES) expect(hint).toBe(PUBLISH_CODES[code as keyof typeof PUBLISH_CODES].fix);
    }
  });
});

it('never throws for random bytes, and accepted definitions survive a round trip', () => {
  const marks = encode('{}[]:-&*!|>"\'# \n\t%@`0yn~');
  const outcomes = new Set<string>();
  for (let seed = 0; seed < 600; seed++) {
    const random = new Random(seed);
    const bytes = Uint8Array.from(BYTES);
    for (let count = random.below(4); count >= 0; count--) {
      bytes[random.below(bytes.length)] = random.chance(0.3) ? random.below(256) : random.pick([...marks]);
    }
    const result = plan({ bytes });
    outcomes.add(result.outcome);
    if (result.outcome !== 'created') continue;
    const { definition } = result.change.release;
    const [again] = lint(encode(renderDefinition(definition)), { file: 'again.yaml' }).documents;
    if (again?.kind !== 'KRMFunctionDefinition') throw new Error(`seed ${seed}: not read again`);
    expect(renderEntry(again.definition)).toEqual(renderEntry(definition));
  }
  expect(outcomes).toEqual(new Set(['created', 'invalid']));
});

describe('the previous release', () => {
  const version = (name: string, ...fields: string[]) =>
    functionVersion(name, {
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: Object.fromEntries(
            fields.map((field) => [field, { type: 'string', description: 'Some text.' }]),
          ),
        },
      },
    });
  const createDefinition = (...versions: ReturnType<typeof version>[]) => functionDefinition({ versions });
  const toBytes = (...versions: ReturnType<typeof version>[]) =>
    encode(renderDefinition(createDefinition(...versions)));
  const before = releaseRecord('1.0.0', createDefinition(version('v1', 'a', 'b')));
  const next = { release: '2.0.0', currentRelease: undefined };

  it('cannot be broken without --allow-breaking, even by a new major release', () => {
    const bytes = toBytes(version('v1', 'a', 'c'));
    const place = 'spec.versions[0].schema.openAPIV3Schema.properties';
    expect(errors({ ...next, standing: [before], bytes })).toEqual([`publish/breaking ${place}`]);
    const allowed = created({ ...next, standing: [before], bytes, allowBreaking: true });
    expect(allowed.diagnostics).toMatchObject([
      {
        code: 'publish/breaking',
        severity: 'warning',
        message: 'since 1.0.0 in v1: b is removed (property-removed)',
      },
    ]);
    // At `properties`, which is still there.
    expect(allowed.diagnostics[0]?.range?.start.line).toBeGreaterThan(5);
  });

  it('allows a converted function to declare its schema, with a warning', () => {
    const converted = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const open = functionVersion('v1', { schema: { openAPIV3Schema: converted } });
    const standing = [releaseRecord('1.0.0', createDefinition(open))];
    const { diagnostics } = created({ ...next, standing, bytes: toBytes(version('v1', 'a')) });
    expect(diagnostics).toMatchObject([
      { code: 'publish/review', severity: 'warning', message: expect.stringContaining('(schema-declared)') },
    ]);
  });

  it('allows breaking changes only in an alpha API version, with a warning', () => {
    const alpha = [
      releaseRecord('1.0.0', createDefinition(version('v1', 'a', 'b'), version('v2alpha1', 'a', 'b'))),
    ];
    const bytes = toBytes(version('v1', 'a', 'b'), version('v2alpha1', 'a'));
    expect(created({ ...next, standing: alpha, bytes }).diagnostics).toMatchObject([
      {
        code: 'publish/breaking',
        severity: 'warning',
        message: 'since 1.0.0 in v2alpha1: b is removed (property-removed)',
        hint: expect.stringContaining('alpha'),
      },
    ]);
    const both = toBytes(version('v1', 'a'), version('v2alpha1', 'a'));
    expect(errors({ ...next, standing: alpha, bytes: both })).toEqual([
      'publish/breaking spec.versions[0].schema.openAPIV3Schema.properties',
    ]);
  });

  it('allows a new API version next to the old one, and new optional fields', () => {
    const bytes = toBytes(version('v2', 'c'), version('v1', 'a', 'b', 'c'));
    expect(created({ ...next, standing: [before], bytes }).diagnostics).toEqual([]);
  });

  it('is compared for new capabilities, another registry, and another license', () => {
    const bytes = toBytes({
      ...version('v1', 'a', 'b'),
      license: 'MIT',
      runtime: {
        container: {
          image: 'other.example.com/functions/set-labels:v2.0.0',
          sha256: 'a'.repeat(64),
          requireNetwork: true,
        },
      },
    });
    const { diagnostics } = created({ ...next, standing: [before], bytes });
    const told = diagnostics.filter(({ code }) => code === 'publish/review');
    expect(told.map(({ severity, path }) => `${severity} ${path}`)).toEqual([
      'warning spec.versions[0].runtime.container.requireNetwork',
      'warning spec.versions[0].runtime.container.image',
      'warning spec.versions[0].license',
    ]);
  });

  it('limits the reported changes, breaking ones first', () => {
    const names = Array.from({ length: 500 }, (_, index) => `f${index}`);
    const many = releaseRecord('1.0.0', createDefinition(version('v1', ...names)));
    const bytes = toBytes({ ...version('v1', 'f0'), license: 'MIT' });
    expect(errors({ ...next, standing: [many], bytes })).toHaveLength(DOCUMENT_LIMITS.maxDiagnostics);
  });

  it('is a required argument', () => {
    expect(() => plan({ ...next, standing: [before], predecessor: undefined })).toThrow(RangeError);
  });

  it.each([
    ['2.0.0', '1.5.0'],
    ['1.5.0', '1.2.0'],
    ['1.3.0', '1.2.0'],
    ['1.2.0-rc.1', '1.0.0'],
    ['1.0.0', '1.0.0-rc.2'],
    ['1.0.0-rc.2', '1.0.0-rc.1'],
    ['v0.9', undefined],
    ['none', undefined],
    ['9.0.0', '2.0.0'],
  ])('of %s is %s', (release, expected) => {
    const names = [
      '1.0.0-rc.1',
      '1.0.0-rc.2',
      '1.0.0',
      '1.1.0',
      '1.2.0',
      '1.5.0-rc.1',
      '1.5.0',
      '2.0.0',
      '3.0.0',
    ];
    const releases = names.map((name) =>
      standing(name, name === '3.0.0' || name === '1.1.0' ? { yanked: lifecycleRecord('x') } : {}),
    );
    expect(findPredecessor(functionRecord(releases), release)).toBe(expected);
  });
});
