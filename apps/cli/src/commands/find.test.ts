import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { textWidth } from '@krmhub/schema/text';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, type TestIoOptions } from '../testing/command-line.js';

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/functions/', import.meta.url));

const DIGEST = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);

const registry = fileRegistry();
beforeAll(async () => {
  for (const [name, release] of [
    ['set-labels', undefined],
    ['render-chart', undefined],
    ['require-limits', undefined],
    ['rename-images', '0.2.0'],
    ['set-namespace', undefined],
  ] as const) {
    const io = await run([
      'publish',
      path.join(fixtures, name),
      '--allow-breaking',
      ...(release === undefined ? [] : ['--release', release]),
    ]);
    expect(io.exitCode, io.err()).toBe(0);
  }
});

const run = (args: readonly string[], options: TestIoOptions = {}) =>
  runTest(args, { ...options, env: registry.env });

describe('search', () => {
  it('prints a table that fits 80 columns, and tabs to a pipe', async () => {
    const terminal = await run(['search', '--tag', 'mutator'], { tty: true });
    expect(terminal.out()).toMatch(/FUNCTION +GROUP +RELEASE +OWNER +DESCRIPTION/);
    for (const line of terminal
      .out()
      .replace(/\u001b\[\d+m/g, '')
      .split('\n'))
      expect(textWidth(line)).toBeLessThanOrEqual(80);
    const piped = await run(['search', '--kind', 'SetLabels']);
    expect(piped.out()).toBe(
      'functions.example.com/SetLabels\t2.0.0\tSet labels on every resource, its selectors and its pod templates.\tmutator,labels\t\tnot verified: says it is published by Example Co\n',
    );
  });

  it('joins words with spaces, and repeats filters', async () => {
    expect((await run(['search', 'set', 'lab'])).out()).toMatch(/^functions\.example\.com\/SetLabels\t/);
    const either = await run(['search', '--kind', 'SetLabels', '--kind', 'RenderChart', '-o', 'json']);
    expect(JSON.parse(either.out())).toMatchObject({ total: 2 });
  });

  it('reads words after a dash as those to leave out, wherever they are', async () => {
    const found = async (...args: string[]) => (await run(['search', ...args])).out().match(/(?<=\/)\w+/g);
    const expected = await found('--', 'set', '-kind:labels');
    expect(expected).toContain('SetNamespace');
    expect(expected).not.toContain('SetLabels');
    for (const args of [
      ['set', '-kind:labels'],
      ['-kind:labels', 'set'],
      ['-kind:labels', '--limit', '20', 'set'],
      ['--sort', 'relevance', '-kind:labels', 'set', '-opaque', '-versatile'],
    ])
      expect(await found(...args), args.join(' ')).toEqual(expected);
    expect(await found('-tag:mutator', '-tag:validator')).not.toContain('SetLabels');
    expect(JSON.parse((await run(['search', '-kind:set', '-ojson'])).out()).total).toBeGreaterThan(0);
    expectEnd(await run(['search', '-tag', 'mutator']), 2, "unknown option '-tag'");
    expectEnd(
      await run(['search', 'set', '-qqq', '-xyz', 'nothing']),
      0,
      'the words "set -qqq -xyz nothing"',
    );
  });

  it('sorts by the requested order', async () => {
    const kinds = async (...args: string[]) =>
      (await run(['search', '--all', ...args])).out().match(/(?<=\/)\w+/g);
    expect(await kinds('--sort', 'newest')).toEqual([
      'SetNamespace',
      'RenameImages',
      'RequireLimits',
      'RenderChart',
      'SetLabels',
    ]);
    expect(await kinds('--sort', 'name')).toEqual(await kinds());
    expectEnd(await run(['search', '--sort', 'oldest']), 2, 'relevance, name, newest');
    expect((await run(['search', '--signed-by', 'nobody'])).err()).toContain('signedBy nobody');
  });

  it('prints the total, and pages through all results', async () => {
    const typo = await run(['search', 'lables']);
    expect(typo.err()).toContain('no function has the words "lables": showing results for "labels"');
    expect(typo.out()).toContain('SetLabels');
    const two = await run(['search', '--limit', '2']);
    expect(two.out().trim().split('\n')).toHaveLength(2);
    expect(two.err()).toContain('2 of 5');
    const all = await run(['search', '--all', '-o', 'json']);
    expect(JSON.parse(all.out()).items).toHaveLength(5);
    expect(all.err()).toBe('');
  });

  it('succeeds without results, and lists frequent tags', async () => {
    const io = await run(['search', 'zebra', '--tag', 'mutator']);
    expect([io.exitCode, io.out()]).toEqual([0, '']);
    expect(io.err()).toContain('"zebra"');
    expect(io.err()).toMatch(/mutator \(\d\)/);
    expect(JSON.parse((await run(['search', 'zebra', '-o', 'json'])).out())).toMatchObject({
      total: 0,
      items: [],
    });
  });

  it.each([
    [['--limit', '0']],
    [['--limit', '101']],
    [['--limit', 'many']],
    [['--runtime', 'wasm']],
    [['--all', '--limit', '3']],
  ])('refuses %j', async (args) => {
    expect((await run(['search', ...args])).exitCode).toBe(2);
  });
});

describe('show', () => {
  it('prints everything to use a function, in order', async () => {
    const { out } = await run(['show', 'functions.example.com/SetLabels'], { tty: true });
    const parts = [
      'functions.example.com/SetLabels',
      '2.0.0  (newest)',
      'Set labels on every resource',
      'kind: SetLabels',
      'kustomize build --enable-alpha-plugins .',
      'kpt fn eval . --image registry.example.com/functions/set-labels@sha256:55cfd2ae',
      'no network access',
      'Apache-2.0',
      'FIELD',
      'platform@example.com',
      'RELEASES',
      '1.1.0',
    ];
    let at = -1;
    for (const part of parts) {
      const next = out().indexOf(part, at + 1);
      expect([part, next > at]).toEqual([part, true]);
      at = next;
    }
  });

  it('adds the network option if the function requires it', async () => {
    const text = (await run(['show', 'RenderChart'])).out();
    expect(text).toContain('kustomize build --enable-alpha-plugins --network .');
    expect(text).toMatch(/kpt fn eval .* --network$/m);
    expect(text).toContain('network: true');
    expect(text).toContain('generators:');
  });

  it('lists the platforms of an executable', async () => {
    const text = (await run(['show', 'RequireLimits'])).out();
    expect(text).toContain('https://policy.example.org/releases/v0.9.0/require-limits_linux_arm64.tar.gz');
    expect(text).toContain('sha256:4669af8f9a6ae811c509608644c147c96d6ce9ae0f3d32fa92e2d1c125172286');
    expect((await run(['show', 'RenameImages'])).out()).toContain(
      'oci://registry.example.com/scripts/rename-images@sha256:',
    );
  });

  it('prints the response of the registry as JSON', async () => {
    const url = `${registry.url}/api/v1/functions/functions.example.com/SetLabels`;
    const fn = JSON.parse((await run(['show', 'SetLabels', '-o', 'json'])).out());
    const reference = `${new URL(registry.url).host}/functions/functions.example.com/setlabels`;
    const served = (await (await fetch(url)).json()) as { newest: object };
    expect(fn).toEqual({ ...served, newest: { ...served.newest, reference: `${reference}:2.0.0` } });
    const release = JSON.parse((await run(['show', 'SetLabels@v1.1', '-o', 'json'])).out());
    const one = (await (await fetch(`${url}/releases/1.1.0`)).json()) as object;
    expect(release).toEqual({ ...one, reference: `${reference}:1.1.0` });
    expect((await run(['show', 'SetLabels'])).out()).toMatch(
      new RegExp(`^artifact +${reference}:2\\.0\\.0$`, 'm'),
    );
  });

  it('suggests similar names for an unknown function or release', async () => {
    for (const name of [
      'SetLables',
      'setlabel',
      'functions.example.com/SetLable',
      'other.example.com/SetLabels',
    ]) {
      const io = await run(['show', name]);
      expect([name, io.exitCode, io.out()]).toEqual([name, 3, '']);
      expect(io.err()).toContain('functions.example.com/SetLabels');
    }
    const io = await run(['show', 'SetLabels@9']);
    expect([io.exitCode, io.err().includes('2.0.0, 1.1.0')]).toEqual([3, true]);
    expect((await run(['show', 'setlabels'])).exitCode).toBe(0);
  });

  it('lists the candidates if several groups have the kind', async () => {
    const { readFile } = await import('node:fs/promises');
    const text = await readFile(path.join(fixtures, 'set-namespace/1.4.2.yaml'), 'utf8');
    const stdin = text.replace('group: functions.example.com', 'group: other.example.com');
    expect((await run(['publish', '-'], { stdin })).exitCode).toBe(0);
    const io = await run(['show', 'SetNamespace']);
    expectEnd(io, 3, 'functions.example.com/SetNamespace, other.example.com/SetNamespace');
  });
});

describe('releases', () => {
  it('lists all releases, newest first', async () => {
    const piped = await run(['releases', 'SetLabels']);
    const lines = piped
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(lines.map(([release]) => release)).toEqual(['2.0.0', '1.1.0', '1.0.0']);
    expect(lines[0]).toEqual(['2.0.0', expect.stringMatching(/Z$/), 'admin', 'unsigned', DIGEST, '']);
    expect(piped.err()).toBe('functions.example.com/SetLabels: 3 releases\n');
    const terminal = await run(['releases', 'functions.example.com/SetLabels'], { tty: true });
    expect(terminal.out()).toMatch(/RELEASE +PUBLISHED +BY +SIGNATURE +DIGEST +NOTE/);
    const json = JSON.parse((await run(['releases', 'SetLabels', '-o', 'json'])).out());
    expect(json).toMatchObject({
      kind: 'SetLabels',
      takedowns: [],
      releases: [{ release: '2.0.0' }, {}, {}],
    });
  });

  it('takes a function that exists, without a release', async () => {
    expectEnd(await run(['releases', 'SetLabels@1.0.0']), 2, 'krmhub show SetLabels@1.0.0');
    const none = await run(['releases', 'functions.example.com/SetLable']);
    expectEnd(none, 3, 'Did you mean functions.example.com/SetLabels?');
  });
});

it.each(['', '/', '/catalog.yaml'])('wants the URL of a registry, not that of a catalog: %s', async (end) => {
  const io = await run([
    'search',
    'labels',
    '--registry',
    `https://krm.example.com/krm/catalogs/default${end}`,
  ]);
  expectEnd(io, 2, 'is the URL of a catalog, not of a registry');
  expect(io.err()).toContain('hint: Use https://krm.example.com/krm\n');
});

describe('a misspelled name', () => {
  it.each([
    ['yank', 'functions.example.com/SetLables@1.0.0', '--reason', 'x'],
    ['deprecate', 'functions.example.com/SetLables@1.0.0', '--reason', 'x'],
    ['takedown', 'functions.example.com/SetLables@1.0.0', '--reason', 'x', '--yes'],
    ['diff', 'functions.example.com/SetLables@1.0.0', '2.0.0'],
    ['pull', 'functions.example.com/SetLables@1.0.0'],
    ['show', 'functions.example.com/SetLables'],
  ])('has a suggestion: %s', async (...args) => {
    expectEnd(await run(args), 3, 'Did you mean functions.example.com/SetLabels?');
  });

  it('has a suggestion for the catalogs of a search or a lookup', async () => {
    const search = await run(['search', '--catalog', 'defualt']);
    expect(search.err()).toContain('catalog defualt does not exist; did you mean default?');
    const resolve = await run(['resolve', 'functions.example.com/v1', 'SetLabels', '-c', 'defualt']);
    expectEnd(resolve, 3, 'catalog defualt not found. Did you mean default?');
    expect(resolve.err()).not.toContain('/api/');
  });

  it('has a suggestion for releases and catalogs', async () => {
    const release = await run(['show', 'SetLabels@2.0.1']);
    expect(release.err()).toContain('Did you mean 2.0.0? The newest releases are: 2.0.0, 1.1.0, 1.0.0.');
    for (const args of [
      ['show', 'defualt'],
      ['history', 'defualt'],
      ['diff', 'defualt'],
      ['report', 'defualt'],
    ]) {
      expectEnd(await run(['catalog', ...args]), 3, 'Did you mean default?');
    }
  });
});

describe('yank, unyank, and deprecate', () => {
  const reference = 'functions.example.com/SetLabels@2.0.0';

  it('report the change, or that nothing changed', async () => {
    const yanked = await run(['yank', reference, '--reason', 'drops labels', '-o', 'json']);
    expect(yanked.exitCode).toBe(0);
    expect(JSON.parse(yanked.out())).toMatchObject({ release: '2.0.0', yanked: { reason: 'drops labels' } });
    const again = await run(['yank', reference, '--reason', 'drops labels']);
    expect([again.exitCode, again.out(), again.err().includes('unchanged')]).toEqual([0, '', true]);

    const page = (await run(['show', reference])).out();
    expect(page).toMatch(/YANKED .* by .*: drops labels/);
    expect(page).toContain('functions.example.com/SetLabels@1.1.0');
    expect(page).not.toContain('kpt fn eval');
    expect((await run(['show', 'SetLabels'])).out()).toContain('1.1.0  (newest)');

    expect((await run(['unyank', reference])).err()).toContain('unyanked');
    expect((await run(['unyank', reference])).err()).toContain('unchanged');
  });

  it('deprecates', async () => {
    const old = 'functions.example.com/SetLabels@1.0.0';
    expect((await run(['deprecate', old, '--reason', 'use 2.0.0'])).exitCode).toBe(0);
    expect((await run(['show', old])).out()).toMatch(/DEPRECATED .*: use 2\.0\.0/);
  });

  it('names a replacement, and undoes it', async () => {
    const old = 'functions.example.com/SetLabels@1.0.0';
    const use = 'functions.example.com/SetLabels@^2.0.0';
    const done = await run(['deprecate', old, '--use', use, '-o', 'json']);
    expect(done.exitCode, done.err()).toBe(0);
    expect(JSON.parse(done.out()).deprecated).toMatchObject({
      reason: `use ${use}`,
      replacement: { group: 'functions.example.com', kind: 'SetLabels', releases: '^2.0.0' },
    });
    expect((await run(['deprecate', old, '--use', use])).err()).toContain('unchanged');
    const page = (await run(['show', old])).out();
    expect(page).toContain(`Replacement: ${use}`);
    expect(page).toContain(`deprecated: use ${use}`);
    const newest = 'functions.example.com/SetLabels@2.0.0';
    const other = 'functions.example.com/SetNamespace';
    const deprecated = await run(['deprecate', newest, '--use', other, '--reason', 'merged']);
    expect(deprecated.err()).toContain(`\n  users are told to use ${other}\n`);
    const found = await run(['search', 'labels'], { tty: true, columns: 240 });
    expect(found.out()).toContain('(deprecated: use functions.example.com/SetNamespace)');
    expect((await run(['undeprecate', newest])).err()).toContain('undeprecated');
    expect((await run(['undeprecate', newest])).err()).toContain('is not deprecated');
    expect((await run(['show', newest])).out()).not.toContain('DEPRECATED');
    expect((await run(['undeprecate', old])).exitCode).toBe(0);
  });

  it('take a kind without its group, as show does', async () => {
    for (const [args, words] of [
      [['yank', 'SetLabels@1.0.0', '--reason', 'old'], 'yanked functions.example.com/SetLabels@1.0.0'],
      [['unyank', 'setlabels@1.0.0'], 'unyanked functions.example.com/SetLabels@1.0.0'],
      [
        ['deprecate', 'SetLabels@1.0.0', '--reason', 'old'],
        'deprecated functions.example.com/SetLabels@1.0.0',
      ],
      [['undeprecate', 'SetLabels@1.0.0'], 'undeprecated functions.example.com/SetLabels@1.0.0'],
    ] as const) {
      expectEnd(await run(args), 0, words);
    }
    const full = ['functions.example.com/SetLabels@1.0.0', 'functions.example.com/SetLabels@1.1.0'];
    expect((await run(['diff', 'SetLabels@1.0.0', '1.1.0'])).out()).toBe(
      (await run(['diff', ...full])).out(),
    );
    expectEnd(await run(['yank', 'SetLable@1.0.0', '--reason', 'x']), 3, 'Did you mean');
    expectEnd(await run(['takedown', 'SetLabels@1.0.0', '--reason', 'x', '--yes']), 2, 'has no group');
  });

  it('mark functions whose releases are all yanked, in pipes too', async () => {
    const listed = (await run(['releases', 'functions.example.com/SetNamespace']))
      .out()
      .trimEnd()
      .split('\n');
    const names = listed.map((line) => `functions.example.com/SetNamespace@${line.split('\t')[0]}`);
    for (const name of names) {
      const yanked = await run(['yank', name, '--reason', 'broken']);
      expect([name, yanked.exitCode, yanked.err()]).toEqual([name, 0, expect.any(String)]);
    }
    const columns = (await run(['search', '--group', 'functions.example.com', '--kind', 'SetNamespace']))
      .out()
      .split('\n')[0]!
      .split('\t');
    expect(columns[2]).toMatch(/^\(yanked\) \w/);
    expect(
      (
        await run(['search', '--group', 'functions.example.com', '--kind', 'SetNamespace'], { tty: true })
      ).out(),
    ).toContain('(yanked)');
    expect((await run(['show', 'functions.example.com/SetNamespace'])).out()).toContain('(newest, yanked)');
    for (const name of names) await run(['unyank', name]);
    expect(
      (await run(['search', '--group', 'functions.example.com', '--kind', 'SetNamespace'])).out(),
    ).not.toContain('yanked');
  });

  it.each([
    [[], 2, 'neither --use nor --reason'],
    [['--use', 'SetAll'], 2, 'is not a replacement'],
    [['--use', 'functions.example.com/SetLabels@'], 2, 'is not a replacement'],
    [['--use', 'functions.example.com/SetLabels'], 2, 'includes the deprecated release'],
    [['--use', 'functions.example.com/SetLables'], 2, 'has no function'],
    [
      ['--use', 'functions.example.com/SetLables'],
      2,
      'Did you mean functions.example.com/SetLabels? Or publish',
    ],
  ])('does not deprecate with %j', async (options, exitCode, message) => {
    const io = await run(['deprecate', 'functions.example.com/SetLabels@1.0.0', ...options]);
    expectEnd(io, exitCode, message);
  });

  it('reports invalid requests', async () => {
    expect((await run(['yank', reference])).exitCode).toBe(2);
    expect((await run(['yank', reference, '--reason', ' '])).exitCode).toBe(2);
    expect((await run(['yank', 'functions.example.com/SetLabels', '--reason', 'x'])).exitCode).toBe(2);
    expect((await run(['yank', 'functions.example.com/SetLabels@9', '--reason', 'x'])).exitCode).toBe(3);
    const anonymous = await runTest(['yank', reference, '--reason', 'x'], {
      env: { KRMHUB_REGISTRY: registry.url },
    });
    expect([anonymous.exitCode, anonymous.err().includes('krmhub login')]).toEqual([6, true]);
  });
});
