import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runTest } from '../apps/cli/src/testing/command-line.js';
import { spawn, spawnSync } from './processes.js';
import {
  cleanEnvironment,
  fixtures,
  type RunningRegistry,
  root,
  startRegistry,
  temporaryFolder,
} from './running.js';

/**
 * Runs every example of every `--help`, as docs/commands.md has them: each in a new folder with the files
 * that examples name, against one registry that has the content of the examples.
 */

const PINNED = 'needs a program that was built; apps/cli/src/commands/pin.test.ts and docs/authoring.md pin';

/**
 * Examples that cannot run unchanged, and why; those of artifacts run in test/interop/oci-client.test.ts
 * and test/interop/cosign-keys.test.ts, those of functions of catalogs in docs/fn.md, those of builds and previews in test/interop, and those
 * of plugins in test/interop/plugins.test.ts.
 */
const SKIPPED: Record<string, string> = {
  ...Object.fromEntries(
    ['show', 'suspend', 'restore'].map((verb) => [
      `krmhub user ${verb} alice@example.com`,
      'nobody signed in; apps/cli/src/commands/user.test.ts has users',
    ]),
  ),
  'krmhub sign catalog.yaml --keyless': 'would sign at the public instance, in a permanent log',
  'krmhub verify catalog.yaml --identity releases@example.com --issuer https://accounts.example.com':
    'needs a sigstore that knows this identity; test/interop/cosign-keyless.test.ts has one',
  'krmhub test owner --exec "python3 set-owner.py"':
    'needs a function in Python; apps/cli/src/commands/test.test.ts runs programs',
  'krmhub test owner --image localhost/set-owner:dev':
    'needs an engine; apps/cli/src/commands/test.test.ts has one',
  'krmhub pin set-owner --image ghcr.io/acme/set-owner:v1.0.0': PINNED,
  'krmhub pin set-owner/definition.yaml --dry-run': PINNED,
  'krmhub pin check-limits --files check-limits/build': PINNED,
  'krmhub pin check-limits --files build --downloads https://dl.example.com/v1.0.0': PINNED,
  'krmhub trust add https://krm.example.com/catalogs/default':
    'fetches a key; apps/cli/src/signatures/trust/fetch-registry-keys.test.ts has a registry',
  ...Object.fromEntries(
    [
      'claim example.com --team platform',
      'claim example.com --team platform --proof https',
      'transfer example.com --team apps',
      'verify example.com',
      'release example.com',
    ].map((rest) => [
      `krmhub owner ${rest}`,
      'needs a domain; apps/registry/src/owners/owner-claims.test.ts has a name server',
    ]),
  ),
  'krmhub publisher check example.com claims.json':
    'no publisher matches; test/end-to-end/trusted-publishing.test.ts has some',
  'krmhub lock app -c default --upgrade --interactive':
    'needs a terminal; apps/cli/src/commands/lock-preview.test.ts has one',
  'krmhub login --use https://krm.example.com':
    'needs a saved token; apps/cli/src/registry/saved-logins.test.ts has some',
  'echo krm.example.com | krmhub docker-credential get':
    'needs a login; apps/cli/src/registry/docker-helper.test.ts has one',
  'krmhub docker-credential list < /dev/null':
    'reads stdin to its end; apps/cli/src/registry/docker-helper.test.ts runs it',
  'krmhub catalog apply --example kpt-functions':
    'needs the Internet; test/end-to-end/ready-recipes.test.ts has a server in its place',
  'krmhub serve --blob-url "s3://bucket/krmhub?region=eu-central-1"':
    'needs a bucket of Amazon S3; test/interop/server-documents.test.ts has an S3 server',
  'krmhub serve --database-url postgres://krmhub@db.example.com/krmhub':
    'needs PostgreSQL; test/interop/server-documents.test.ts has a server',
  'krmhub fsck --database-url postgres://krmhub@db.example.com/krmhub':
    'needs PostgreSQL; test/interop/postgres-backup.test.ts has a server',
  'krmhub restore backups/sunday --database-url postgres://krmhub@db.example.com/new':
    'needs PostgreSQL; test/interop/postgres-backup.test.ts has a server',
  'krmhub migrate --database-url postgres://krmhub@db.example.com/krmhub':
    'needs PostgreSQL; test/interop/postgres-backup.test.ts has a server',
  'krmhub move --to-data new --to-database-url postgres://krmhub@db.example.com/krmhub':
    'needs PostgreSQL; test/interop/move.test.ts has a server',
  'krmhub move --database-url postgres://krmhub@db.example.com/krmhub --to-data back':
    'needs PostgreSQL; test/interop/move.test.ts has a server',
  'krmhub serve --host 0.0.0.0': 'would open a port of the test machine to its network',
};

const commands = readFileSync(path.join(root, 'docs/commands.md'), 'utf8');
const examples = [
  ...new Set(
    [...commands.matchAll(/^Examples:\n((?: {2}.*\n)+)/gm)].flatMap(([, lines]) =>
      lines!
        .trimEnd()
        .split('\n')
        .map((line) => line.trim().replace(/ {2,}\S.*$/, '')),
    ),
  ),
].filter(
  (example) =>
    !(example in SKIPPED) &&
    (/^krmhub (pull|copy) example\.com\/SetLabels/.test(example) ||
      !/^krmhub (push|pull|copy|build) |localhost:5000|^krmhub plugins .*(catalog|Logger)/.test(example)) &&
    !/^krmhub fn .*(?: -c | -i |--trusted-catalog|kubectl)|^krmhub lock .* --preview/.test(example),
);

/** Programs that examples pipe into. */
const hasJq = spawnSync('jq', ['--version']).status === 0;

const { folder, remove } = temporaryFolder();
const files = path.join(folder, 'files');
/** Keys, and bundles that they made. */
const signed = path.join(folder, 'signed');
const password = { KRMHUB_KEY_PASSWORD: 'a password of the test' };
let registry: RunningRegistry;
let tokenId: string;

/** In the process of this test, which has to start nothing. */
async function run(args: string[], env: Record<string, string> = {}, cwd = files): Promise<string> {
  const io = await runTest(args, { cwd, env: { HOME: cwd, ...registry.env, ...password, ...env } });
  if (io.exitCode !== 0) throw new Error(`krmhub ${args.join(' ')}: ended with ${io.exitCode}\n${io.err()}`);
  return io.out();
}

/** A definition without a runtime. */
const unfinished = `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: example.com
  names: {kind: Split}
  versions: [{name: v1}]
`;

const accessDocument = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: {openGroups: ["*"], teams: [{name: platform}]}
`;

const copyFolder = (from: string, to: string) => cpSync(from, to, { recursive: true });

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'), { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
  mkdirSync(files);
  await run(['init', 'example.com/SetLabels', '--out', '.']);
  await run(['init', 'example.com/SetOwner', '--runtime', 'starlark', '--out', 'owner']);
  const started = path.join(files, 'definition.yaml');
  // With a digest, no registry has to be asked what its tag is.
  const pinned = (line: string, indent: string) => `${line}${indent}sha256: ${'ab'.repeat(32)}\n`;
  const draft = readFileSync(started, 'utf8').replaceAll('# CHANGE:', '#');
  writeFileSync(started, draft.replace(/^( +)image: .*\n/m, pinned));
  mkdirSync(path.join(files, 'functions'));
  for (const name of ['set-namespace/1.4.2', 'require-limits/0.9.0']) {
    const file = `${name.split('/')[0]}.yaml`;
    cpSync(path.join(fixtures, 'functions', `${name}.yaml`), path.join(files, 'functions', file));
  }
  await run(['convert', 'functions', '--out', 'definitions']);
  cpSync(path.join(fixtures, 'catalogs/example-co.yaml'), path.join(files, 'catalog.yaml'));
  cpSync(path.join(fixtures, 'recipes/example-co.yaml'), path.join(files, 'recipe.yaml'));
  for (const name of ['flow', 'result']) {
    cpSync(path.join(root, 'docs/images/home-light.png'), path.join(files, `images/${name}.png`));
  }
  cpSync(path.join(fixtures, 'functions/set-labels/1.0.0.yaml'), path.join(files, 'old.yaml'));
  cpSync(path.join(fixtures, 'functions/set-labels/1.1.0.yaml'), path.join(files, 'new.yaml'));
  writeFileSync(path.join(files, 'metadata.yaml'), metadata);
  const listed = {
    image: 'ghcr.io/example-org/set-owner',
    digest: `sha256:${'0f'.repeat(32)}`,
    description: 'Sets the owner.',
    documentation: 'https://github.com/example-org/functions/blob/main/set-owner.md',
  };
  writeFileSync(path.join(files, 'catalog.json'), JSON.stringify({ version: '1', functions: [listed] }));
  writeFileSync(path.join(files, 'draft.yaml'), unfinished);
  writeFileSync(path.join(files, 'registry.yaml'), 'logLevel: warn\n');
  mkdirSync(path.join(files, 'metadata/set-annotations/v0.2'), { recursive: true });
  writeFileSync(path.join(files, 'metadata/set-annotations/v0.2/metadata.yaml'), metadata);
  writeFileSync(path.join(files, 'plugin.yaml'), plugin);

  mkdirSync(path.join(files, 'app'));
  writeFileSync(
    path.join(files, 'app/kustomization.yaml'),
    `catalogs: ["${registry.url}/catalogs/default"]\ntransformers: [set-labels.yaml]\n`,
  );
  writeFileSync(
    path.join(files, 'app/set-labels.yaml'),
    'apiVersion: example.com/v1alpha1\nkind: SetLabels\nmetadata: {name: a}\nowner: platform\n',
  );

  mkdirSync(path.join(files, 'package'));
  writeFileSync(
    path.join(files, 'package/Kptfile'),
    'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\npipeline:\n  mutators: [{configPath: set-labels.yaml}]\n',
  );
  cpSync(path.join(files, 'app/set-labels.yaml'), path.join(files, 'package/set-labels.yaml'));

  mkdirSync(signed);
  await run(['keygen', '--out', path.join(signed, 'krmhub')]);
  const key = path.join(signed, 'krmhub.key');
  cpSync(path.join(signed, 'krmhub.pub'), path.join(signed, 'registry.pub'));
  const trust = { KRMHUB_TRUST: path.join(signed, 'policies.yaml') };
  await run(['trust', 'add', 'old', '--group', 'old.example.com', '--key', 'krmhub.pub'], trust, signed);
  for (const name of ['catalog.yaml.sigstore.json', 'catalog.bundle.json']) {
    await run(['sign', 'catalog.yaml', '--key', key, '--bundle', path.join(signed, name)]);
  }
  const bundle = path.join(signed, 'definition.yaml.sigstore.json');
  const release = ['--release', '1.0.0', '--readme', 'README.md'];
  await run(['sign', 'definition.yaml', '--key', key, ...release, '--bundle', bundle]);
  writeFileSync(path.join(files, 'tests.json'), '{}');
  const type = 'https://slsa.dev/provenance/v1';
  const provenance = ['--predicate', 'tests.json', '--type', type];
  await run([
    ...['sign', 'definition.yaml', '--key', key, ...provenance],
    ...['--bundle', path.join(signed, 'provenance.sigstore.json')],
  ]);
  const pem = readFileSync(path.join(signed, 'krmhub.pub'), 'utf8').trimEnd().replace(/^/gm, '      ');
  writeFileSync(path.join(files, 'policies.yaml'), `${policyHead}${pem}\n`);

  writeFileSync(path.join(files, 'access.yaml'), accessDocument);
  await run(['access', 'apply', 'access.yaml', '--yes']);
  writeFileSync(path.join(files, 'CHANGELOG.md'), '## 5.0.0\n\n- New.\n');
  await run(['publish', 'definition.yaml', '--release', '1.0.0', '--readme', 'README.md']);
  const owner = path.join(files, 'owner/definition.yaml');
  writeFileSync(owner, readFileSync(owner, 'utf8').replaceAll('# CHANGE:', '#'));
  await run(['publish', owner, '--release', '1.0.0']);
  cpSync(path.join(signed, 'krmhub.pub'), path.join(signed, 'tester.pub'));
  await run(['test', 'owner', '--release', '1.0.0', '--key', key], {
    KRMHUB_CACHE: path.join(folder, 'cache'),
  });
  // The registry is a source of its own catalog, under two names.
  writeFileSync(
    path.join(folder, 'platform.yaml'),
    platform(`${registry.url}/catalogs/default/catalog.yaml`),
  );
  // A registry waits for syncs only for a while; then the recipe is applied already.
  const apply = () => run(['catalog', 'apply', path.join(folder, 'platform.yaml')]);
  await vi.waitFor(apply, { timeout: 300_000, interval: 500 });
  const text = readFileSync(path.join(files, 'definition.yaml'), 'utf8');
  for (const release of ['1.1.0', '1.2.0', '1.3.0', '1.4.0', '1.5.0', '2.0.0']) {
    // Different bytes each time, so that each builds a snapshot.
    const later = text.replace('the owner of a resource', `the owner, ${release}`);
    if (later === text) throw new Error('the definition that init writes has another description');
    writeFileSync(path.join(folder, 'later.yaml'), later);
    await run(['publish', path.join(folder, 'later.yaml'), '--release', release]);
  }
  writeFileSync(
    path.join(files, 'leaked.token'),
    await run(['token', 'create', 'leaked', '--scope', 'publish']),
  );
  await run(['token', 'create', 'old', '--scope', 'publish']);
  await run(['backup', '--data', registry.data, '--out', 'backups/sunday']);
  await run(['restore', 'backups/sunday', '--data', 'data']);
  writeFileSync(path.join(files, 'data/takedowns.jsonl'), '');
  const { keys } = JSON.parse(await run(['key', 'list', '-o', 'json'])) as { keys: { publicKey: string }[] };
  writeFileSync(path.join(files, 'registry.pub'), keys[0]!.publicKey);
  await run(['catalog', 'verify', 'default', '--key', 'registry.pub', '--out', 'default']);
  await run(['catalog', 'inputs', 'platform', '--out', 'platform']);
  await run(['lock', 'app', '-c', 'default']);
  await run(['kpt', 'sync', 'package', '-c', 'default']);
  const { tokens } = JSON.parse(await run(['token', 'list', '-o', 'json'])) as {
    tokens: { id: string; name: string }[];
  };
  tokenId = tokens.find(({ name }) => name === 'old')!.id;
});
afterAll(async () => {
  await registry.stop();
  remove();
});

/** Placeholders in examples for values that are new in every run. */
function forThisRun(example: string): string {
  return example
    .replaceAll('https://krm.example.com', registry.url)
    .replaceAll('localhost:5000', new URL(registry.url).host)
    .replace(/(token revoke )\S+/, `$1${tokenId}`)
    .replace(/(krmhub (?:fsck|backup|key) .*)\/var\/lib\/krmhub/, '$1data')
    .replace(/(krmhub serve)( --port \d+)?( --data \S+)?/, '$1 --port 0 --data served');
}

/**
 * The arguments of a command, and the files of its stdin and stdout; undefined where it takes a shell to run it, or a
 * signal to end it.
 */
function wordsOf(script: string): { args: string[]; stdin?: string; stdout?: string } | undefined {
  const [, line, stdin, stdout] =
    /^krmhub ((?:'[^']*'|[^'<>])*?)(?: < (\S+))?(?: > (\S+))?$/.exec(script) ?? [];
  if (line === undefined || line.startsWith('serve')) return undefined;
  if (/[|&;$`()*?\\"]/.test(line.replace(/'[^']*'|"[^"$`\\]*"/g, ''))) return undefined;
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|([^\s'"]+)/g)];
  const args = words.map(([, single, double, plain]) => single ?? double ?? plain!);
  return { args, ...(stdin === undefined ? {} : { stdin }), ...(stdout === undefined ? {} : { stdout }) };
}

/** Most run in the process of this test, which takes a tenth of the time; these as users run them, besides all that need a shell. */
const realProcesses = new Set(examples.filter((_, at) => at % 16 === 0));

describe('the help', () => {
  it('fits a terminal of 80 columns, besides examples', () => {
    const wide = commands
      .replace(/^Examples:\n((?: {2}.*\n)+)/gm, '')
      .split('\n')
      .filter((line) => line.length > 80);
    expect(wide).toEqual([]);
  });
});

describe('the examples of the help', () => {
  it('are found', () => {
    expect(examples.length).toBeGreaterThan(30);
    const inProcess = examples.filter(
      (one) => wordsOf(forThisRun(one)) !== undefined && !realProcesses.has(one),
    );
    expect(inProcess.length).toBeGreaterThan(examples.length / 2);
  });

  it.for(examples)('%s', async (example, { skip }) => {
    skip(!hasJq && example.includes('| jq'), 'jq is not installed');
    const cwd = path.join(folder, `run-${examples.indexOf(example)}`);
    copyFolder(files, cwd);
    if (/^krmhub (verify|attach|trust|policy add) /.test(example)) copyFolder(signed, cwd);
    if (/^krmhub fn /.test(example)) {
      // Without the lock file of the other examples.
      rmSync(path.join(cwd, 'app'), { recursive: true });
      copyFolder(path.join(fixtures, 'fn'), cwd);
    }
    if (/^krmhub sign |^krmhub (publish|test) .* --key /.test(example))
      cpSync(path.join(signed, 'krmhub.key'), path.join(cwd, 'krmhub.key'));
    const env = cleanEnvironment(cwd, {
      ...registry.env,
      ...password,
      PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
    });
    if (/^krmhub trust remove/.test(example)) env.KRMHUB_TRUST = 'policies.yaml';
    // Other examples published releases after the package was locked.
    if (/^krmhub outdated .*--check/.test(example))
      await run(['lock', 'app', '-c', 'default', '--upgrade'], {}, cwd);
    // An example logs in with its own arguments, not with the environment of this test.
    if (/krmhub log(in|out)/.test(example)) delete env.KRMHUB_TOKEN;
    const script = /^krmhub login https/.test(example)
      ? `${forThisRun(example)} < data/admin.token`
      : forThisRun(example);
    const { args, stdin, stdout } = wordsOf(script) ?? {};
    if (args !== undefined && !realProcesses.has(example)) {
      const given = stdin === undefined ? {} : { stdin: readFileSync(path.join(cwd, stdin)) };
      const variables = Object.entries(env).filter((one): one is [string, string] => one[1] !== undefined);
      const io = await runTest(args, { cwd, env: Object.fromEntries(variables), ...given });
      if (stdout !== undefined) writeFileSync(path.join(cwd, stdout), io.outBytes());
      expect([io.exitCode, io.exitCode === 0 ? '' : io.err()]).toEqual([0, '']);
      return;
    }
    const child = spawn(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', script.startsWith('krmhub serve') ? `exec ${script}` : script],
      {
        cwd,
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const closed = once(child, 'close');
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
      if (script.startsWith('krmhub serve') && stderr.includes('krmhub publish')) child.kill('SIGTERM');
    });
    const [code] = await closed;
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  });
});

const platform = (url: string) => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: platform}
spec:
  sources:
  - {name: ours, functions: {}}
  - {name: banana, catalog: {url: "${url}"}}
  - {name: melon, catalog: {url: "${url}"}}
`;

/** Of a group that no other example uses. */
const policyHead = `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: team}
spec:
  groups: [signed.example.com]
  signers:
  - key: |
`;

const metadata = `image: registry.example.com/kpt/set-annotations
description: Add a list of annotations to all resources.
tags: [mutator]
sourceURL: https://git.example.com/functions/set-annotations
examplePackageURLs: [https://git.example.com/examples/set-annotations]
emails: [functions@example.com]
license: Apache-2.0
`;

const plugin = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: check-limits
spec:
  version: v1.2.3
  homepage: https://tools.example.com/check-limits
  shortDescription: Refuse containers without limits
  platforms:
  - bin: check-limits
    uri: https://tools.example.com/releases/v1.2.3/check-limits_linux_amd64.tar.gz
    sha256: 3217c192703d1d62ef7c51a3d50979eaa8f3c73c9a2d5d0727d4fbe07d89857a
    selector:
      matchLabels: {os: linux, arch: amd64}
`;
