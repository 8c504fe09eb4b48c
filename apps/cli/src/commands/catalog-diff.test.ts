import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import {
  CATALOG_CHANGE_CLASSES,
  type CatalogChange,
  type CatalogChangeClass,
  renderCatalog,
  renderDefinition,
  renderEntry,
} from '@krmhub/catalog';
import {
  type FunctionDefinition,
  type FunctionVersion,
  type JsonObject,
  readYaml,
  type Snapshot,
  sha256,
} from '@krmhub/schema';
import { functionDefinition, functionVersion } from '@krmhub/schema/testing/functions';
import { textWidth } from '@krmhub/schema/text';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIoOptions,
  temporaryFolder,
} from '../testing/command-line.js';

const GROUP = 'functions.example.com';
const IMAGE = 'registry.example.com/functions/fn';

const folder = temporaryFolder();
const registry = fileRegistry();
let client: RegistryClient;
beforeAll(async () => {
  client = new RegistryClient(registry);
});

const run = (args: string[], options: TestIoOptions = {}) =>
  runTest(['catalog', 'diff', ...args], { cwd: folder, env: registry.env, ...options });
/** Stderr, without the notice that no key is pinned. */
const told = (io: { err(): string }) => io.err().replace(/^.* is not verified: .*\n/gm, '');
/** The changes that are told, and nothing else on stderr. */
const changes = async (...args: string[]): Promise<CatalogChange[]> => {
  const io = await run([...args, '-o', 'json']);
  expect(told(io)).toBe('');
  return JSON.parse(io.out()).changes;
};
const listClasses = (told: readonly CatalogChange[]) => told.map((change) => change.class);

const fields = (properties: JsonObject): JsonObject => ({ type: 'object', properties });
const TEXT = { type: 'string', description: 'What to set.' };

const version = (name: string, overrides: Partial<FunctionVersion> = {}) =>
  functionVersion(name, {
    schema: { openAPIV3Schema: { ...fields({ a: TEXT }), description: 'What to do.' } },
    runtime: { container: { image: `${IMAGE}:v1.0.0`, sha256: 'a'.repeat(64) } },
    ...overrides,
  });

const definition = (kind: string, overrides: Partial<FunctionDefinition> = {}) =>
  functionDefinition({ group: GROUP, names: { kind }, versions: [version('v1')], ...overrides });

const container = (image: string, more: object = {}) => ({
  runtime: { container: { image, sha256: 'a'.repeat(64), ...more } },
});
const publish = (release: string, fn: FunctionDefinition) =>
  client.publish({
    group: fn.group,
    kind: fn.names.kind,
    release,
    definition: new TextEncoder().encode(renderDefinition(fn)),
    mediaType: 'application/yaml',
    allowBreaking: true,
    wait: true,
  });
const recipe = (name: string, kind: string, source = 'ours', release = '') => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources:
  - name: ${source}
    functions: {${release}}
    match: [{group: ${GROUP}, kind: ${kind}}]
`;
const apply = async (text: string) => {
  expectEnd(await runTest(['catalog', 'apply', '-'], { env: registry.env, stdin: text }), 0);
};

const catalogText = (...functions: FunctionDefinition[]) =>
  [...renderCatalog('catalog.yaml', { name: 'x' }, functions.map(renderEntry))].join('');
const write = async (name: string, text: string) => writeFile(path.join(folder, name), text);

describe('catalog diff', () => {
  it('lists added and removed functions, other sources, and lower releases', async () => {
    await publish('1.0.0', definition('Moves'));
    await publish('1.1.0', definition('Moves', { description: 'Moves on.' }));
    await publish(
      '1.0.0',
      definition('Other', {
        versions: [version('v1', container(`${IMAGE}:v1.0.0`, { requireNetwork: true }))],
      }),
    );
    await apply(recipe('moves', 'Moves'));
    await apply(recipe('moves', 'Moves', 'theirs', 'release: "<1.1.0"'));
    const moved = await changes('moves');
    expect(moved.map((change) => [change.class, change.before, change.after])).toEqual([
      ['downgraded', '1.1.0', '1.0.0'],
      ['source-changed', 'ours', 'theirs'],
      ['texts-changed', undefined, undefined],
    ]);
    await apply(recipe('moves', 'Other'));
    const gone = await changes('moves');
    expect(gone.map(({ kind, class: name }) => [kind, name])).toEqual([
      ['Moves', 'function-removed'],
      ['Other', 'network-needed'],
      ['Other', 'function-added'],
    ]);
  });
});

describe('the compared snapshots', () => {
  beforeAll(async () => {
    const schema = {
      openAPIV3Schema: { ...fields({ a: { ...TEXT, maxLength: 9 } }), description: 'What to do.' },
    };
    const short = version('v1', { schema });
    await publish('1.0.0', definition('Chosen', { tags: ['validator'] }));
    await apply(recipe('chosen', 'Chosen'));
    await publish('1.1.0', definition('Chosen', { tags: ['mutator'] }));
    await publish(
      '1.2.0',
      definition('Chosen', { tags: ['mutator'], publisher: 'Other Co', versions: [short] }),
    );
  });

  it('are the two newest, or those given by serial or digest', async () => {
    const { snapshots } = await client.snapshots('chosen');
    const digests = Object.fromEntries(snapshots.map(({ serial, digest }) => [serial, digest]));
    const io = await run(['chosen', '-o', 'json']);
    expect(io.exitCode).toBe(1);
    expect(JSON.parse(io.out())).toEqual({
      before: { catalog: 'chosen', serial: 2, digest: digests[2] },
      after: { catalog: 'chosen', serial: 3, digest: digests[3] },
      breaking: 1,
      review: 1,
      quiet: 1,
      changes: [
        expect.objectContaining({ class: 'schema-breaking', version: 'v1', rule: 'bound-tightened' }),
        {
          group: GROUP,
          kind: 'Chosen',
          class: 'publisher-changed',
          weight: 'review',
          rule: 'publisher-changed',
          message: 'the publisher changed from "Example Co" to "Other Co"',
          before: 'Example Co',
          after: 'Other Co',
        },
        expect.objectContaining({ class: 'upgraded', before: '1.1.0', after: '1.2.0' }),
      ],
    });
    for (const args of [['2'], ['2', '3'], [digests[2]!, digests[3]!], [digests[2]!]]) {
      expect((await run(['chosen', ...args, '-o', 'json'])).out()).toBe(io.out());
    }
    expect(listClasses(await changes('chosen', '1'))).toEqual([
      'schema-breaking',
      'publisher-changed',
      'upgraded',
      'texts-changed',
    ]);
    expect(listClasses(await changes('chosen', '3', '2'))).toEqual([
      'downgraded',
      'publisher-changed',
      'schema-compatible',
    ]);
    const same = await run(['chosen', '3', '3']);
    expect([same.exitCode, same.out(), told(same)]).toEqual([0, '', 'no differences\n']);
    const yaml = await run(['chosen', '-o', 'yaml']);
    const [document] = readYaml(yaml.outBytes(), { file: 'out' }).documents;
    expect(document!.value).toEqual(JSON.parse(io.out()));
  });

  it('are printed by function within 80 columns, or one change per line in a pipe', async () => {
    const terminal = await run(['chosen'], { tty: true });
    const text = terminal.out().replace(/\u001b\[\d+m/g, '');
    expect(text).toBe(`chosen: snapshot 2 → 3

${GROUP}/Chosen
  breaking    v1: a has the maxLength 9 (schema-breaking)
  to review   the publisher changed from "Example Co" to "Other Co"
                (publisher-changed)
  compatible  v1: the release changed from 1.1.0 to 1.2.0 (upgraded)
`);
    for (const line of text.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(80);
    const piped = await run(['chosen']);
    expect(piped.out().split('\n')[0]).toBe(
      `${GROUP}/Chosen\tbreaking\tschema-breaking\tv1\ta has the maxLength 9`,
    );
    expect(told(piped)).toBe('1 breaking, 1 to review, 1 compatible in 1 function\n');
  });

  it('can be filtered, which also changes the exit code', async () => {
    const only = await run(['chosen', '--only', 'upgraded,publisher-changed']);
    expect(only.exitCode).toBe(0);
    expect(
      only
        .out()
        .split('\n')
        .map((line) => line.split('\t')[2]),
    ).toEqual(['publisher-changed', 'upgraded', undefined]);
    expect(told(only)).toBe('0 breaking, 1 to review, 1 compatible in 1 function (filtered)\n');
    const breaking = await run(['chosen', '--breaking']);
    expect([breaking.exitCode, breaking.out().split('\n').length]).toEqual([1, 2]);
    const unknown = await run(['chosen', '--only', 'upgrade']);
    expect([unknown.exitCode, unknown.out()]).toEqual([2, '']);
    expect(unknown.err()).toContain('network-needed');
  });

  it.each([
    [['nope'], 3, 'Use one of: chosen, '],
    [['chosen', '99'], 3, '`krmhub catalog history chosen`'],
    [['chosen', 'newest'], 2, 'krmhub catalog history chosen'],
    [['chosen', '0'], 2, 'neither a serial'],
    [['Chosen'], 2, '`krmhub catalog list`'],
    [['chosen', 'old.yaml'], 2, 'OLD.yaml NEW.yaml'],
    [['a.yaml'], 2, 'OLD.yaml NEW.yaml'],
    [['a.yaml', 'b.yaml', '3'], 2, 'OLD.yaml NEW.yaml'],
    [['https://krm.example.com/catalogs/default/catalog.yaml', 'b.yaml'], 2, '--registry'],
    [['-', '-'], 2, 'more than once'],
    [['missing.yaml', 'gone.yaml'], 3, 'missing.yaml'],
    [[], 2, 'catalog'],
  ])('and %j ends with %i', async (args, code, said) => {
    const io = await run(args);
    expect([io.exitCode, io.out()]).toEqual([code, '']);
    expect(io.err()).toContain(said);
  });

  it('are required to be two', async () => {
    await publish('1.0.0', definition('Single'));
    await apply(recipe('single', 'Single'));
    const io = await run(['single']);
    expect([io.exitCode, io.out()]).toEqual([3, '']);
    expect(io.err()).toContain('cannot compare snapshots: catalog single has only one snapshot');
    expect(io.err()).toContain('krmhub catalog history single');
    expect(told(await run(['single', '1']))).toBe('no differences\n');
  });

  it('are skipped if they are withdrawn, and fail if given by serial', async () => {
    await publish('1.0.0', definition('Gone'));
    await apply(recipe('gone', 'Gone'));
    await publish('1.1.0', definition('Gone', { publisher: 'Malware Co' }));
    const name = { group: GROUP, kind: 'Gone', release: '1.1.0' };
    await client.takedown(name.group, name.kind, name.release, { reason: 'mal\u001bware' });
    await publish('1.2.0', definition('Gone', { publisher: 'Other Co' }));
    const { snapshots } = await client.snapshots('gone');
    expect(snapshots.map(({ withdrawn }) => withdrawn !== undefined)).toContain(true);
    const io = await run(['gone', '2', '1']);
    expect([io.exitCode, io.out()]).toEqual([3, '']);
    expect(io.err()).toMatch(/cannot compare snapshot 2 of gone: it is withdrawn: .*mal␛ware/);
    expect(io.err()).toContain('krmhub catalog history gone');
    // The surrounding snapshots are compared without a reference.
    const standing = snapshots.filter(({ withdrawn }) => withdrawn === undefined).map(({ serial }) => serial);
    expect(standing.slice(0, 2)).toEqual([4, 3]);
    expect(listClasses(await changes('gone'))).toEqual(['publisher-changed', 'upgraded']);
    await client.takedown(name.group, name.kind, '1.2.0', { reason: 'malware' });
    const after = await run(['gone', '-o', 'json']);
    expect(told(after)).toBe('skipped withdrawn snapshots: 4\n');
    expect(JSON.parse(after.out())).toMatchObject({
      before: { serial: 3 },
      after: { serial: 5 },
      changes: [],
    });
  });
});

describe('files', () => {
  it('are catalogs in any format and order, definitions, or stdin', async () => {
    const [a, b] = [definition('A'), definition('B', { tags: ['one'] })];
    await write('yaml.yaml', catalogText(a, b));
    const json = [...renderCatalog('krmfunctioncatalog.json', { name: 'y' }, [b, a].map(renderEntry))].join(
      '',
    );
    await write('json.json', json);
    await write('many.yaml', `${renderDefinition(b)}---\n${renderDefinition(a)}`);
    for (const other of ['json.json', './many.yaml']) {
      expect(told(await run(['yaml.yaml', other]))).toBe('no differences\n');
    }
    const stdin = await run(['yaml.yaml', '-', '-o', 'json'], { stdin: catalogText(a) });
    expect([stdin.exitCode, JSON.parse(stdin.out())]).toMatchObject([
      1,
      {
        before: { file: 'yaml.yaml' },
        after: { file: '-' },
        breaking: 1,
        changes: [{ kind: 'B', class: 'function-removed' }],
      },
    ]);
    const pulled = await runTest(['catalog', 'pull', 'chosen'], { env: registry.env });
    expect((await run(['-', './json.json'], { stdin: pulled.out() })).exitCode).toBe(1);
  });

  it('cannot inject terminal escapes', async () => {
    const bad = '\u009b31m\u202e"';
    const one = definition('A', { publisher: `x${bad}`, versions: [version('v1', { license: bad })] });
    // YAML itself takes no control characters, but in escapes.
    const quoted = (text: string) =>
      text.replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const json = [...renderCatalog('catalog.json', { name: 'x' }, [renderEntry(one)])].join('');
    await write('control.json', quoted(json).replaceAll('31m', '\\u001b[2J'));
    await write('plain.yaml', catalogText(definition('A')));
    for (const options of [{ tty: true }, {}]) {
      const io = await run(['plain.yaml', 'control.json'], options);
      expect(io.exitCode, io.err()).toBe(0);
      expect(io.out()).toContain('publisher-changed');
      expect((io.out() + io.err()).replace(/\u001b\[\d+m/g, '')).not.toMatch(/[\u001b\u009b\u202e]/);
    }
    const asJson = await run(['plain.yaml', 'control.json', '-o', 'json']);
    expect(asJson.out()).not.toMatch(/[\u001b\u009b\u202e]/);
  });

  it.each([
    ['text', 'not a valid catalog'],
    ['apiVersion: v1\nkind: ConfigMap\n', 'ConfigMap'],
    ['', 'contains no document'],
    [`${'['.repeat(100)}`, 'nested'],
    ['apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec: {krmFunctions: 1}\n', 'is not a list'],
    [
      'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec:\n  krmFunctions: [{group: 1}]\n',
      'spec.krmFunctions[0]: group is missing or has the wrong type',
    ],
    [
      'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec:\n  krmFunctions: [1, 2, 3, 4, 5, 6, 7]\n',
      '(2 more problems)',
    ],
  ])('that hold %j are not compared', async (text, said) => {
    await write('good.yaml', catalogText(definition('A')));
    await write('bad.yaml', text);
    for (const args of [
      ['good.yaml', 'bad.yaml'],
      ['bad.yaml', 'good.yaml'],
    ]) {
      const io = await run(args);
      expect([io.exitCode, io.out()]).toEqual([1, '']);
      expect(io.err()).toContain(said);
      expect(io.err()).toContain('hint: List every problem: krmhub lint bad.yaml');
    }
  });
});

describe('the response of a registry', () => {
  /** What a registry would answer of snapshots of `x`; `change` makes something else of the bytes of the second. */
  async function answering<T>(
    signers: (string | undefined)[],
    work: (url: string) => Promise<T>,
    change: { catalog?: (text: string) => string; snapshot?: (snapshot: Snapshot) => object } = {},
  ): Promise<T> {
    const answers = new Map<string, { body: string; etag: string }>();
    for (const [index, signedBy] of signers.entries()) {
      const serial = index + 1;
      const fn = definition('Fn');
      const form = (name: 'catalog.yaml' | 'catalog.json') =>
        [...renderCatalog(name, { name: 'x' }, [renderEntry(fn)])].join('');
      const [yaml, json] = [form('catalog.yaml'), form('catalog.json')];
      const digests = { 'catalog.yaml': sha256(yaml), 'catalog.json': sha256(json) };
      const snapshot: Snapshot = {
        apiVersion: 'krmhub.dev/v1alpha1',
        kind: 'Snapshot',
        catalog: 'x',
        serial,
        previous: null,
        digests: {
          ...digests,
          'krmfunctioncatalog.yaml': sha256('a'),
          'krmfunctioncatalog.json': sha256('b'),
        },
        entries: [
          {
            group: GROUP,
            kind: 'Fn',
            versions: [
              {
                name: 'v1',
                source: 's',
                release: '1.0.0',
                definition: sha256('x'),
                ...(signedBy === undefined ? {} : { signedBy }),
              },
            ],
          },
        ],
      };
      const last = serial === signers.length;
      for (const reference of [String(serial), digests['catalog.yaml']]) {
        const base = `/catalogs/x/snapshots/${encodeURIComponent(reference)}`;
        const add = (name: string, body: string) =>
          answers.set(decodeURIComponent(`${base}/${name}`), { body, etag: `"${sha256(body)}"` });
        add('snapshot.json', JSON.stringify(last ? (change.snapshot?.(snapshot) ?? snapshot) : snapshot));
        add('catalog.json', last ? (change.catalog?.(json) ?? json) : json);
        add('catalog.yaml', last ? (change.catalog?.(yaml) ?? yaml) : yaml);
      }
    }
    const server = createServer((request, response) => {
      const answer = answers.get(decodeURIComponent(request.url!));
      if (answer === undefined) return void response.writeHead(404).end();
      response.writeHead(200, { 'Content-Type': 'application/json', ETag: answer.etag }).end(answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }
  const diff = (url: string, ...args: string[]) => run(['x', ...args, '--registry', url]);

  it.each<[string | undefined, string | undefined, CatalogChangeClass, string]>([
    ['the key a', 'the key b', 'signer-changed', 'the signer changed from the key a to the key b'],
    ['the key a', undefined, 'signature-removed', 'it is no longer signed; it was signed by the key a'],
    [undefined, 'the key b', 'signature-added', 'it is now signed by the key b'],
  ])('of signers: %s, then %s', async (before, after, name, message) => {
    const io = await answering([before, after], (url) => diff(url, '1', '2'));
    expect([io.exitCode, io.out()]).toEqual([
      0,
      `${GROUP}/Fn\t${CATALOG_CHANGE_CLASSES[name].weight}\t${name}\tv1\t${message}\n`,
    ]);
  });

  it('is verified by digest, and not compared if it differs', async () => {
    const other = (text: string) => text.replace('Example Co', 'Malware Co');
    const wrong: Parameters<typeof answering>[2][] = [
      { catalog: other },
      { snapshot: (snapshot) => ({ ...snapshot, catalog: 'y' }) },
      { snapshot: (snapshot) => ({ ...snapshot, serial: 7 }) },
    ];
    for (const change of wrong) {
      const io = await answering(['a', 'b'], (url) => diff(url, '1', '2'), change);
      expect([io.exitCode, io.out()]).toEqual([4, '']);
      expect(io.err()).toContain('cannot compare snapshots: ');
    }
    // A digest identifies the bytes, also if snapshot.json says something else.
    const lies = {
      catalog: other,
      snapshot: (snapshot: Snapshot) => ({
        ...snapshot,
        digests: { ...snapshot.digests, 'catalog.yaml': sha256(other(catalogText(definition('Fn')))) },
      }),
    };
    const pinned = await answering(
      ['a', 'b'],
      (url) => diff(url, '1', sha256(catalogText(definition('Fn')))),
      lies,
    );
    expect([pinned.exitCode, pinned.out()]).toEqual([4, '']);
  });

  it('must be a catalog', async () => {
    const change = {
      catalog: () => '{}',
      snapshot: (snapshot: Snapshot) => ({
        ...snapshot,
        digests: { ...snapshot.digests, 'catalog.json': sha256('{}') },
      }),
    };
    const io = await answering(['a', 'b'], (url) => diff(url, '1', '2'), change);
    expect([io.exitCode, io.out()]).toEqual([1, '']);
    expect(io.err()).toContain('snapshot 2 of x');
  });
});

it('compares pulled files and artifacts', async () => {
  const out = path.join(folder, 'pulled.yaml');
  const { exitCode } = await runTest(['catalog', 'pull', 'chosen', '--out', out], { env: registry.env });
  expect([exitCode, (await readFile(out)).length > 0]).toEqual([0, true]);
  expect(told(await run([out, out]))).toBe('no differences\n');
  const artifact = `oci://${new URL(registry.url).host}/catalogs/chosen`;
  expect(told(await run([`${artifact}:3`, out]))).toBe('no differences\n');
  expect(listClasses(await changes(`${artifact}:2`, out))).toEqual(['schema-breaking', 'publisher-changed']);
});
