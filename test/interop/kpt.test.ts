import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { arch, platform } from 'node:os';
import path from 'node:path';
import { sha256 } from '@krmhub/schema/digest';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { blocks, documentBlocks } from '../document-blocks.js';
import { finished, spawn } from '../processes.js';
import {
  cleanEnvironment,
  type Finished,
  krmhub,
  type RunningRegistry,
  root,
  startRegistry,
  temporaryFolder,
} from '../running.js';
import {
  type ContainerEngine,
  copyPrograms,
  openContainerEngine,
  whyNoContainers,
} from './container-engine.js';
import { missingReason, registryHost, titleWithReason } from './oci-tools.js';

/** Packages that `krmhub kpt sync` filled in, rendered by the real kpt, against the same packages written by hand. */

const whyNoKpt = missingReason('kpt');
const whyNotContained = whyNoKpt ?? whyNoContainers();
const PLATFORM = `${platform()}/${arch() === 'arm64' ? 'arm64' : 'amd64'}`;

/** Puts a value into every ConfigMap, and passes on the rest. */
const setting = (key: string, value: string) =>
  `#!/bin/sh\nexec sed 's|^  data:$|  data:\\\n    ${key}: "${value}"|'\n`;
const failing = `#!/bin/sh\nsed '/^functionConfig:/,$d'\necho 'results: [{message: no owner, severity: error}]'\nexit 3\n`;

const { folder, remove } = temporaryFolder();
const home = path.join(folder, 'home');

describe.skipIf(whyNoKpt !== undefined)(titleWithReason('kpt', whyNoKpt), () => {
  let registry: RunningRegistry;
  let engine: ContainerEngine | undefined;
  let catalog: string;
  /** `HOST/images/NAME@sha256:…` */
  let image: string;

  beforeAll(async () => {
    mkdirSync(home, { recursive: true });
    registry = await startRegistry(path.join(folder, 'data'));
    catalog = `${registry.url}/catalogs/default`;
    if (whyNotContained === undefined) engine = await openContainerEngine({ withBase: false });
    if (engine !== undefined) image = await pushImage(engine, 'set-owner', setting('owner', 'container'));
    for (const [kind, script] of Object.entries({ SetTeam: setting('team', 'exec'), Fail: failing }))
      await publishScript(kind, script);
    if (engine !== undefined) {
      const [name, digest] = image.split('@sha256:');
      const container = { image: `${name}:v1.0.0`, sha256: digest };
      await publish('example.com', 'SetOwner', { container });
      await publish('functions.example.com', 'SetLabels', { container });
    }
  });
  afterAll(async () => {
    await engine?.remove();
    await registry?.stop();
    remove();
  });

  async function run(program: string, args: readonly string[], cwd = folder): Promise<Finished> {
    const env: NodeJS.ProcessEnv = {
      ...cleanEnvironment(home, registry.env),
      ...engine?.env,
      HOME: home,
      PATH: engine?.env.PATH ?? `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      KPT_FN_RUNTIME: 'podman',
    };
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    return finished(child);
  }
  async function done(program: string, args: readonly string[], cwd?: string): Promise<string> {
    const { code, stdout, stderr } = await run(program, args, cwd);
    expect(code, `${program} ${args.join(' ')}: ${stdout}${stderr}`).toBe(0);
    return stdout;
  }

  /** Pushes an image whose entry point is a shell script, and returns its name with its digest. */
  async function pushImage(containers: ContainerEngine, name: string, script: string): Promise<string> {
    const content = path.join(containers.folder, `image-${name}`);
    await copyPrograms(content, { '/bin/sh': '/bin/sh', '/bin/sed': '/bin/sed' });
    mkdirSync(path.join(content, 'etc'));
    // kpt runs functions as the user of this name.
    writeFileSync(path.join(content, 'etc/passwd'), 'nobody:x:65534:65534:nobody:/:/bin/sh\n');
    writeFileSync(path.join(content, 'function'), script, { mode: 0o755 });
    const host = registryHost(registry);
    const tagged = `${host}/images/${name}:v1.0.0`;
    await containers.makeImage(tagged, content, ['--env', 'PATH=/bin', '--entrypoint', '["/function"]']);
    const digestFile = path.join(containers.folder, 'digest');
    const login = ['--tls-verify=false', '--creds', `anyone:${registry.token}`];
    await containers.podman('push', '--quiet', ...login, '--digestfile', digestFile, tagged);
    await containers.podman('rmi', '--force', tagged);
    // kpt cannot be told that a registry has no TLS.
    writeFileSync(
      containers.env.CONTAINERS_REGISTRIES_CONF!,
      `[[registry]]\nlocation = "${host}"\ninsecure = true\n`,
    );
    return `${host}/images/${name}@${readFileSync(digestFile, 'utf8').trim()}`;
  }

  async function publishScript(kind: string, script: string): Promise<void> {
    const name = kind.toLowerCase();
    writeFileSync(path.join(folder, name), script, { mode: 0o755 });
    const reference = `${registryHost(registry)}/scripts/${name}:v1`;
    const pushed = await krmhub(['push', '--exec', `${PLATFORM}=${name}`, reference], {
      cwd: folder,
      env: registry.env,
    });
    expect(pushed.code, pushed.stderr).toBe(0);
    const [os, cpu] = PLATFORM.split('/');
    const digest = sha256(script).slice('sha256:'.length);
    const executable = { os, arch: cpu, bin: name, uri: `oci://${reference}`, sha256: digest };
    await publish('example.com', kind, { exec: { platforms: [executable] } });
  }

  async function publish(group: string, kind: string, runtime: object): Promise<void> {
    const version = {
      name: 'v1',
      idempotent: true,
      license: 'Apache-2.0',
      usage: `https://${group}/README.md`,
      examples: [`https://${group}/example.yaml`],
      runtime,
      schema: { openAPIV3Schema: { type: 'object', description: 'What to do.' } },
    };
    const names = { kind };
    const spec = { group, names, description: 'Of the test.', publisher: group, versions: [version] };
    const definition = { apiVersion: 'config.kubernetes.io/v1alpha1', kind: 'KRMFunctionDefinition', spec };
    const file = path.join(folder, `${group}-${kind}.json`);
    writeFileSync(file, JSON.stringify(definition));
    const args = ['publish', file, '--release', '1.0.0'];
    const { code, stdout, stderr } = await krmhub(args, { env: registry.env });
    expect(code, stdout + stderr).toBe(0);
    // It is in the catalog when its snapshot is built.
    const entry = `${registry.url}/catalogs/default/functions/${group}/${kind}.yaml`;
    await vi.waitUntil(async () => (await fetch(entry)).ok, { timeout: 60_000, interval: 50 });
  }

  const config = (kind: string) =>
    `apiVersion: example.com/v1\nkind: ${kind}\nmetadata:\n  name: ${kind.toLowerCase()}\n`;
  const kptfile = (name: string, pipeline: string) => `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: ${name}
  annotations:
    config.kubernetes.io/local-config: "true"
    krmhub.dev/catalogs: ${catalog}
info:
  description: of the test # a comment
pipeline:
${pipeline}`;

  /** Writes a package with a subpackage; `runtimes` are the lines of `image` or `exec`, or nothing. */
  function writePackage(at: string, kinds: readonly string[], runtimes: Record<string, string> = {}): string {
    const target = path.join(folder, 'packages', at);
    const entry = (kind: string) =>
      `    ${runtimes[kind] === undefined ? '- ' : `- ${runtimes[kind]}\n      `}configPath: ${kind.toLowerCase()}.yaml # ${kind}\n`;
    for (const [inner, name] of [
      ['', 'app'],
      ['sub', 'sub'],
    ] as const) {
      mkdirSync(path.join(target, inner), { recursive: true });
      const write = (file: string, text: string) => writeFileSync(path.join(target, inner, file), text);
      write('Kptfile', kptfile(name, `  mutators:\n    # in order\n${kinds.map(entry).join('')}`));
      write(
        'settings.yaml',
        `# Comment\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  a: "1"\n`,
      );
      for (const kind of kinds) write(`${kind.toLowerCase()}.yaml`, config(kind));
    }
    return target;
  }

  function contents(at: string): Record<string, string> {
    const names = readdirSync(at, { recursive: true, encoding: 'utf8' });
    const files = names.filter((name) => statSync(path.join(at, name)).isFile());
    return Object.fromEntries(files.sort().map((name) => [name, readFileSync(path.join(at, name), 'utf8')]));
  }
  const rendered = (at: string) =>
    Object.fromEntries(Object.entries(contents(at)).filter(([name]) => path.basename(name) !== 'Kptfile'));

  it('renders an executable of a catalog as one that is written by hand', async () => {
    const synced = writePackage('exec', ['SetTeam']);
    await done('krmhub', ['kpt', 'sync', synced, '--trusted-catalog', catalog]);
    const byHand = writePackage('exec-by-hand', ['SetTeam'], {
      SetTeam: `exec: ${path.join(folder, 'setteam')}`,
    });
    const refused = await run('kpt', ['fn', 'render', synced]);
    expect([refused.code, refused.stdout + refused.stderr]).toEqual([
      1,
      expect.stringContaining('--allow-exec'),
    ]);
    for (const at of [synced, byHand]) await done('kpt', ['fn', 'render', at, '--allow-exec']);
    expect(rendered(synced)).toEqual(rendered(byHand));
    expect(rendered(synced)['sub/settings.yaml']).toContain('team: "exec"');
    // Rendering keeps what sync wrote.
    await done('krmhub', ['kpt', 'sync', synced, '--check', '--trusted-catalog', catalog]);
  });

  it('gives kpt the results of a function that fails', async () => {
    const synced = writePackage('fail', ['Fail']);
    await done('krmhub', ['kpt', 'sync', synced, '--trusted-catalog', catalog]);
    const results = path.join(folder, 'results');
    const { code, stdout, stderr } = await run('kpt', [
      'fn',
      'render',
      synced,
      '--allow-exec',
      '--results-dir',
      results,
    ]);
    expect([code, stdout + stderr]).toEqual([1, expect.stringContaining('no owner')]);
    const { items } = load(readFileSync(path.join(results, 'results.yaml'), 'utf8')) as {
      items: { exitCode: number; results: { message: string }[] }[];
    };
    expect(items[0]).toMatchObject({ exitCode: 1, results: [{ message: 'no owner' }] });
  });

  describe.skipIf(whyNotContained !== undefined)(titleWithReason('with podman', whyNotContained), () => {
    it('renders an image of a catalog as one that is written by hand', async () => {
      const synced = writePackage('container', ['SetOwner', 'SetTeam']);
      await done('krmhub', ['kpt', 'sync', synced, '--trusted-catalog', catalog]);
      const team = /exec: (.*)/.exec(readFileSync(path.join(synced, 'Kptfile'), 'utf8'))![0];
      const byHand = writePackage('container-by-hand', ['SetOwner', 'SetTeam'], {
        SetOwner: `image: ${image}`,
        SetTeam: team,
      });
      // The same bytes: only the lines of the runtimes are new.
      expect(contents(synced)).toEqual(contents(byHand));
      for (const at of [synced, byHand]) await done('kpt', ['fn', 'render', at, '--allow-exec']);
      expect(rendered(synced)).toEqual(rendered(byHand));
      expect(rendered(synced)['settings.yaml']).toContain('  a: "1"\n  owner: "container"\n  team: "exec"\n');
    });

    it('works as docs/kpt.md describes', async () => {
      const cwd = path.join(folder, 'document');
      mkdirSync(cwd);
      // The first block publishes samples whose images are only names: here is a function of the same name that runs.
      const [publishing, ...found] = blocks(readFileSync(path.join(root, 'docs/kpt.md'), 'utf8'));
      expect(publishing!.script).toContain('krmhub publish');
      expect(found.map(({ script }) => script)).toEqual(
        expect.arrayContaining(documentBlocks('docs/kpt.md', 'kpt')),
      );
      const script = found
        .map((block) => block.script)
        .join('\n')
        .replaceAll('http://localhost:8080', registry.url);
      writeFileSync(path.join(cwd, 'session.sh'), script);
      mkdirSync(path.join(cwd, 'package'));
      writeFileSync(
        path.join(cwd, 'package/settings.yaml'),
        'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: "1"\n',
      );
      await done('bash', ['--norc', '-euo', 'pipefail', 'session.sh'], cwd);
      expect(readFileSync(path.join(cwd, 'package/settings.yaml'), 'utf8')).toContain('owner: "container"');
      expect(readFileSync(path.join(cwd, 'package/Kptfile'), 'utf8')).toContain(
        `- image: ${image}\n      configPath: labels.yaml # the team\n`,
      );
    });
  });
});
