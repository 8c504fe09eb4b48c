import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  type ExecPlatform,
  type FunctionDefinition,
  type JsonObject,
  lint,
  PROFILES,
  type Profile,
  sha256,
} from '@krmhub/schema';
import { load, loadAll } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { compareFunctionNames } from '../ports/function-name.js';
import { NASTY_STRINGS } from '../testing/nasty-strings.js';
import { functionDefinition, functionVersion } from '../testing/records.js';
import { renderProfile } from './profiles.js';
import { profileReportPieces } from './report.js';

const root = path.join(import.meta.dirname, '../../../..');

/** What a golden file holds; with UPDATE=1 the file is written first. */
function golden(name: string, actual: string): string {
  const folder = path.join(root, 'test/golden/profiles');
  if (process.env.UPDATE === '1') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, name), actual);
  }
  return readFileSync(path.join(folder, name), 'utf8');
}

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);
const exec = {
  platforms: [
    {
      bin: 'run',
      os: 'linux' as const,
      arch: 'amd64' as const,
      uri: 'https://example.com/run.tar.gz',
      sha256: B,
    },
  ],
};
const container = (image: string, rest: object = {}) => ({ container: { image, ...rest } });
const one = (
  kind: string,
  versions: FunctionDefinition['versions'],
  rest: Partial<FunctionDefinition> = {},
) => functionDefinition({ names: { kind }, versions, ...rest });

/** Everything that some profile cannot say, each in a function of its own. */
const SPECIAL: FunctionDefinition[] = [
  one('AnyRuntime', [
    functionVersion('v1', {
      runtime: {
        ...container('registry.example.com/any:v1.0.0', {
          sha256: A,
          requireNetwork: true,
          requireStorageMount: true,
        }),
        exec,
        starlark: 'https://example.com/any.star',
      },
      configMap: true,
    }),
  ]),
  one('ByDigest', [
    functionVersion('v1', { runtime: container(`registry.example.com/by-digest@sha256:${B}`) }),
  ]),
  one('Choice', [functionVersion('v1', { license: 'Apache-2.0 OR MIT', configMap: false })]),
  one('Moved', [
    functionVersion('v2', { runtime: container('registry.example.com/moved:v2.0.0', { sha256: A }) }),
    functionVersion('v1', { runtime: container('old.example.com/moved:v1.1.0', { sha256: B }) }),
    functionVersion('v1beta1', { runtime: container('old.example.com/moved:v1.1.0', { sha256: B }) }),
    functionVersion('v1alpha1', {
      runtime: container('old.example.com/moved:v0.9.0', { sha256: A }),
      license: 'MIT',
    }),
  ]),
  one('Unpinned', [functionVersion('v1', { runtime: container('registry.example.com/unpinned:v3') })], {
    tags: ['mutator', 'validator'],
  }),
];

/** The newest release of each function of the fixtures, and the special ones, in the order of a catalog. */
const DEFINITIONS = [...fixtures(), ...SPECIAL].sort((a, b) =>
  compareFunctionNames({ group: a.group, kind: a.names.kind }, { group: b.group, kind: b.names.kind }),
);

function fixtures(): FunctionDefinition[] {
  const folder = path.join(root, 'test/fixtures/functions');
  return readdirSync(folder).flatMap((name) => {
    const file = readdirSync(path.join(folder, name))
      .filter((one) => one.endsWith('.yaml'))
      .sort()
      .at(-1)!;
    return linted(readFileSync(path.join(folder, name, file)));
  });
}

/** Definitions as krmhub reads them. */
function linted(bytes: Uint8Array): FunctionDefinition[] {
  const { documents, diagnostics } = lint(bytes, { file: 'file.yaml' });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return documents.flatMap((document) =>
    document.kind === 'KRMFunctionDefinition' ? [document.definition] : document.catalog.functions,
  );
}

const header = { name: 'example', labels: { author: 'example-co' } };
const rendered = (profile: Profile, definitions: FunctionDefinition[] = DEFINITIONS) =>
  renderProfile(profile, header, definitions);
const unsupportedFields = (profile: Profile, definition: FunctionDefinition) =>
  rendered(profile, [definition]).report.losses.map(({ version, field, message }) => [
    version,
    field,
    message,
  ]);
const toBytes = (text: string) => new TextEncoder().encode(text);

describe.each(PROFILES)('the profile %s', (profile) => {
  const { text, report } = rendered(profile);

  it('has these bytes, and reports unsupported fields', () => {
    expect(text).toBe(golden(`${profile}.yaml`, text));
    const written = `${JSON.stringify(report, undefined, 1)}\n`;
    expect(written).toBe(golden(`${profile}.report.json`, written));
    expect(report.digest).toBe(sha256(text));
    expect(report.functions + report.omitted).toBe(DEFINITIONS.length);
  });

  it('does not depend on the order of fields in definitions', () => {
    const turned = DEFINITIONS.map(
      (definition) =>
        Object.fromEntries(Object.entries(definition).reverse()) as unknown as FunctionDefinition,
    );
    expect(rendered(profile, turned).text).toBe(text);
  });

  it('renders a catalog without functions', () => {
    const { text: empty, report: nothing } = rendered(profile, []);
    expect(empty).toBe(golden(`empty-${profile}.yaml`, empty));
    expect(nothing).toMatchObject({ functions: 0, omitted: 0, losses: [] });
  });

  it('reports every omitted function without a field', () => {
    for (const definition of DEFINITIONS) {
      const { report: its } = rendered(profile, [definition]);
      const whole = its.losses.filter(({ field, version }) => field === undefined && version === undefined);
      expect(whole).toHaveLength(its.omitted);
      for (const { version, field } of its.losses) {
        if (version !== undefined) expect(definition.versions.map(({ name }) => name)).toContain(version);
        if (field?.startsWith('runtime.container') && !field.endsWith('sha256') && !field.endsWith('image')) {
          const named = definition.versions.find(({ name }) => name === version)!;
          expect(named.runtime.container).toHaveProperty(field.split('.').at(-1)!);
        }
      }
    }
  });

  it('is the same for YAML 1.1 and 1.2 parsers, with any strings', () => {
    const nasty = NASTY_STRINGS.map((description, index) =>
      one(`Nasty${index}`, [functionVersion('v1', { usage: description })], {
        description,
        maintainers: [description],
      }),
    );
    const written = rendered(profile, nasty).text;
    const documents = loadAll(written);
    expect(documents).toEqual(parseAllDocuments(written).map((document) => document.toJS()));
    if (profile === 'porch') return;
    const [first] = documents as { functions?: JsonObject[]; spec?: { krmFunctions: JsonObject[] } }[];
    const items = first!.functions ?? first!.spec!.krmFunctions;
    expect(items.map(({ description }) => description)).toEqual(NASTY_STRINGS);
    expect(() => rendered(profile, [functionDefinition({ description: '\ud800' })])).toThrow(TypeError);
  });
});

describe('kep', () => {
  it('survives a round trip, with separate entries for other runtimes', () => {
    const { text, report } = rendered('kep');
    const read = linted(toBytes(text));
    expect(
      read
        .filter(({ names }) => names.kind === 'Moved')
        .map(({ versions }) => versions.map(({ name }) => name)),
    ).toEqual([['v2'], ['v1', 'v1beta1'], ['v1alpha1']]);
    const merged = new Map<string, FunctionDefinition>();
    for (const definition of read) {
      const first = merged.get(definition.names.kind);
      if (first === undefined) merged.set(definition.names.kind, definition);
      else first.versions.push(...definition.versions);
    }
    const withoutConfigMap = DEFINITIONS.map((definition) => ({
      ...definition,
      versions: definition.versions.map(({ configMap: _, ...version }) => version),
    }));
    expect([...merged.values()]).toEqual(withoutConfigMap);
    expect(report.losses.every(({ field }) => field === 'configMap')).toBe(true);
  });
});

describe('kep-schema', () => {
  const { text, report } = rendered('kep-schema');

  it('omits executables with only an OCI digest', () => {
    const platform = { bin: 'fn', os: 'linux', uri: `oci://a.example/fn@sha256:${'a'.repeat(64)}` } as const;
    const own = { ...platform, arch: 'arm64', sha256: 'a'.repeat(64) } as const;
    const exec = (...platforms: ExecPlatform[]) =>
      one('Digested', [functionVersion('v1', { runtime: { exec: { platforms } }, license: 'Apache-2.0' })]);
    const lost = (definition: FunctionDefinition) =>
      unsupportedFields('kep-schema', definition).map(([version, field]) => [version, field]);
    expect(lost(exec(own))).toEqual([]);
    expect(lost(exec(own, { ...platform, arch: 'amd64' }))).toEqual([['v1', 'runtime.exec.platforms']]);
    expect(lost(exec({ ...platform, arch: 'amd64' }))).toEqual([
      ['v1', undefined],
      [undefined, undefined],
    ]);
  });

  it('includes functions that can be used under Apache-2.0, and omits others', () => {
    const license = (text: string) => {
      const definition = one('Licensed', [functionVersion('v1', { license: text })]);
      return unsupportedFields('kep-schema', definition).map(([version, field]) => [version, field]);
    };
    const leftOut = [
      ['v1', undefined],
      [undefined, undefined],
    ];
    expect(license('Apache-2.0')).toEqual([]);
    expect(license('MIT OR (Apache-2.0 OR BSD-3-Clause)')).toEqual([['v1', 'license']]);
    expect(license('MIT')).toEqual(leftOut);
    expect(license('MIT AND Apache-2.0')).toEqual(leftOut);
    expect(license('Apache-2.0 WITH LLVM-exception')).toEqual(leftOut);
    expect(license('no expression')).toEqual(leftOut);
  });

  it('includes the supported API versions', () => {
    const moved = linted(toBytes(text)).find(({ names }) => names.kind === 'Moved');
    expect(moved?.versions.map(({ name }) => name)).toEqual(['v2', 'v1', 'v1beta1']);
    expect(report.losses).toContainEqual(expect.objectContaining({ kind: 'Moved', version: 'v1alpha1' }));
  });
});

describe('kustomize-prototype', () => {
  it('pins the image in the reference, and maps network access but not storage', () => {
    const { text } = rendered('kustomize-prototype');
    const { spec } = load(text) as { spec: { krmFunctions: FunctionDefinition[] } };
    const runtimes = Object.fromEntries(
      spec.krmFunctions.map(({ names, versions }) => [names.kind, versions.map(({ runtime }) => runtime)]),
    );
    expect(runtimes.AnyRuntime).toEqual([
      { container: { image: `registry.example.com/any:v1.0.0@sha256:${A}`, network: true } },
    ]);
    expect(runtimes.ByDigest).toEqual([
      { container: { image: `registry.example.com/by-digest@sha256:${B}` } },
    ]);
    expect(runtimes.Unpinned).toEqual([{ container: { image: 'registry.example.com/unpinned:v3' } }]);
    expect(runtimes).not.toHaveProperty('RequireLimits');
    expect(unsupportedFields('kustomize-prototype', SPECIAL[0]!).map(([, field]) => field)).toEqual([
      'runtime.exec',
      'runtime.starlark',
      'runtime.container.requireStorageMount',
      'configMap',
    ]);
  });
});

describe('porch', () => {
  it('has one object per image repository, with the tags of its API versions', () => {
    const { text, report } = rendered('porch');
    const objects = loadAll(text) as { metadata: { name: string }; spec: JsonObject }[];
    expect(objects.filter(({ metadata }) => metadata.name.startsWith('moved'))).toMatchObject([
      {
        metadata: { name: 'moved.example.com' },
        spec: { image: 'moved', prefixes: ['registry.example.com'], podExecutor: { tags: ['v2.0.0'] } },
      },
      {
        metadata: { name: 'moved-2.example.com' },
        spec: { image: 'moved', prefixes: ['old.example.com'], podExecutor: { tags: ['v1.1.0', 'v0.9.0'] } },
      },
    ]);
    const bare = one('Bare', [functionVersion('v1', { runtime: container('bare-name:v3') })]);
    expect(load(rendered('porch', [bare]).text)).toMatchObject({
      spec: { image: 'bare-name', prefixes: [''] },
    });
    expect(new Set(objects.map(({ metadata }) => metadata.name)).size).toBe(objects.length);
    expect(report.losses).toContainEqual({
      group: 'example.com',
      kind: 'ByDigest',
      version: 'v1',
      message: expect.stringContaining('has none'),
    });
  });

  it('has unique object names, also for kinds that differ in case', () => {
    const kinds = ['SETLABELS', 'SetLabels', 'SetLabels-2', 'setLabels'];
    const text = rendered(
      'porch',
      kinds.map((kind) => one(kind, [functionVersion('v1')])),
    ).text;
    const names = (loadAll(text) as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
    expect(names).toEqual([
      'setlabels.example.com',
      'setlabels-2.example.com',
      'setlabels-2-2.example.com',
      'setlabels-3.example.com',
    ]);
  });

  it('reports object names that are too long for Kubernetes', () => {
    const definition = one('K'.repeat(60), [functionVersion('v1')], {
      group: `${'a.'.repeat(100)}example.com`,
    });
    expect(rendered('porch', [definition])).toMatchObject({
      text: '',
      report: {
        omitted: 1,
        losses: [expect.anything(), { field: 'versions' }, { message: expect.anything() }],
      },
    });
  });
});

describe('kpt-list', () => {
  it('is JSON with the name, digest, and type of each image', () => {
    const { text, report } = rendered('kpt-list');
    const list = JSON.parse(text) as { version: string; functions: JsonObject[] };
    expect(list.version).toBe('1');
    const images = (name: string) => list.functions.filter(({ image }) => String(image).endsWith(name));
    expect(images('/moved').map(({ image, digest }) => [image, digest])).toEqual([
      ['registry.example.com/moved', `sha256:${A}`],
      ['old.example.com/moved', `sha256:${B}`],
      ['old.example.com/moved', `sha256:${A}`],
    ]);
    expect(images('/any')).toMatchObject([{ type: 'mutator' }]);
    expect(images('/unpinned:v3')).toEqual([expect.not.objectContaining({ digest: expect.anything() })]);
    expect(unsupportedFields('kpt-list', SPECIAL.at(-1)!)).toEqual([
      ['v1', 'runtime.container.sha256', expect.stringContaining('no digest')],
      [undefined, 'tags', expect.stringContaining('mutator and validator')],
    ]);
    expect(report.losses).toContainEqual(
      expect.objectContaining({ kind: 'RenameImages', message: expect.stringContaining('Starlark') }),
    );
  });
});

describe('the streamed report', () => {
  it('has one unsupported field per line, and the snapshot', () => {
    const pieces = profileReportPieces({ catalog: 'c', snapshot: sha256('s'), profile: 'kep' }, []);
    const loss = { group: 'example.com', kind: 'K', message: 'one' };
    const text =
      pieces.values([]) +
      pieces.values([loss, loss]) +
      pieces.end({ digest: sha256('d'), functions: 1, omitted: 0 });
    expect(text.split('\n')).toHaveLength(7);
    expect(JSON.parse(text)).toMatchObject({ snapshot: sha256('s'), losses: [loss, loss], functions: 1 });
  });
});
