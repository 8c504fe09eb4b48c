import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readYaml, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import {
  expectEnd,
  fileRegistry,
  runTest,
  type TestIoOptions,
  temporaryFolder,
  testRegistry,
} from '../testing/command-line.js';

const fixtures = fileURLToPath(new URL('../../../../test/fixtures/', import.meta.url));
const setLabels = path.join(fixtures, 'functions/set-labels/2.0.0.yaml');
const renameImages = path.join(fixtures, 'functions/rename-images/0.2.0.yaml');

const registry = fileRegistry();
const folder = temporaryFolder();

const run = (args: readonly string[], options: TestIoOptions = {}) =>
  runTest(['publish', ...args], { cwd: folder, ...options, env: { ...registry.env, ...options.env } });

async function stored(group: string, kind: string): Promise<string[]> {
  const response = await fetch(`${registry.url}/api/v1/functions/${group}/${kind}`);
  if (response.status === 404) return [];
  const { releases } = (await response.json()) as { releases: { release: string }[] };
  return releases.map(({ release }) => release);
}

/** A definition that lints clean, with its group changed so that tests do not meet. */
async function definition(group: string, change: (text: string) => string = (text) => text): Promise<string> {
  const text = await readFile(setLabels, 'utf8');
  return change(text.replace('group: functions.example.com', `group: ${group}`));
}

async function put(name: string, text: string | Uint8Array): Promise<string> {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
  return name;
}

it('quotes the names of files in hints for a shell', async () => {
  const wrong = await definition('quoted.example.com', (text) => text.replace('names:', 'nams:'));
  await put("it's wrong.yaml", wrong);
  const io = await run(["it's wrong.yaml", '--release', '1.0.0']);
  expectEnd(io, 1, `check: krmhub lint 'it'\\''s wrong.yaml'`);
});

it('publishes the section of a changelog as the notes of a release', async () => {
  const group = 'noted.example.com';
  await put('noted.yaml', await definition(group));
  await put('CHANGELOG.md', '# Changes\n\n## 2.0.0\n\n- Adds \u001b[31mred.\n\n## 1.0.0\n\nFirst.\n');
  expectEnd(
    await run(['noted.yaml', '--release', '3.0.0', '--notes', 'CHANGELOG.md']),
    2,
    'no section for release 3.0.0',
  );
  expect(await stored(group, 'SetLabels')).toEqual([]);
  expect((await run(['noted.yaml', '--release', '2.0.0', '--notes', 'CHANGELOG.md'])).exitCode).toBe(0);
  const show = await runTest(['show', `${group}/SetLabels`], { cwd: folder, env: registry.env });
  expect(show.out()).toContain('NOTES OF 2.0.0');
  expect(show.out()).toMatch(/- Adds .*red\./);
  expect(show.out()).not.toContain('\u001b');
  expect(show.out()).not.toContain('First.');
  await symlink('CHANGELOG.md', path.join(folder, 'linked.md'));
  expectEnd(await run(['noted.yaml', '--release', '2.0.0', '--notes', 'linked.md']), 2, 'is a link to');
});

it('prints errors of the registry, and each warning once', async () => {
  const group = 'cased.example.com';
  await put('case.yaml', await definition(group));
  expect((await run(['case.yaml'])).exitCode).toBe(0);
  const unpinned = (text: string) =>
    text.replace('kind: SetLabels', 'kind: Setlabels').replace(/^ *sha256: .*\n/m, '');
  await put('case.yaml', await definition(group, unpinned));
  const io = await run(['case.yaml', '--release', '2.1.0']);
  expect(io.exitCode).toBe(1);
  // As lint shows it; this one is about the whole file.
  expect(io.err()).toMatch(/^error\[publish\/kind-case\]: .*\n --> case\.yaml\n {2}= hint: /m);
  expect(io.err().match(/image\/unpinned-release/g)).toHaveLength(1);
});

it('skips other documents of files in a folder, but not of file arguments', async () => {
  const text = `apiVersion: apps/v1\nkind: Deployment\n---\n${await definition('beside.example.com')}`;
  await put('beside/all.yaml', text);
  expect((await run(['beside/all.yaml'])).exitCode).toBe(1);
  expectEnd(await run(['beside']), 0);
  expect(await stored('beside.example.com', 'SetLabels')).toEqual(['2.0.0']);
});

it('rejects an incomplete catalog with a fix that works', async () => {
  await put(
    'story/catalog.yaml',
    `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: story}
spec:
  krmFunctions:
  - group: story.example.com
    names: {kind: Peel}
    description: Peels
    versions: [{name: v1}]
    runtime: {container: {image: docker.example.com/peel:v1.0.0}}
`,
  );
  expectEnd(await run(['story']), 1, 'krmhub convert story --out FOLDER');
  await runTest(['convert', 'story', '--out', 'completed'], { cwd: folder });
  expectEnd(await run(['completed']), 0);
  expect(await stored('story.example.com', 'Peel')).toEqual(['1.0.0']);
});

it('rejects placeholders of krmhub init, locally and in the registry', async () => {
  const marked = await definition('left.example.com', (text) =>
    text.replace('  publisher:', '  # CHANGE: who publishes it.\n  publisher:'),
  );
  await put('left.yaml', marked);
  expectEnd(await run(['left.yaml']), 1, 'error[placeholder/marked]');
  const response = await fetch(`${registry.url}/api/v1/functions/left.example.com/SetLabels/releases/2.0.0`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${registry.token}`, 'content-type': 'application/yaml' },
    body: marked,
  });
  expect([response.status, await response.text()]).toEqual([
    expect.any(Number),
    expect.stringContaining('placeholder/marked'),
  ]);
  expect(await stored('left.example.com', 'SetLabels')).toEqual([]);
});

describe('one definition', () => {
  it('stores the exact bytes, with the image tag as the release', async () => {
    const io = await run([setLabels, '-o', 'json']);
    expect(io.exitCode, io.err()).toBe(0);
    const { releases, dryRun } = JSON.parse(io.out());
    const digest = sha256(await readFile(setLabels));
    expect(dryRun).toBe(false);
    expect(releases).toEqual([
      {
        group: 'functions.example.com',
        kind: 'SetLabels',
        release: '2.0.0',
        outcome: 'created',
        digest,
        catalogs: [expect.objectContaining({ catalog: 'default' })],
      },
    ]);
    const again = await run([setLabels]);
    expect([again.exitCode, again.out()]).toEqual([
      0,
      `functions.example.com/SetLabels\t2.0.0\tunchanged\t${digest}\n`,
    ]);
  });

  it('rejects other bytes with both digests and a fix', async () => {
    const text = await definition('conflict.example.com');
    await run(['-'], { stdin: text });
    const changed = text.replace('Set labels on', 'Put labels on');
    const io = await run(['-'], { stdin: changed });
    expect(io.exitCode).toBe(1);
    for (const part of [sha256(text), sha256(changed), 'new release']) expect(io.err()).toContain(part);
  });

  it('requires --release for functions without a version', async () => {
    const io = await run([renameImages, setLabels]);
    expectEnd(io, 2, 'functions.example.com/RenameImages');
    expect(io.err()).toContain('--release');
    expect(io.err()).not.toContain('SetLabels');
    expect(await stored('functions.example.com', 'RenameImages')).toEqual([]);
    expect((await run([renameImages, '--release', 'v0.2'])).exitCode).toBe(0);
    expect(await stored('functions.example.com', 'RenameImages')).toEqual(['0.2.0']);
  });

  it('uses the version in all URLs of its executables', async () => {
    const file = path.join(fixtures, 'functions/require-limits/0.9.0.yaml');
    expect((await run([file])).exitCode).toBe(0);
    expect(await stored('policy.example.org', 'RequireLimits')).toEqual(['0.9.0']);
    const text = await readFile(file, 'utf8');
    const io = await run(['-'], { stdin: text.replace('/releases/v0.9.0/', '/releases/v0.9.1/') });
    expect(io.exitCode).toBe(2);
  });

  it('sends JSON as JSON', async () => {
    const bytes = Buffer.from(await definition('json.example.com'));
    const text = JSON.stringify(readYaml(bytes, { file: 'x' }).documents[0]!.value);
    expectEnd(await run(['-'], { stdin: text }), 0);
    const url = `${registry.url}/api/v1/functions/json.example.com/SetLabels/releases/2.0.0/definition.yaml`;
    const response = await fetch(url);
    expect(response.headers.get('content-type')).toContain('json');
    expect(await response.text()).toBe(text);
  });

  it('stores a README, but only for a single definition', async () => {
    const one = await put('readme/one.yaml', await definition('readme.example.com'));
    const two = await put('readme/two.yaml', await definition('readme2.example.com'));
    const readme = await put('readme/README.md', '# Set labels\n');
    const refused = await run([one, two, '--readme', readme]);
    expect(refused.exitCode).toBe(2);
    expect(await stored('readme.example.com', 'SetLabels')).toEqual([]);
    expect((await run([one, '--readme', readme])).exitCode).toBe(0);
    const url = `${registry.url}/api/v1/functions/readme.example.com/SetLabels/releases/2.0.0/readme.md`;
    expect(await (await fetch(url)).text()).toBe('# Set labels\n');
    expect((await run([one, '--readme', await put('big.md', 'a'.repeat(262_145))])).exitCode).toBe(1);
    expect((await run([one, '--readme', 'nowhere.md'])).exitCode).toBe(3);
  });

  it('rejects a README that is a symbolic link', async () => {
    const file = await put('linked/one.yaml', await definition('linked.example.com'));
    await put('secret/token', 'hunter2');
    await symlink('../secret/token', path.join(folder, 'linked/README.md'));
    await symlink('../secret', path.join(folder, 'linked/docs'));
    for (const readme of ['linked/README.md', 'linked/docs/token', path.join(folder, 'linked/README.md')]) {
      const io = await run([file, '--readme', readme]);
      expect(io.exitCode, readme).toBe(2);
      expect(io.err()).toContain('is a link');
    }
    expect(await stored('linked.example.com', 'SetLabels')).toEqual([]);
  });

  it('stores nothing in a dry run', async () => {
    const file = await put('dry.yaml', await definition('dry.example.com'));
    const io = await run([file, '--dry-run', '-o', 'json']);
    expect(io.exitCode).toBe(0);
    expect(JSON.parse(io.out())).toMatchObject({
      dryRun: true,
      releases: [{ outcome: 'created', catalogs: [] }],
    });
    expect(io.err()).toContain('nothing was published');
    expect(await stored('dry.example.com', 'SetLabels')).toEqual([]);
  });

  it.each([['latest'], ['1.0.0+build'], ['']])('refuses the release %j', async (release) => {
    expectEnd(await run([setLabels, '--release', release]), 2, 'SemVer');
  });
});

describe('several definitions', () => {
  it('splits a catalog into its definitions', async () => {
    const io = await run([path.join(fixtures, 'catalogs/example-co.yaml'), '-o', 'json']);
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.err()).toContain('3 definitions');
    const { releases } = JSON.parse(io.out());
    expect(releases.map(({ kind }: { kind: string }) => kind)).toEqual([
      'JavaApplication',
      'Logger',
      'SecretSidecar',
    ]);
    for (const { catalogs } of releases)
      expect(catalogs.map((one: { catalog: string }) => one.catalog)).toEqual(['default']);
  });

  it('splits a file with several documents, and is idempotent', async () => {
    const text = `${await definition('many.example.com')}---\n${await definition('many2.example.com')}`;
    const file = await put('many.yaml', text);
    expect((await run([file])).exitCode).toBe(0);
    expect(await stored('many2.example.com', 'SetLabels')).toEqual(['2.0.0']);
    const again = await run([file]);
    expect(again.out().match(/unchanged/g)).toHaveLength(2);
  });

  it('skips and counts other files of a folder', async () => {
    await put('mixed/definition.yaml', await definition('mixed.example.com'));
    await put('mixed/deployment.yaml', 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n');
    await put('mixed/package.json', '{"name": "x"}');
    const io = await run(['mixed']);
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.err()).toContain('2 files of other kinds skipped');
    const named = await run(['mixed/deployment.yaml']);
    expect(named.exitCode).toBe(1);
    await put('foreign/deployment.yaml', 'apiVersion: apps/v1\nkind: Deployment\n');
    expect((await run(['foreign'])).exitCode).toBe(3);
  });

  it('publishes nothing if one file has an error', async () => {
    await put('faulty/good.yaml', await definition('good.example.com'));
    await put(
      'faulty/bad.yaml',
      await definition('bad.example.com', (text) => text.replace('type: boolean', 'type: bool')),
    );
    const io = await run(['faulty']);
    expect(io.exitCode).toBe(1);
    expect(io.err()).toMatch(/faulty\/bad\.yaml:\d+:\d+/);
    expect(await stored('good.example.com', 'SetLabels')).toEqual([]);
  });

  it('publishes nothing if the registry rejects one, and prints every reason', async () => {
    const first = await definition('plan-a.example.com');
    const second = await definition('plan-b.example.com');
    await run(['-'], { stdin: first });
    await run(['-'], { stdin: second });
    await put('refused/1-new.yaml', await definition('plan-new.example.com'));
    await put('refused/2.yaml', first.replace('Set labels on', 'Put labels on'));
    await put('refused/3.yaml', second.replace('Set labels on', 'Put labels on'));
    const io = await run(['refused']);
    expectEnd(io, 1, 'plan-a.example.com/SetLabels@2.0.0');
    expect(io.err()).toContain('plan-b.example.com/SetLabels@2.0.0');
    expect(await stored('plan-new.example.com', 'SetLabels')).toEqual([]);
  });

  it('rejects two definitions of one release, and kinds that differ in case', async () => {
    const text = await definition('twice.example.com');
    await put('twice/a.yaml', text);
    await put('twice/b.yaml', text);
    expect((await run(['twice'])).exitCode).toBe(0);
    await put('twice/c.yaml', text.replace('Set labels on', 'Put labels on'));
    const io = await run(['twice']);
    expect([io.exitCode, io.err().includes('twice/c.yaml')]).toEqual([2, true]);
    await put('case/a.yaml', await definition('case.example.com'));
    await put(
      'case/b.yaml',
      await definition('case.example.com', (one) => one.replace('kind: SetLabels', 'kind: Setlabels')),
    );
    const cased = await run(['case']);
    expect([cased.exitCode, cased.err().includes('only in case')]).toEqual([2, true]);
    expect(await stored('case.example.com', 'SetLabels')).toEqual([]);
  });

  it('groups warnings by code, with the first place of each', async () => {
    for (const at of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const unpinned = (text: string) => text.replace(/ +sha256: .*\n/, '');
      await put(`warned/${at}.yaml`, await definition(`warned-${at}.example.com`, unpinned));
    }
    const io = await run(['warned']);
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.err().match(/^warning\[image\/unpinned-release\]/gm)).toHaveLength(1);
    expect(io.err()).toMatch(/^ +--> warned\/a\.yaml:\d+:\d+$/m);
    expect(io.err()).toMatch(/= 5 more in 5 files: warned\/b\.yaml:\d+:\d+, .*, …$/m);
    expect(io.err()).toContain('6 warnings in 6 files; list them with `krmhub lint -o json`');
  });

  it('publishes many releases in seconds, and catalogs contain all of them', async () => {
    const groups = Array.from({ length: 46 }, (_, index) => `many-${index}.example.com`);
    for (const group of groups) await put(`load/${group}.yaml`, await definition(group));
    const io = await run(['load'], { tty: true });
    expect(io.exitCode, io.err()).toBe(0);
    expect(io.err()).toContain('publishing 46/46');
    const catalog = await (await fetch(`${registry.url}/catalogs/default/catalog.yaml`)).text();
    for (const group of groups) expect(catalog).toContain(`group: ${group}\n`);
  });
});

describe('failures', () => {
  it('explains how to get a token', async () => {
    const io = await run([setLabels], { env: { KRMHUB_TOKEN: '' } });
    expect(io.exitCode).toBe(6);
    expect(io.err()).toMatch(/krmhub login/);
    expect(io.err()).toMatch(/KRMHUB_TOKEN/);
  });

  it('lints before it asks for a token or a registry', async () => {
    const env = { KRMHUB_TOKEN: '', KRMHUB_REGISTRY: 'http://127.0.0.1:1' };
    expectEnd(await run(['-'], { env, stdin: 'kind: [' }), 1, '<stdin>:1');
    expect((await run([setLabels], { env })).exitCode).toBe(5);
  });

  it('reports the progress after a failure, and that a rerun is safe', async () => {
    for (const at of ['a', 'b', 'c']) await put(`cut/${at}.yaml`, await definition(`cut-${at}.example.com`));
    const { createServer } = await import('node:http');
    let puts = 0;
    // In front of the registry, and gone after the first release that it stores.
    const proxy = createServer((request, response) => {
      const dryRun = request.url?.includes('dryRun=true') === true;
      if (!dryRun && request.method === 'PUT' && ++puts > 1) return void request.socket.destroy();
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', async () => {
        const headers = { ...(request.headers as Record<string, string>) };
        for (const name of ['host', 'connection', 'content-length']) delete headers[name];
        const answer = await fetch(registry.url + request.url, {
          method: request.method!,
          headers,
          body: Buffer.concat(chunks),
        });
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
        response.end(Buffer.from(await answer.arrayBuffer()));
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = proxy.address() as { port: number };
      const io = await run(['cut'], { env: { KRMHUB_REGISTRY: `http://127.0.0.1:${port}` } });
      expectEnd(io, 5, '1 of 3 releases are published');
      expect(io.err()).toContain('again');
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
    const again = await run(['cut']);
    expect(again.exitCode).toBe(0);
    expect(again.out().match(/unchanged/g)).toHaveLength(1);
    expect(again.out().match(/created/g)).toHaveLength(2);
  });
});

describe('the previous release', () => {
  it('cannot be broken without --allow-breaking, also within one command', async () => {
    const first = await definition('before.example.com');
    const renamed = (text: string) => text.replace('onlyKinds:', 'kinds:');
    const image = (text: string, version: string) =>
      text.replaceAll('set-labels:v2.0.0', `set-labels:v${version}`);
    await put('before/10.yaml', image(renamed(first), '10.0.0'));
    await put('before/2.yaml', first);
    await put('before/3.yaml', image(first.replace('idempotent: true', 'idempotent: false'), '3.0.0'));
    const together = await run(['before']);
    expect(together.exitCode).toBe(1);
    expect(together.err()).toMatch(
      /error\[publish\/breaking\]: since 3\.0\.0 in v1: onlyKinds is removed.*\n +--> before\/10\.yaml:\d+:\d+\n +\|\n\d+ \| /,
    );
    expect(together.err()).toContain('krmhub diff before/3.yaml before/10.yaml. Or publish');
    expect(await stored('before.example.com', 'SetLabels')).toEqual([]);

    const kept = await run(['before/2.yaml', 'before/3.yaml']);
    expect(kept.exitCode, kept.err()).toBe(0);
    expect(kept.err()).toContain(
      'warning[publish/review]: since 2.0.0 in v1: the function is no longer idempotent',
    );
    expectEnd(await run(['before/10.yaml', '--dry-run']), 1, 'since 3.0.0 in v1');
    const allowed = await run(['before', '--allow-breaking', '-o', 'json']);
    expect(allowed.exitCode, allowed.err()).toBe(0);
    expect(allowed.err()).toContain('warning[publish/breaking]');
    const { releases } = JSON.parse(allowed.out()) as { releases: { release: string; outcome: string }[] };
    expect(releases.map(({ release, outcome }) => `${release} ${outcome}`)).toEqual([
      '2.0.0 unchanged',
      '3.0.0 unchanged',
      '10.0.0 created',
    ]);
    // Again, and now nothing is left to allow.
    expect((await run(['before'])).exitCode).toBe(0);
  });

  it('of a converted function can be improved as lint suggests', async () => {
    const metadata = `image: registry.example.com/fn/set-banana:v1.0.0
sourceURL: https://example.com/fn/set-banana
description: Sets bananas.
license: Apache-2.0
`;
    const converted = await runTest(['convert', await put('converted/metadata.yaml', metadata)], {
      cwd: folder,
    });
    expect(converted.exitCode).toBe(0);
    await put('converted.yaml', converted.out());
    expect((await run(['converted.yaml', '--release', '1.0.0'])).exitCode).toBe(0);
    const improved = converted
      .out()
      .replace(
        /^( *)x-kubernetes-preserve-unknown-fields: true$/m,
        '$1properties: {color: {type: string, description: The color.}}\n$1required: [color]',
      );
    expect(improved).toContain('required: [color]');
    await put('improved.yaml', improved);
    const io = await run(['improved.yaml', '--release', '1.1.0']);
    expect(io.err()).toMatch(/^warning\[publish\/review\]: .*\(schema-declared\)$/m);
    expect(io.err()).not.toContain('publish/breaking');
    expect(io.exitCode).toBe(0);
  });
});

describe('a registry with a rate limit', () => {
  it('makes publish wait, with one message, until everything is published', async () => {
    const slow = await testRegistry({ KRMHUB_WRITES_PER_MINUTE: '30' });
    try {
      const files: string[] = [];
      for (const kind of ['SlowLabels', 'SlowerLabels']) {
        const text = (await definition('slow.example.com')).replaceAll('SetLabels', kind);
        files.push(await put(`${kind}.yaml`, text));
      }
      // Other writes use up what the token may write now. A dry run and a publish of each file have to wait.
      const write = () =>
        fetch(`${slow.url}/api/v1/functions/slow.example.com/Slow/releases/1.0.0`, {
          method: 'PUT',
          headers: { authorization: `Bearer ${slow.env.KRMHUB_TOKEN}` },
        });
      while ((await write()).status !== 429);
      const result = await run([...files, '--release', '2.0.0', '--no-wait'], { env: slow.env });
      expectEnd(result, 0, 'rate limit of ');
      expect(result.err().match(/rate limit of /g)).toHaveLength(1);
      const found = (await (await fetch(`${slow.url}/api/v1/functions?group=slow.example.com`)).json()) as {
        total: number;
      };
      expect(found.total).toBe(2);
    } finally {
      await slow.close();
    }
  });
});
