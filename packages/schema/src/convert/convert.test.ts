import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readYaml } from '@krmhub/yaml';
import { describe, expect, it } from 'vitest';
import { CONVERT_CODES, type ConvertOptions, convertDocument, releaseFromPath } from './convert.js';

function convert(text: string, options: Partial<ConvertOptions> = {}) {
  const { documents, diagnostics } = readYaml(new TextEncoder().encode(text), { file: 'f.yaml' });
  expect(diagnostics).toEqual([]);
  return convertDocument(documents[0]!, { file: 'f.yaml', ...options })[0]!;
}
const codes = ({ diagnostics }: { diagnostics: { code: string }[] }) =>
  diagnostics.map(({ code }) => code).sort();
const errors = ({ diagnostics }: { diagnostics: { code: string; severity: string }[] }) =>
  diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code);

const KPT = `image: registry.example/fn/set-labels
description: |
  Set labels
  on resources.
tags: [mutator]
sourceURL: https://github.com/example-org/functions/tree/set-labels/v0.3/set-labels
examplePackageURLs: [https://github.com/example-org/functions/tree/set-labels/v0.3/examples/simple]
emails: [team@example.com]
license: Apache 2.0
`;

describe('kpt function metadata', () => {
  it('is converted to a definition', () => {
    const result = convert(KPT, { release: 'v0.3' });
    expect(result).toMatchObject({ source: 'kpt-metadata', release: 'v0.3' });
    expect(result.definitions).toEqual([
      {
        group: 'fn.kpt.dev',
        names: { kind: 'SetLabels' },
        description: 'Set labels on resources.',
        publisher: 'github.com/example-org',
        versions: [
          {
            name: 'v1alpha1',
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            idempotent: false,
            runtime: { container: { image: 'registry.example/fn/set-labels:v0.3' } },
            usage: 'https://github.com/example-org/functions/tree/set-labels/v0.3/set-labels',
            examples: ['https://github.com/example-org/functions/tree/set-labels/v0.3/examples/simple'],
            license: 'Apache-2.0',
          },
        ],
        home: 'https://github.com/example-org/functions',
        maintainers: ['team@example.com'],
        tags: ['mutator'],
      },
    ]);
    expect(codes(result)).toEqual(['convert/idempotent', 'convert/publisher', 'convert/schema']);
    expect(result.diagnostics.find(({ code }) => code === 'convert/publisher')).toMatchObject({
      path: 'sourceURL',
      range: { start: { line: 6, column: 12 } },
    });
  });

  it('takes the release from the option, then the tag, then the folder', () => {
    const image = (result: ReturnType<typeof convert>) =>
      result.definitions[0]?.versions[0]?.runtime.container?.image;
    const file = 'set-labels/v0.2/metadata.yaml';
    const tagged = KPT.replace('set-labels\n', 'set-labels:v1.0.0\n');
    expect(convert(KPT, { file })).toMatchObject({ release: 'v0.2' });
    expect(image(convert(KPT, { file }))).toMatch(/:v0\.2$/);
    expect(convert(KPT, { file, release: '0.4.1' })).toMatchObject({ release: '0.4.1' });
    expect(image(convert(KPT, { file, release: '0.4.1' }))).toMatch(/:0\.4\.1$/);
    expect(convert(tagged, { file })).toMatchObject({ release: 'v1.0.0' });
    const differing = convert(tagged, { release: 'v2.0.0' });
    expect(codes(differing)).toContain('convert/release-differs');
    expect(image(differing)).toMatch(/:v1\.0\.0$/);
  });

  it('keeps an image with a digest', () => {
    const hex = '0f'.repeat(32);
    const { definitions, release } = convert(KPT.replace('set-labels\n', `set-labels@sha256:${hex}\n`));
    expect(definitions[0]?.versions[0]?.runtime.container).toEqual({
      image: `registry.example/fn/set-labels@sha256:${hex}`,
      sha256: hex,
    });
    expect(release).toBeUndefined();
  });

  it.each([
    [KPT, {}, ['convert/no-release']],
    [KPT, { release: 'newest' }, ['convert/release']],
    [KPT.replace(/^image.*\n/, ''), { release: 'v1' }, ['convert/no-image']],
    [KPT.replace(/^image.*\n/, 'image:\n'), { release: 'v1' }, ['convert/no-image']],
    [KPT.replace(/^image.*\n/, 'image: Not An Image\n'), { release: 'v1' }, ['convert/image']],
    ['image: a.io/9\nsourceURL: https://a.b/\n', { release: 'v1' }, ['convert/name']],
  ])('refuses %j with %j', (text, options, expected) => {
    const result = convert(text, options);
    expect(errors(result)).toEqual(expected);
    expect(result.definitions).toEqual([]);
  });

  it('uses the image for missing links, with a warning', () => {
    const result = convert('image: a.io/b\ndescription: c\n', { release: 'v1' });
    expect(errors(result)).toEqual([]);
    expect(codes(result)).toEqual(expect.arrayContaining(['convert/usage', 'convert/examples']));
    expect(result.definitions[0]!.versions[0]).toMatchObject({
      usage: 'oci://a.io/b:v1',
      examples: ['oci://a.io/b:v1'],
    });
  });

  it.each([
    ['the configuration of a test', 'image: a.io/set-labels\ntestType: eval\nargs: {a: b}\n'],
    ['the same with nothing else', 'image: a.io/set-labels\n'],
    ['values of a chart', 'image: a.io/b:v1\nreplicas: 2\ndescription: c\nservice: {port: 1}\nports: [1]\n'],
    ['values with a nested image', 'image: {repository: a.io/b, tag: v1}\ndescription: c\n'],
    ['the manifest of a package', 'name: a\ndescription: b\nlicense: MIT\n'],
  ])('are not recognized in %s', (_, text) => {
    expect(errors(convert(text, { release: 'v1' }))).toEqual(['convert/unknown-document']);
  });

  it('warns about every substituted value', () => {
    const result = convert('image: a.io/b/c\nexamplePackageURLs: [https://a.b/x]\nmaturity: beta\n', {
      release: 'v1',
    });
    expect(codes(result)).toEqual([
      'convert/description',
      'convert/dropped-field',
      'convert/idempotent',
      'convert/license',
      'convert/publisher',
      'convert/schema',
      'convert/usage',
    ]);
    expect(result.definitions[0]).toMatchObject({
      description: 'c',
      publisher: 'a.io/b',
      versions: [{ usage: 'https://a.b/x', license: 'LicenseRef-unknown' }],
    });
  });
});

const HEX = 'ab'.repeat(32);
const platform = (selector: string, extra = '') =>
  `  - selector: ${selector}\n    uri: https://example.com/a.tar.gz\n    sha256: ${HEX}\n    bin: tool\n${extra}`;
const krew = (
  platforms: string,
  homepage = 'https://github.com/Example-Org/tool',
) => `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata: {name: view-secret}
spec:
  version: v1.2.3
  homepage: ${homepage}
  shortDescription: Shows a secret
  platforms:
${platforms}`;

describe('Krew plugins', () => {
  const platformsOf = (result: ReturnType<typeof convert>) =>
    result.definitions[0]?.versions[0]?.runtime.exec?.platforms.map(
      ({ os, arch, bin }) => `${os}/${arch} ${bin}`,
    );

  it('are converted to definitions with an exec runtime', () => {
    const result = convert(krew(platform('{matchLabels: {os: linux, arch: amd64}}')));
    expect(result).toMatchObject({
      source: 'krew',
      release: 'v1.2.3',
      definitions: [
        {
          group: 'example-org.github.io',
          names: { kind: 'ViewSecret' },
          description: 'Shows a secret',
          publisher: 'github.com/Example-Org',
          home: 'https://github.com/Example-Org/tool',
          versions: [
            {
              runtime: {
                exec: {
                  platforms: [
                    {
                      bin: 'tool',
                      os: 'linux',
                      arch: 'amd64',
                      uri: 'https://example.com/a.tar.gz',
                      sha256: HEX,
                    },
                  ],
                },
              },
              license: 'LicenseRef-unknown',
            },
          ],
        },
      ],
    });
    expect(errors(result)).toEqual([]);
    expect(codes(result)).toEqual([
      'convert/examples',
      'convert/group',
      'convert/idempotent',
      'convert/license',
      'convert/not-a-function',
      'convert/publisher',
      'convert/schema',
      'convert/usage',
    ]);
  });

  it.each([
    ['{matchLabels: {os: darwin}}', ['darwin/amd64 tool', 'darwin/arm64 tool']],
    [
      '{matchExpressions: [{key: os, operator: In, values: [darwin, linux]}, {key: arch, operator: NotIn, values: [arm64]}]}',
      ['linux/amd64 tool', 'darwin/amd64 tool'],
    ],
    [
      '{matchExpressions: [{key: os, operator: Exists}, {key: gpu, operator: DoesNotExist}], matchLabels: {arch: arm64, os: windows}}',
      ['windows/arm64 tool'],
    ],
  ])('selects platforms with %s', (selector, expected) => {
    expect(platformsOf(convert(krew(platform(selector))))).toEqual(expected);
  });

  it('omits unsupported platforms, each with a warning', () => {
    const result = convert(
      krew(
        platform('{matchLabels: {os: linux, arch: arm}}') +
          platform('{matchLabels: {os: linux, arch: amd64}}'),
      ),
    );
    expect(platformsOf(result)).toEqual(['linux/amd64 tool']);
    expect(result.diagnostics.find(({ code }) => code === 'convert/platform')).toMatchObject({
      path: 'spec.platforms[0].selector',
      range: { start: { line: 9, column: 15 } },
      message: 'definitions do not support the platform os linux, arch arm',
    });
    expect(errors(convert(krew(platform('{matchLabels: {os: plan9}}'))))).toEqual(['convert/no-platform']);
  });

  it('finds the program in the archive, or warns', () => {
    const files = (list: string) =>
      convert(krew(platform('{matchLabels: {os: linux, arch: amd64}}', `    files: ${list}\n`)));
    expect(platformsOf(files('[{from: ./tool-linux, to: tool}, {from: LICENSE, to: .}]'))).toEqual([
      'linux/amd64 tool-linux',
    ]);
    expect(platformsOf(files('[{from: bin/tool, to: .}]'))).toEqual(['linux/amd64 bin/tool']);
    expect(codes(files('[{from: "/*/tool", to: .}]'))).toContain('convert/bin');
  });

  it.each([
    ['https://tool.example.com/docs', 'tool.example.com'],
    ['https://www.example.com', 'example.com'],
    ['https://gitlab.com/Group/tool', 'group.gitlab.io'],
    ['https://github.com/', undefined],
    ['https://bitbucket.org/owner/tool', undefined],
    ['https://localhost/', undefined],
    ['ftp://example.com/', undefined],
    ['not a link', undefined],
  ])('derives the group of %s', (homepage, group) => {
    const platforms = platform('{matchLabels: {os: linux, arch: amd64}}');
    expect(convert(krew(platforms, homepage)).definitions[0]?.group).toBe(group);
    expect(convert(krew(platforms, homepage), { group: 'mine.example' }).definitions[0]?.group).toBe(
      'mine.example',
    );
    if (group === undefined) expect(errors(convert(krew(platforms, homepage)))).toEqual(['convert/no-group']);
  });

  it('are converted without a homepage, with a warning', () => {
    const text = (uri: string) =>
      krew(platform('{matchLabels: {os: linux, arch: amd64}}'))
        .replace(/^ {2}homepage: .*\n/m, '')
        .replace('https://example.com/a.tar.gz', uri);
    const released = 'https://github.com/Example-Org/tool/releases/download/v1.2.3/a.tar.gz';
    const result = convert(text(released));
    expect(errors(result)).toEqual([]);
    expect(codes(result)).toEqual(
      expect.arrayContaining(['convert/examples', 'convert/group', 'convert/publisher', 'convert/usage']),
    );
    expect(result.definitions[0]).toMatchObject({
      group: 'example-org.github.io',
      publisher: 'github.com/Example-Org',
      home: 'https://github.com/Example-Org/tool',
      versions: [{ usage: 'https://github.com/Example-Org/tool' }],
    });
    const own = convert(text('https://tool.example.com/a.tar.gz'));
    expect(errors(own)).toEqual([]);
    expect(own.definitions[0]).toMatchObject({
      group: 'tool.example.com',
      versions: [{ usage: 'https://tool.example.com/a.tar.gz' }],
    });
    expect(own.definitions[0]).not.toHaveProperty('home');
  });
});

describe('documents', () => {
  const DEFINITION =
    'apiVersion: config.kubernetes.io/v1alpha1\nkind: KRMFunctionDefinition\nspec:\n  group: a.b\n  kind: A\n';

  it('returns definitions in normal form, with their corrections', () => {
    const result = convert(DEFINITION);
    expect(result).toMatchObject({ source: 'kep', definitions: [{ group: 'a.b', names: { kind: 'A' } }] });
    expect(codes(result)).toEqual(['convert/description', 'convert/publisher', 'dialect/kind']);
  });

  it('returns every entry of a catalog, and its name', () => {
    const text =
      'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: c}\nspec: {krmFunctions: [{group: a.b}, {group: c.d}]}\n';
    expect(convert(text)).toMatchObject({
      catalog: { kind: 'Catalog', name: 'c' },
      definitions: [{ group: 'a.b' }, { group: 'c.d' }],
    });
  });

  it.each([
    ['apiVersion: v1\nkind: ConfigMap\n', undefined, 'this is a ConfigMap of v1; expected a definition'],
    ['- a\n', undefined, 'this is a list; expected'],
    [DEFINITION, 'krew', 'expected --from krew'],
    ['- a\n', 'kpt-metadata', 'expected --from kpt-metadata'],
  ] as const)('refuses %j read as %s', (text, from, message) => {
    const result = convert(text, from === undefined ? {} : { from });
    expect(errors(result)).toEqual(['convert/unknown-document']);
    expect(result.diagnostics[0]!.message).toContain(message);
  });

  it('rejects other documents', () => {
    expect(errors(convert(KPT, { from: 'kep' }))).toEqual(['dialect/unknown-document']);
  });
});

it.each([
  ['set-labels/v0.3/metadata.yaml', 'v0.3'],
  ['v1.0/set-labels/v1.2.3/x/metadata.yaml', 'v1.2.3'],
  ['C:\\functions\\v0.3\\metadata.yaml', 'v0.3'],
  ['functions/v1/metadata.yaml', undefined],
  ['functions/v0.3', undefined],
  ['metadata.yaml', undefined],
])('finds the release of %s', (path, release) => {
  expect(releaseFromPath(path)).toBe(release);
});

it('has a table row for every code', () => {
  for (const [code, { summary, fix }] of Object.entries(CONVERT_CODES)) {
    expect(code).toMatch(/^convert\/[a-z-]+$/);
    expect(`${summary}${fix}`).toMatch(/\..*\.$/);
  }
});

const DATA = join(import.meta.dirname, '../../../../../shared/data');
const filesIn = (folder: string) =>
  existsSync(join(DATA, folder))
    ? readdirSync(join(DATA, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.yaml'))
        .sort()
    : [];

describe.skipIf(!existsSync(DATA))('real files (skipped where ../shared/data is absent)', () => {
  const convertFile = (folder: string, name: string, options: { release?: string } = {}) => {
    const { documents, diagnostics } = readYaml(readFileSync(join(DATA, folder, name)), { file: name });
    expect(diagnostics).toEqual([]);
    return convertDocument(documents[0]!, { file: name, ...options })[0]!;
  };

  it('converts the 75 of 77 kpt metadata files with an image', () => {
    const files = filesIn('kpt-metadata');
    expect(files).toHaveLength(77);
    const results = files.map((name) => ({
      name,
      ...convertFile('kpt-metadata', name, name.startsWith('google') ? { release: 'v0.9.0' } : {}),
    }));
    const failed = results.filter(({ definitions }) => definitions.length === 0);
    expect(failed.map(({ name }) => name)).toEqual([
      'google-2023/functions/go/set-gcp-resource-ids/metadata.yaml',
      'google-2023/functions/go/set-name-prefix/krm-fn-metadata.yaml',
    ]);
    for (const result of failed) expect(errors(result)).toEqual(['convert/no-image']);
    for (const { name, definitions, release, diagnostics } of results) {
      if (definitions.length === 0) continue;
      expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
      const expected = name.startsWith('google') ? 'v0.9.0' : name.split('/').at(-2);
      expect(release).toBe(expected);
      expect(definitions[0]!.versions[0]!.runtime.container!.image).toMatch(new RegExp(`:${expected}$`));
    }
  });

  it.each(filesIn('krew'))('converts %s', (name) => {
    const result = convertFile('krew', name);
    expect(errors(result)).toEqual([]);
    expect(result.definitions).toHaveLength(1);
    expect(result.release).toMatch(/^v\d/);
    for (const { uri, sha256, bin } of result.definitions[0]!.versions[0]!.runtime.exec!.platforms) {
      expect(uri).toMatch(/^https:/);
      expect(sha256).toMatch(/^[0-9a-f]{64}$/);
      expect(bin).toMatch(/^\w/);
    }
  });
});
