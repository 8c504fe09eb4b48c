import path from 'node:path';
import type { OciClient } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema/digest';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createOciClient } from '../registry/connect-oci.js';
import { catalogText } from '../testing/catalog-build.js';
import { expectEnd, fileRegistry, runTest, type TestIo } from '../testing/command-line.js';
import { DEPLOYMENT, ENGINE, type FnPackage, fnPackage } from '../testing/fn-package.js';
import { pushTestImage } from '../testing/images.js';
import { config } from '../testing/package-files.js';

/**
 * Images that a package names itself, with a real registry: explain, lock, render, sync, and build agree on what runs,
 * and a tag is shown and locked by its digest.
 */

const registry = fileRegistry();
let host: string;
let client: OciClient;
let first: Digest;
let pack: FnPackage;

beforeAll(async () => {
  host = new URL(registry.url).host;
  client = createOciClient({ env: registry.env });
});
beforeEach(async () => {
  first = await push('first');
});
afterEach(() => pack.remove());

const push = (content: string, repository = 'fn/set-labels') =>
  pushTestImage(client, { host, repository, tag: 'v1' }, content);
const image = () => `${host}/fn/set-labels:v1`;
const at = (digest: string) => `${host}/fn/set-labels@${digest}`;
const catalog = (digest: string) =>
  catalogText('example.com', ['SetLabels'])
    .replaceAll(/registry\.example\.com\/setlabels/g, `${host}/fn/set-labels`)
    .replaceAll(/[a-f0-9]{64}/g, digest.slice('sha256:'.length));
const kptfile = (steps: string) =>
  `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n${steps}`;

async function open(step: string, more: Record<string, string> = {}): Promise<void> {
  pack = await fnPackage({
    'bin/docker': ENGINE,
    'images/set-labels.sh': 'cat',
    'app/Kptfile': kptfile(`    - ${step}\n`),
    'app/labels.yaml': config('SetLabels'),
    'app/deployment.yaml': DEPLOYMENT,
    ...more,
  });
}

function run(...args: string[]): Promise<TestIo> {
  return runTest(args, {
    cwd: pack.folder,
    env: {
      ...registry.env,
      PATH: `${pack.folder}/bin:/usr/bin:/bin`,
      KRMHUB_CACHE: path.join(pack.folder, '.cache'),
      FN_FOLDER: pack.folder,
    },
  });
}

async function explained(...args: string[]) {
  const io = await run('explain', 'app', '-o', 'json', ...args);
  expect([io.exitCode, io.err()]).toEqual([0, '']);
  return JSON.parse(io.out()).functions[0];
}

/** The image of the last run. */
const ran = () => pack.read('engine.log').trimEnd().split('\n').at(-1)!.split(' ').at(-1);

describe('a Kptfile with an image', () => {
  it('runs it, also if a catalog has another one for the functionConfig', async () => {
    const other = `sha256:${'e'.repeat(64)}`;
    await open(`{image: "${image()}", configPath: labels.yaml}`, {
      'catalog.yaml': catalog(other).replaceAll('fn/set-labels', 'fn/other'),
    });
    const found = await explained('-c', 'catalog.yaml');
    expect(found).toMatchObject({
      state: 'inline',
      reason: 'it is from the Kptfile',
      runtime: { image: image(), digest: first, digestFrom: 'registry' },
      isLocked: false,
      warnings: [
        `the image ${image()} is not pinned by digest; its registry has ${first} now; lock it with \`krmhub lock app\``,
        `catalog catalog.yaml has SetLabels as ${host}/fn/other@${other}; to run that, update the Kptfile with \`krmhub kpt sync app\``,
      ],
    });
    expect((await run('fn', 'render', 'app', '-c', 'catalog.yaml')).exitCode).toBe(0);
    expect(ran()).toBe(image());
    const locked = await run('lock', 'app', '-c', 'catalog.yaml');
    expect([locked.exitCode, locked.err()]).toEqual([0, 'wrote app/krmhub.lock: 1 image\n']);
    expect(pack.read('app/krmhub.lock')).toContain(
      `catalogs: []\nfunctions: []\nimages:\n- image: "${image()}"\n  digest: ${first}\n  platforms:\n    linux/amd64: ${first}\n`,
    );
    await run('fn', 'render', 'app', '--frozen', '-c', 'catalog.yaml');
    expect(ran()).toBe(at(first));
  });

  it('is explained without its digest if its registry is not reached, with what catalogs have', async () => {
    const other = `sha256:${'e'.repeat(64)}`;
    await open('{image: "localhost:9/fn/set-labels:v1", configPath: labels.yaml}', {
      'catalog.yaml': catalog(other),
    });
    const unknown =
      /^the image localhost:9\/fn\/set-labels:v1 is not pinned by digest, and its digest is unknown: /;
    expect(await explained('-c', 'catalog.yaml')).toMatchObject({
      state: 'inline',
      isLocked: false,
      warnings: [
        expect.stringMatching(unknown),
        `catalog catalog.yaml has SetLabels as ${at(other)}; to run that, update the Kptfile with \`krmhub kpt sync app\``,
      ],
    });
    await pack.write({
      'app/Kptfile': kptfile('    - image: localhost:9/fn/set-labels:v1\n'),
      'catalog.yaml': catalog(other).replaceAll(host, 'localhost:9'),
    });
    expect((await explained('-c', 'catalog.yaml')).warnings).toEqual([
      expect.stringMatching(unknown),
      `example.com/v1 SetLabels of catalog catalog.yaml has another image of this repository: localhost:9/fn/set-labels@${other}`,
    ]);
  });

  it('has a class of change too where an entry of a catalog names its tag', async () => {
    const byTag = catalog(first).replace(/^ +sha256: .*\n/m, '');
    await open('{configPath: labels.yaml}', {
      'catalog.yaml': byTag.replace(/image: .*/, `image: ${image()}`),
    });
    const locked = await run('lock', 'app', '-c', 'catalog.yaml');
    expect([locked.exitCode, pack.read('app/krmhub.lock')]).toEqual([0, expect.stringContaining(first)]);
    await push('moved');
    const upgraded = await run('lock', 'app', '-c', 'catalog.yaml', '--upgrade');
    expect([upgraded.exitCode, upgraded.out().split('\t').slice(5, 7)]).toEqual([0, ['quiet', 'rebuilt']]);
  });

  it('is locked by the digest of its tag, which stays until it is upgraded', async () => {
    await open(`image: ${image()}`);
    const io = await run('lock', 'app');
    expect(io.out()).toBe(`added\t${image()}\t\t${first}\t\t\t\t\n`);
    expect((await run('lock', 'app', '--check')).exitCode).toBe(0);
    const second = await push('second');
    for (const args of [['--check'], []]) {
      const again = await run('lock', 'app', ...args);
      expect([again.exitCode, again.err()]).toEqual([0, 'app/krmhub.lock is up to date: 1 image\n']);
    }
    expect(await explained()).toMatchObject({
      isLocked: true,
      reason: 'it is from the Kptfile; its digest is locked',
      runtime: { digest: first, digestFrom: 'lock' },
      warnings: [],
    });
    await run('fn', 'render', 'app');
    expect(ran()).toBe(at(first));
    for (const name of ['fn/other', `${host}/fn/set-labels:v2`]) {
      expect((await run('lock', 'app', '--upgrade', name)).exitCode).toBe(2);
    }
    const upgraded = await run('lock', 'app', '--upgrade', `${host}/fn/set-labels`);
    expect(upgraded.out()).toBe(
      `changed\t${image()}\t${first}\t${second}\t\tquiet\trebuilt\tthe digest of the tag changed\n`,
    );
    await run('fn', 'render', 'app', '--frozen');
    expect(ran()).toBe(at(second));
    await pack.write({ 'app/Kptfile': kptfile('    []\n').replace('mutators:\n    []', 'mutators: []') });
    const removed = await run('lock', 'app');
    expect([removed.out(), removed.err()]).toEqual([
      `removed\t${image()}\t${second}\t\t\t\t\t\n`,
      'wrote app/krmhub.lock: nothing to lock\n',
    ]);
  });

  it('cannot be locked if its registry is not reached, or does not have it', async () => {
    await open('image: localhost:9/fn:v1');
    const io = await run('lock', 'app');
    expect([io.exitCode, pack.exists('app/krmhub.lock')]).toEqual([5, false]);
    expect(io.err()).toMatch(
      /^error: app\/Kptfile:7:7: cannot find the digest of the image localhost:9\/fn:v1: /,
    );
    await pack.write({ 'app/Kptfile': kptfile(`    - image: ${host}/fn/none:v1\n`) });
    expect((await run('lock', 'app')).exitCode).toBe(3);
  });

  it.each([
    ['render --frozen', ['fn', 'render', 'app', '--frozen'], 3, 'is not locked'],
    ['eval --frozen', ['fn', 'eval', 'app', '-i', 'IMAGE', '--frozen'], 3, 'is not locked'],
    ['explain --frozen', ['explain', 'app', '--frozen'], 3, 'is not locked'],
    ['kpt sync --frozen', ['kpt', 'sync', 'app', '--frozen'], 3, 'is not locked'],
    ['render --require-digest', ['fn', 'render', 'app', '--require-digest'], 4, 'is not pinned by digest'],
    ['eval --require-digest', ['fn', 'eval', 'app', '-i', 'IMAGE', '--require-digest'], 4, 'is not pinned'],
  ])('is refused without a digest by %s', async (_, args, exitCode, message) => {
    await open(`image: ${image()}`, {
      'app/krmhub.lock': 'apiVersion: krmhub.dev/v1alpha1\nkind: Lock\ncatalogs: []\nfunctions: []\n',
    });
    const named = args.map((one) => one.replace('IMAGE', image()));
    const io = await run(...named);
    expect([io.exitCode, pack.exists('engine.log')]).toEqual([exitCode, false]);
    expect(io.err()).toContain(`the image ${image()} ${message}`);
    await pack.write({ 'app/Kptfile': kptfile(`    - image: ${at(first)}\n`) });
    const pinned = await run(...args.map((one) => one.replace('IMAGE', at(first))));
    expect([pinned.exitCode, pinned.err()]).toEqual([0, expect.not.stringContaining('rror')]);
  });

  it('is locked by the digest of the tag that a constraint allows', async () => {
    const newest = await pushTestImage(client, { host, repository: 'fn/many', tag: 'v1.2.0' }, 'newest');
    await pushTestImage(client, { host, repository: 'fn/many', tag: 'v1.1.0' }, 'older');
    await open(`{image: ${host}/fn/many, tag: "~1"}`, { 'images/many.sh': 'cat' });
    expect(await explained()).toMatchObject({
      runtime: { image: `${host}/fn/many:~1`, tag: 'v1.2.0', digest: newest },
      warnings: [expect.stringContaining(`its registry has v1.2.0 as ${newest} now`)],
    });
    const render = await run('fn', 'render', 'app');
    expect(render.err()).toContain(`[RUNNING] "${host}/fn/many:v1.2.0"\n`);
    expect(ran()).toBe(`${host}/fn/many:v1.2.0`);
    const change = `added\t${host}/fn/many:~1\t\tv1.2.0@${newest}\t\t\t\t\n`;
    expect((await run('lock', 'app')).out()).toBe(change);
    const later = await pushTestImage(client, { host, repository: 'fn/many', tag: 'v1.3.0' }, 'later');
    const frozen = await run('fn', 'render', 'app', '--frozen');
    expect(frozen.err()).toContain(
      `[RUNNING] "${host}/fn/many:v1.2.0"\n  Image: ${host}/fn/many@${newest}\n`,
    );
    expect(ran()).toBe(`${host}/fn/many@${newest}`);
    expect(await explained()).toMatchObject({
      reason: 'it is from the Kptfile; its tag v1.2.0 is locked by digest',
      runtime: { tag: 'v1.2.0', digest: newest },
    });
    expect((await run('lock', 'app', '--upgrade')).out()).toBe(
      `changed\t${host}/fn/many:~1\tv1.2.0@${newest}\tv1.3.0@${later}\t\tquiet\tupgraded\tthe constraint means another tag\n`,
    );
  });

  it('without a registry is where --image-prefix says, for every command', async () => {
    await open('image: set-labels:v1');
    const prefix = ['--image-prefix', `${host}/fn`];
    expect(await explained(...prefix)).toMatchObject({
      runtime: { image: image(), digest: first },
      warnings: [expect.stringContaining(`\`krmhub lock app --image-prefix ${host}/fn\``)],
    });
    await run('fn', 'render', 'app', ...prefix);
    expect(ran()).toBe(image());
    expect((await run('lock', 'app', ...prefix)).exitCode).toBe(0);
    expect((await run('fn', 'render', 'app', '--frozen', ...prefix)).exitCode).toBe(0);
    expect(ran()).toBe(at(first));
    expect((await run('kpt', 'sync', 'app', '--frozen', ...prefix)).exitCode).toBe(0);
    const other = await run('fn', 'render', 'app', '--frozen');
    expect(other.err()).toContain(
      'the image ghcr.io/kptdev/krm-functions-catalog/set-labels:v1 is not locked',
    );
  });

  it('by digest needs no lock file for --frozen', async () => {
    await open(`image: "${at(first)}"`);
    for (const args of [
      ['explain', 'app'],
      ['kpt', 'sync', 'app'],
      ['fn', 'render', 'app'],
    ]) {
      const io = await run(...args, '--frozen');
      expect([io.exitCode, io.err()]).toEqual([0, expect.not.stringContaining('rror')]);
    }
    expect(ran()).toBe(at(first));
    await pack.write({ 'app/Kptfile': kptfile(`    - image: ${image()}\n`) });
    expectEnd(await run('fn', 'render', 'app', '--frozen'), 3, 'is not locked');
  });

  it('is shown with the exact image before it runs', async () => {
    await open(`image: ${image()}`, {
      'images/none': '',
      'images/set-labels.inspect': `["example.com/a@${first}","${at(first)}"] sha256:${'1'.repeat(64)}\n`,
    });
    const io = await run('fn', 'render', 'app');
    expect(io.err()).toContain(`[RUNNING] "${image()}"\n  Image: ${at(first)}\n[PASS] `);
    expect(pack.read('engine.log')).toMatch(new RegExp(`^pull ${image()}\nrun .* ${at(first)}\n$`));
    // An image that was built on this machine.
    await pack.write({ 'images/set-labels.inspect': `[] sha256:${'1'.repeat(64)}\n` });
    const local = await run('fn', 'render', 'app');
    expect(local.err()).toContain(`  Image: sha256:${'1'.repeat(64)}, which is in no registry\n`);
    expect(ran()).toBe(`sha256:${'1'.repeat(64)}`);
  });

  it('is matched to a function of a catalog by its repository', async () => {
    await open(`image: ${image()}`, { 'catalog.yaml': catalog(first) });
    const same = await explained('-c', 'catalog.yaml');
    expect(same.warnings[1]).toBe('the image is example.com/v1 SetLabels of catalog catalog.yaml');
    const second = await push('second');
    const moved = await explained('-c', 'catalog.yaml');
    expect([moved.runtime.digest, moved.warnings[1]]).toEqual([
      second,
      `example.com/v1 SetLabels of catalog catalog.yaml has another image of this repository: ${at(first)}`,
    ]);
  });
});

describe('an image that kpt sync wrote', () => {
  it('is the function of the catalog, and is locked as that', async () => {
    await open('configPath: labels.yaml', { 'catalog.yaml': catalog(first) });
    await run('kpt', 'sync', 'app', '-c', 'catalog.yaml');
    expect(pack.read('app/Kptfile')).toContain(`image: ${at(first)}`);
    expect(await explained('-c', 'catalog.yaml')).toMatchObject({ state: 'resolved', warnings: [] });
    const io = await run('lock', 'app', '-c', 'catalog.yaml');
    expect([io.exitCode, io.err()]).toEqual([0, 'wrote app/krmhub.lock: 1 function of 1 catalog\n']);
    expect((await run('fn', 'render', 'app', '--frozen', '-c', 'catalog.yaml')).exitCode).toBe(0);
    // The catalog moves on, and so does the lock: the Kptfile has to follow.
    const second = await push('second');
    await pack.write({ 'catalog.yaml': catalog(second) });
    expect(await explained('-c', 'catalog.yaml', '--lock', 'app/krmhub.lock')).toMatchObject({
      state: 'resolved',
      isLocked: true,
    });
    await run('lock', 'app', '-c', 'catalog.yaml', '--upgrade');
    expect(await explained('-c', 'catalog.yaml')).toMatchObject({
      state: 'inline',
      runtime: { digest: first },
      warnings: [expect.stringContaining(`has SetLabels as ${at(second)}; to run that, update the Kptfile`)],
    });
    const warned = await run('fn', 'render', 'app', '-c', 'catalog.yaml');
    expect(warned.err()).toContain(`the Kptfile runs ${at(first)}, but the lock file has ${at(second)}`);
    const frozen = await run('fn', 'render', 'app', '-c', 'catalog.yaml', '--frozen');
    expectEnd(frozen, 4, 'krmhub kpt sync');
    await run('kpt', 'sync', 'app', '-c', 'catalog.yaml', '--frozen');
    expect((await run('fn', 'render', 'app', '-c', 'catalog.yaml', '--frozen')).exitCode).toBe(0);
    expect(ran()).toBe(at(second));
  });
});

describe('an image of a functionConfig', () => {
  it('runs as it is locked', async () => {
    await open('configPath: own.yaml', {
      'app/own.yaml': config('Own', `runtime: {container: {image: "${image()}"}}\n`),
    });
    expect(await explained()).toMatchObject({ state: 'inline', runtime: { image: image(), digest: first } });
    await run('fn', 'render', 'app');
    expect(ran()).toBe(image());
    expect((await run('lock', 'app')).err()).toBe('wrote app/krmhub.lock: 1 image\n');
    await push('second');
    await run('fn', 'render', 'app', '--frozen');
    expect(ran()).toBe(at(first));
  });

  it('is built as it is locked', async () => {
    const list = 'apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\nitems: []\\n';
    await open('image: none', {
      // It calls functions as kustomize does.
      'bin/kustomize': `#!/bin/sh\nprintf '${list}' | docker run --network none ${image()}\n`,
      'built/kustomization.yaml': 'transformers: [own.yaml]\n',
      'built/own.yaml': config('Own').replace(
        'metadata:\n',
        `metadata:\n  annotations:\n    config.kubernetes.io/function: "container: {image: '${image()}'}"\n`,
      ),
      'images/set-labels.inspect': `["${at(first)}"] sha256:${'1'.repeat(64)}\n`,
    });
    const build = (...args: string[]) => run('build', 'built', ...args, '--', '--enable-alpha-plugins');
    const io = await build();
    expect([io.exitCode, io.err(), ran()]).toEqual([0, `${image()} is ${at(first)}\n`, at(first)]);
    expectEnd(await build('--require-digest'), 4, 'is not pinned by digest');
    expect((await run('lock', 'built')).exitCode).toBe(0);
    const second = await push('second');
    await pack.write({ 'images/set-labels.inspect': `["${at(second)}"] sha256:${'1'.repeat(64)}\n` });
    for (const option of ['--frozen', '--require-digest']) {
      const locked = await build(option);
      expect([locked.exitCode, locked.err(), ran()]).toEqual([0, '', at(first)]);
    }
  });
});
