import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ARTIFACT_MEDIA_TYPES, artifactManifest, MEDIA_TYPES } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runTest, testIo } from '../../testing/command-line.js';
import type { PluginRecord } from './plugin-record.js';
import { runPlugin } from './run-plugin.js';

/** The registry of the functions. */
const served = new Map<string, { body: Uint8Array; type?: string }>();
let server: Server;
let host: string;
let asked = 0;
const root = mkdtempSync(path.join(tmpdir(), 'krmhub-plugins-'));

beforeAll(async () => {
  server = createServer((request, response) => {
    asked++;
    const file = served.get(request.url!);
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'Content-Type': file.type ?? 'application/octet-stream' }).end(file.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(root, { recursive: true, force: true });
});

let cwd: string;
let env: Record<string, string>;
beforeEach(() => {
  cwd = mkdtempSync(path.join(root, 'test-'));
  env = {
    HOME: path.join(cwd, 'home'),
    KRMHUB_CACHE: path.join(cwd, 'cache'),
    // Without bubblewrap, which is tested with real plugins, and without engines.
    PATH: '/bin',
  };
  asked = 0;
});
const folder = () => path.join(cwd, 'home/.config/kustomize/plugin');
const plugin = (name = 'team.example.com/v1/addlabel/AddLabel') => path.join(folder(), name);
const record = (name?: string) =>
  JSON.parse(readFileSync(`${plugin(name)}.krmhub.json`, 'utf8')) as PluginRecord;
const run = (...args: string[]) => runTest(['plugins', ...args], { cwd, env });

/** Pushes a shell script, and returns its runtime for a catalog. */
function push(script: string, name = 'fn') {
  const body = Buffer.from(`#!/bin/sh\n${script}\n`);
  const digest = sha256(body);
  const files = [{ title: name, mediaType: ARTIFACT_MEDIA_TYPES.exec.layer, digest, size: body.length }];
  const manifest = artifactManifest({ type: 'exec', files });
  served.set(`/v2/team/fn/blobs/${digest}`, { body });
  served.set(`/v2/team/fn/manifests/${sha256(manifest)}`, { body: manifest, type: MEDIA_TYPES.image });
  const platform = (os: string, arch: string) => ({
    os,
    arch,
    bin: name,
    uri: `oci://${host}/team/fn@${sha256(manifest)}`,
    sha256: sha256(manifest).slice('sha256:'.length),
  });
  const platforms = ['linux', 'darwin'].flatMap((os) => ['amd64', 'arm64'].map((arch) => platform(os, arch)));
  return { exec: { platforms } };
}
/** Changes nothing, or adds a label to everything. */
const echo = () => push('exec cat');
const addLabel = (label = 'a: b') => push(`exec sed 's/^  metadata:$/&\\n    labels:\\n      ${label}/'`);

type Runtime = Record<string, unknown>;
function writeCatalog(entries: Record<string, Runtime>, file = 'catalog.yaml'): void {
  const krmFunctions = Object.entries(entries).map(([kind, runtime]) => ({
    group: 'team.example.com',
    names: { kind },
    description: `What ${kind} does`,
    publisher: 'team',
    versions: [
      {
        name: 'v1',
        idempotent: true,
        license: 'Apache-2.0',
        usage: 'https://example.com/README.md',
        examples: ['https://example.com/EXAMPLE.md'],
        schema: { openAPIV3Schema: { type: 'object' } },
        runtime,
      },
    ],
  }));
  const catalog = {
    apiVersion: 'config.kubernetes.io/v1alpha1',
    kind: 'Catalog',
    metadata: { name: 'team' },
    spec: { krmFunctions },
  };
  writeFileSync(path.join(cwd, file), JSON.stringify(catalog));
}
const STARLARK = { starlark: 'https://example.com/fn.star' };

const RESOURCE = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    a: b\n  name: c\n';
/** Runs an installed plugin as kustomize does. */
async function build(stdin: string, options: { config?: string; folder?: string; kind?: string } = {}) {
  const { config = '', folder: root = cwd, kind = 'AddLabel' } = options;
  const file = path.join(cwd, 'config');
  writeFileSync(file, `apiVersion: team.example.com/v1\nkind: ${kind}\nmetadata:\n  name: x\n${config}`);
  const io = testIo({ cwd: root, env: { ...env, KUSTOMIZE_PLUGIN_CONFIG_ROOT: root }, stdin });
  const error = await runPlugin(io, [plugin(`team.example.com/v1/${kind.toLowerCase()}/${kind}`), file]).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (error !== undefined && !(error instanceof KrmhubError)) throw error;
  return { out: io.out(), err: io.err(), code: io.exitCode, error };
}

describe('a functionConfig that is not checked', () => {
  const values = Array.from({ length: 20_001 }, (_, at) => at).join(',');
  const texts = (count: number) => Array.from({ length: count }, (_, at) => `${'x'.repeat(9_000)}${at}`);
  const installWith = async (count: number) => {
    writeCatalog({ AddLabel: addLabel() });
    const file = path.join(cwd, 'catalog.yaml');
    const schema = { type: 'object', properties: { data: { enum: texts(count) }, list: {} } };
    const text = readFileSync(file, 'utf8').replace('{"type":"object"}', JSON.stringify(schema));
    writeFileSync(file, text);
    return run('install', '-c', 'catalog.yaml', '--allow-exec');
  };

  it('is reported at the installation, if the schema is too large for a plugin', async () => {
    const warning =
      'warning: team.example.com/v1/AddLabel: the plugin does not check functionConfigs, because the schema is larger than 262 KB';
    const io = await installWith(30);
    expect([io.exitCode, io.err()]).toEqual([0, expect.stringContaining(warning)]);
    const { err, code } = await build(RESOURCE);
    const unchecked = 'is not checked: the plugin does not have its schema\n';
    expect([code, err]).toEqual([
      0,
      `warning: the functionConfig of team.example.com/v1 AddLabel ${unchecked}`,
    ]);
    expect((await installWith(3)).err()).not.toContain('warning');
  });

  it('is reported by the plugin, if it is too large itself', async () => {
    await installWith(3);
    const { out, err, code } = await build(RESOURCE, { config: `list: [${values}]\n` });
    expect([code, out]).toEqual([0, expect.stringContaining('labels:')]);
    expect(err).toBe(
      'warning: the functionConfig of team.example.com/v1 AddLabel is not checked: it has 20000 values or more\n',
    );
  });
});

describe('plugins install', () => {
  it('says which entries of the catalog are not valid', async () => {
    const invalid = { exec: { platforms: [] } };
    const message =
      /^not installed: catalog \S*catalog\.yaml: its entry team\.example\.com\/Broken is not valid: /m;
    writeCatalog({ Echo: echo(), Broken: invalid });
    const io = await run('install', '-c', 'catalog.yaml', '--allow-exec');
    expect([io.exitCode, io.err()]).toEqual([1, expect.stringMatching(message)]);
    expect(io.err()).toContain('installed 1 plugin in');
    const named = await run('install', '-c', 'catalog.yaml', '--allow-exec', '--kind', 'Echo');
    expect([named.exitCode, named.err()]).toEqual([0, expect.not.stringMatching(message)]);
    const missing = await run('install', '-c', 'catalog.yaml', '--allow-exec', '--kind', 'Broken');
    expect([missing.exitCode, missing.err()]).toEqual([3, expect.stringMatching(message)]);
    writeCatalog({ Broken: invalid });
    const none = await run('install', '-c', 'catalog.yaml', '--allow-exec');
    expect([none.exitCode !== 0, none.err()]).toEqual([true, expect.stringContaining('installed none of 1')]);
    writeCatalog({});
    const empty = await run('install', '-c', 'catalog.yaml', '--allow-exec');
    expect([empty.exitCode, empty.err()]).toEqual([
      3,
      expect.stringMatching(/^error: no functions in \S*catalog\.yaml\n/),
    ]);
  });

  it('says at which position entries without a name are', async () => {
    const nameless = async (functions: Record<string, Runtime>) => {
      writeCatalog(functions);
      const file = path.join(cwd, 'catalog.yaml');
      const catalog = JSON.parse(readFileSync(file, 'utf8'));
      catalog.spec.krmFunctions.push({ names: { kind: 7 } }, 'text');
      writeFileSync(file, JSON.stringify(catalog));
      return run('install', '-c', 'catalog.yaml', '--allow-exec');
    };
    const beside = await nameless({ Echo: echo() });
    expect([beside.exitCode, beside.err()]).toEqual([
      1,
      expect.stringMatching(
        /^not installed: \S* \S*catalog\.yaml: its entry 2, which has no valid name, is not valid: .*\nnot installed: \S* \S*catalog\.yaml: its entry 3, .*: it is not a mapping\ninstalled 1 plugin in/,
      ),
    ]);
    const alone = await nameless({});
    expect([alone.exitCode, alone.err()]).toEqual([
      1,
      expect.stringContaining('installed none of 2 plugins'),
    ]);
    const named = await run('install', '-c', 'catalog.yaml', '--allow-exec', '--kind', 'Entry1');
    expect([named.exitCode, named.err()]).toEqual([3, expect.not.stringContaining('unnamed.invalid')]);
  });

  it('writes a plugin and its record for each kind', async () => {
    writeCatalog({ AddLabel: addLabel(), Echo: echo() });
    const io = await run('install', '-c', 'catalog.yaml', '--allow-exec');
    expect([io.exitCode, io.err()]).toEqual([0, `installed 2 plugins in ${folder()}\n`]);
    expect(io.out().split('\n')[0]).toMatch(
      /^team\.example\.com\/v1\/AddLabel\tunknown\tfn@sha256:[0-9a-f]{64}\texec\tinstalled\t.*\/catalog\.yaml$/,
    );
    expect(statSync(plugin()).mode & 0o777).toBe(0o755);
    expect(readFileSync(plugin(), 'utf8')).toMatch(/^#!\/bin\/sh\n# Runs team\.example\.com\/v1\/AddLabel /);
    expect(record()).toMatchObject({
      function: { apiVersion: 'team.example.com/v1', kind: 'AddLabel' },
      catalogs: [path.join(cwd, 'catalog.yaml')],
      pins: [{ runtime: { type: 'exec' }, catalog: { trustedBy: '--catalog' } }],
      permissions: { allowExec: true, network: false, mounts: [] },
      plugin: sha256(readFileSync(plugin())),
    });
    const again = await run('install', '-c', 'catalog.yaml', '--allow-exec');
    expect(again.exitCode, again.err()).toBe(0);
  });

  it('installs what may run here, and says why not the rest', async () => {
    writeCatalog({
      AddLabel: addLabel(),
      Script: STARLARK,
      Network: { container: { image: `${host}/team/fn`, sha256: 'a'.repeat(64), requireNetwork: true } },
    });
    const io = await run('install', '-c', 'catalog.yaml', '--allow-exec');
    expect(io.exitCode).toBe(1);
    expect(io.err()).toMatch(/^not installed: team\.example\.com\/v1\/Script: (?!cannot run)/m);
    expect(io.err()).toMatch(/^not installed: team\.example\.com\/v1\/Network: .*requires network access/m);
    expect(io.err()).toMatch(/^ {2}hint: .*--network/m);
    expect(io.err()).toContain(`installed 1 of 3 plugins in ${folder()}`);
    expect(readdirSync(path.join(folder(), 'team.example.com/v1'))).toEqual(['addlabel']);
  });

  it('has one line for each kind that it does not install, and each hint once', async () => {
    const network = { container: { image: `${host}/team/fn`, sha256: 'a'.repeat(64), requireNetwork: true } };
    const many = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`Network${at}`, network]));
    writeCatalog({ AddLabel: addLabel(), ...many });
    const io = await run('install', '-c', 'catalog.yaml', '--allow-exec');
    const lines = io.err().trimEnd().split('\n');
    expect(
      lines.map((line) => /^(?:not installed: \S+:| {2}hint:|installed 1 of 7)/.exec(line)?.[0]),
    ).toEqual([
      ...Object.keys(many).map((kind) => `not installed: team.example.com/v1/${kind}:`),
      '  hint:',
      'installed 1 of 7',
    ]);
  });

  it('installs a named kind, or nothing', async () => {
    writeCatalog({ AddLabel: addLabel(), Echo: echo(), Script: STARLARK });
    const options = ['-c', 'catalog.yaml', '--allow-exec'];
    for (const kind of ['AddLabel', 'team.example.com/AddLabel', 'team.example.com/v1/AddLabel']) {
      const io = await run('install', ...options, '--kind', kind);
      expect([io.exitCode, io.out().split('\t')[0]]).toEqual([0, 'team.example.com/v1/AddLabel']);
    }
    expect(existsSync(plugin('team.example.com/v1/echo/Echo'))).toBe(false);
    const failing = await run('install', ...options, '--kind', 'Echo,Script');
    expect(failing.exitCode).toBe(4);
    expect(existsSync(plugin('team.example.com/v1/echo/Echo'))).toBe(false);
    const unknown = await run('install', ...options, '--kind', 'addLabel');
    expect([unknown.exitCode, unknown.err()]).toEqual([
      3,
      expect.stringContaining('no catalog has the kind addLabel'),
    ]);
  });

  it.each([
    [['--allow-exec'], 2, 'no catalog is set'],
    [['-c', 'catalog.yaml'], 4, '--allow-exec'],
    [['-c', 'missing.yaml', '--allow-exec'], 3, 'missing.yaml'],
    [
      ['-c', 'catalog.yaml', '--allow-exec', '--mount', 'type=bind,source=a'],
      2,
      '`target` is not an absolute path',
    ],
    [['-c', 'catalog.yaml', '--allow-exec', '--timeout', '25h'], 2, 'at most 24h'],
  ])('refuses %j with %i', async (args, code, message) => {
    writeCatalog({ AddLabel: addLabel() });
    const io = await run('install', ...args);
    expect([io.exitCode, io.err()]).toEqual([code, expect.stringContaining(message)]);
    expect(existsSync(folder())).toBe(false);
  });

  it('never overwrites files of others, except with --force', async () => {
    writeCatalog({ AddLabel: addLabel() });
    const options = ['-c', 'catalog.yaml', '--allow-exec'];
    mkdirSync(path.dirname(plugin()), { recursive: true });
    writeFileSync(plugin(), '#!/bin/sh\necho mine\n');
    const refused = await run('install', ...options);
    expect([refused.exitCode, refused.err()]).toEqual([
      1,
      expect.stringContaining('was not installed by krmhub'),
    ]);
    expect(readFileSync(plugin(), 'utf8')).toContain('mine');
    expect((await run('install', ...options, '--force')).exitCode).toBe(0);
    writeFileSync(plugin(), '#!/bin/sh\necho changed\n');
    const changed = await run('install', ...options);
    expect([changed.exitCode, changed.err()]).toEqual([
      1,
      expect.stringContaining('changed after the installation'),
    ]);
    writeCatalog({ AddLabel: echo() }, 'other.yaml');
    expect((await run('install', ...options, '--force')).exitCode).toBe(0);
    const other = await run('install', '-c', 'other.yaml', '--allow-exec');
    expect([other.exitCode, other.err()]).toEqual([1, expect.stringContaining('is already installed from')]);
    expect((await run('install', '-c', 'other.yaml', '--allow-exec', '--force')).exitCode).toBe(0);
  });

  it('says where kustomize looks if that is another folder', async () => {
    writeCatalog({ AddLabel: addLabel() });
    const io = await run('install', '-c', 'catalog.yaml', '--allow-exec', '--dir', 'own');
    expect(io.err()).toContain(`set KUSTOMIZE_PLUGIN_HOME=${path.join(cwd, 'own')}`);
    expect(existsSync(path.join(cwd, 'own/team.example.com/v1/addlabel/AddLabel'))).toBe(true);
  });
});

describe('an installed plugin', () => {
  beforeEach(async () => {
    writeCatalog({ AddLabel: addLabel(), Echo: echo(), Fail: push('echo "cannot\u001b[31m" >&2; exit 3') });
    const io = await run('install', '-c', 'catalog.yaml', '--allow-exec');
    expect(io.exitCode, io.err()).toBe(0);
  });

  it('transforms, generates and validates without the network', async () => {
    rmSync(path.join(cwd, 'cache/blobs'), { recursive: true });
    const before = asked;
    expect((await build(RESOURCE)).out).toBe(
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    a: b\n  labels:\n    a: b\n  name: c\n',
    );
    expect((await build('')).out).toContain('kind: AddLabel\n');
    expect((await build(RESOURCE, { kind: 'Echo' })).out).toBe(RESOURCE);
    expect(asked).toBe(before);
    expect(readdirSync(path.join(cwd, 'cache/executables')).filter((name) => name.startsWith('.'))).toEqual(
      [],
    );
  });

  it('fetches again what was removed from the cache', async () => {
    rmSync(path.join(cwd, 'cache'), { recursive: true });
    expect((await build(RESOURCE)).out).toContain('labels:');
    expect(asked).toBeGreaterThan(0);
  });

  it('runs nothing that was changed', async () => {
    const { executable } = record().pins[0];
    const file = path.join(cwd, 'cache/executables', executable!.digest.slice('sha256:'.length), 'fn');
    chmodSync(file, 0o700);
    writeFileSync(file, `#!/bin/sh\ntouch ${cwd}/hacked\ncat\n`);
    expect((await build(RESOURCE)).error).toMatchObject({ code: 'digest-mismatch' });
    expect(existsSync(path.join(cwd, 'hacked'))).toBe(false);
  });

  it('runs nothing that its record does not allow', async () => {
    const file = `${plugin()}.krmhub.json`;
    const permissions = { allowExec: false, network: false, mounts: [] };
    writeFileSync(file, JSON.stringify({ ...record(), permissions }));
    const { out, error } = await build(RESOURCE);
    expect([out, error]).toEqual(['', expect.objectContaining({ code: 'untrusted' })]);
  });

  it('fails with the messages of the function, and prints nothing', async () => {
    const { out, err, code } = await build(RESOURCE, { kind: 'Fail' });
    expect([out, code]).toEqual(['', 1]);
    expect(err).toBe('cannot␛[31m\nerror: team.example.com/v1/Fail failed with exit code 3\n');
  });

  it('does not run what the configuration names itself', async () => {
    const config = 'runtime: {exec: {path: ./mine}}\n';
    expect((await build(RESOURCE, { config })).error).toMatchObject({ code: 'unsupported' });
    expect((await build(RESOURCE, { config: 'runtime: fast\n' })).out).toContain('labels:');
  });

  it('is run by kustomize only, with its own configuration', async () => {
    const io = testIo({ cwd, env });
    await expect(runPlugin(io, [plugin()])).rejects.toMatchObject({ code: 'usage' });
    const other = path.join(cwd, 'other.yaml');
    writeFileSync(other, 'apiVersion: v1\nkind: ConfigMap\n');
    await expect(runPlugin(io, [plugin(), other])).rejects.toMatchObject({ code: 'invalid-request' });
    rmSync(`${plugin()}.krmhub.json`);
    await expect(runPlugin(io, [plugin(), other])).rejects.toMatchObject({
      code: 'not-found',
      hint: expect.stringContaining('krmhub plugins install --force --kind team.example.com/v1/'),
    });
    writeFileSync(`${plugin()}.krmhub.json`, '{"kind": "KustomizePlugin"}');
    await expect(runPlugin(io, [plugin(), other])).rejects.toMatchObject({ code: 'invalid-document' });
  });
});

describe('plugins list', () => {
  it('shows what runs, what was allowed, and what was changed', async () => {
    expect((await run('list')).err()).toContain(`no plugins are installed in ${folder()}`);
    writeCatalog({ AddLabel: addLabel(), Echo: echo(), Third: push('exec cat -') });
    await run('install', '-c', 'catalog.yaml', '--allow-exec');
    writeFileSync(plugin(), 'mine');
    rmSync(plugin('team.example.com/v1/echo/Echo'));
    const listed = JSON.parse((await run('list', '-o', 'json')).out()) as {
      folder: string;
      plugins: { file: string; state: string; permissions: object }[];
    };
    expect(listed.folder).toBe(folder());
    expect(listed.plugins.map(({ file, state }) => [path.basename(file), state])).toEqual([
      ['AddLabel', 'foreign'],
      ['Echo', 'missing'],
      ['Third', 'installed'],
    ]);
    expect(listed.plugins[2]!.permissions).toEqual({ allowExec: true, network: false, mounts: [] });
  });
});

describe('plugins update', () => {
  beforeEach(async () => {
    writeCatalog({ AddLabel: addLabel(), Echo: echo() });
    await run('install', '-c', 'catalog.yaml', '--allow-exec');
  });
  const stored = () => readdirSync(path.join(cwd, 'cache/executables')).length;

  it('says what changes, and changes it', async () => {
    writeCatalog({ AddLabel: addLabel('c: d'), Echo: echo() });
    const before = record();
    const dry = await run('update', '--dry-run');
    expect([dry.exitCode, dry.err()]).toEqual([
      0,
      expect.stringMatching(
        /^team\.example\.com\/v1\/AddLabel:\n {2}definition: sha256:\w+ → sha256:\w+\n( {2}executable for \w+\/\w+: .*\n){4}would update 1 of 2 plugins\n$/,
      ),
    ]);
    expect(record()).toEqual(before);
    const outdated = JSON.parse((await run('update', '--dry-run', '-o', 'json')).out());
    expect(outdated.plugins).toEqual([
      {
        function: expect.anything(),
        outcome: 'outdated',
        changes: expect.arrayContaining([expect.any(String)]),
      },
      { function: expect.anything(), outcome: 'unchanged', changes: [] },
    ]);
    const io = await run('update', '-o', 'json');
    expect([io.exitCode, io.err()]).toEqual([0, expect.stringContaining('updated 1 of 2 plugins')]);
    expect(JSON.parse(io.out()).plugins.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'updated',
      'unchanged',
    ]);
    expect((await build(RESOURCE)).out).toContain('    c: d\n');
    // The former executable is gone.
    expect(stored()).toBe(2);
    expect((await run('update')).err()).toBe('updated 0 of 2 plugins\n');
  });

  it('asks at a terminal', async () => {
    writeCatalog({ AddLabel: addLabel('c: d'), Echo: echo() });
    const before = record();
    const no = await runTest(['plugins', 'update'], { cwd, env, tty: true, stdin: 'n\n' });
    expect([no.exitCode, no.err()]).toEqual([2, expect.stringContaining('not confirmed')]);
    expect(record()).toEqual(before);
    const yes = await runTest(['plugins', 'update', '--yes'], { cwd, env, tty: true });
    expect(yes.exitCode).toBe(0);
    expect(record()).not.toEqual(before);
  });

  it('leaves plugins that require more than was allowed, and updates the others', async () => {
    const needy = { container: { image: `${host}/team/fn`, sha256: 'a'.repeat(64), requireNetwork: true } };
    writeCatalog({ AddLabel: needy, Echo: addLabel('c: d') });
    const before = record();
    const io = await run('update', '-o', 'json');
    expect(JSON.parse(io.out()).plugins).toContainEqual({
      function: { apiVersion: 'team.example.com/v1', kind: 'AddLabel' },
      outcome: 'failed',
      changes: [],
      error: expect.stringContaining('requires network access'),
    });
    expect([io.exitCode, io.err()]).toEqual([
      1,
      expect.stringMatching(
        /not updated: team\.example\.com\/v1\/AddLabel: .*requires network access, and you did not allow it\n.*--network\nupdated 1 of 2 plugins\n$/,
      ),
    ]);
    expect(record()).toEqual(before);
    expect((await build(RESOURCE)).out).toContain('    a: b\n');
    expect((await build(RESOURCE, { kind: 'Echo' })).out).toContain('    c: d\n');
  });

  it('leaves containers that become executables, if executables were not allowed', async () => {
    const file = `${plugin()}.krmhub.json`;
    const permissions = { allowExec: false, network: false, mounts: [] };
    writeFileSync(file, JSON.stringify({ ...record(), permissions }));
    writeCatalog({ AddLabel: addLabel('c: d'), Echo: echo() });
    const io = await run('update', 'AddLabel');
    expect([io.exitCode, io.err()]).toEqual([1, expect.stringContaining('you did not allow executables')]);
    expect((await run('update', 'AddLabel', '--allow-exec')).exitCode).toBe(0);
    expect((await build(RESOURCE)).out).toContain('    c: d\n');
  });

  it('leaves plugins that are no longer in the catalog, and says so', async () => {
    writeCatalog({ Echo: echo() });
    const before = record();
    const io = await run('update');
    expect([io.exitCode, io.err()]).toEqual([
      1,
      expect.stringContaining('not updated: team.example.com/v1/AddLabel: '),
    ]);
    expect(record()).toEqual(before);
    expect((await run('update', 'Echo')).exitCode).toBe(0);
    const unknown = await run('update', 'Missing');
    expect([unknown.exitCode, unknown.err()]).toEqual([3, expect.stringContaining('is not installed')]);
  });
});

describe('plugins remove', () => {
  it('removes what it installed, and nothing else', async () => {
    writeCatalog({ AddLabel: addLabel(), Echo: echo() });
    await run('install', '-c', 'catalog.yaml', '--allow-exec');
    const mine = path.join(path.dirname(plugin()), 'notes.txt');
    writeFileSync(mine, 'mine');
    expect((await run('remove')).exitCode).toBe(2);
    expect((await run('remove', 'AddLabel', '--all')).exitCode).toBe(2);
    const io = await run('remove', 'team.example.com/v1/AddLabel', '-o', 'json');
    expect([io.exitCode, io.err()]).toEqual([0, 'removed team.example.com/v1/AddLabel\n']);
    expect(JSON.parse(io.out()).removed).toMatchObject([{ kind: 'AddLabel', file: expect.any(String) }]);
    expect(readdirSync(path.dirname(plugin()))).toEqual(['notes.txt']);
    writeFileSync(plugin('team.example.com/v1/echo/Echo'), 'changed');
    const refused = await run('remove', '--all');
    expect([refused.exitCode, refused.err()]).toEqual([
      1,
      expect.stringContaining('changed after the installation'),
    ]);
    expect((await run('remove', '--all', '--force')).exitCode).toBe(0);
    expect(readdirSync(path.join(folder(), 'team.example.com/v1'))).toEqual(['addlabel']);
    expect(readdirSync(path.join(cwd, 'cache/executables'))).toEqual([]);
  });
});
