import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { computeDigest } from '@krmhub/oci';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentBlocks } from '../document-blocks.js';
import { spawnSync } from '../processes.js';
import {
  cleanEnvironment,
  krmhub,
  type RunningRegistry,
  root,
  startRegistry,
  temporaryFolder,
} from '../running.js';
import { isInstalled } from './container-engine.js';
import { type DockerRegistry, hasDockerRegistry, startDockerRegistry } from './docker-registry.js';
import { buildGoProgram } from './go-program.js';
import { missingReason, registryHost, titleWithReason } from './oci-tools.js';
import { startShop } from './sample-shop.js';

/** Artifacts of `krmhub push --flux`, read by Flux's own library and by clients of other projects. */

const { folder, remove } = temporaryFolder();
const { file: flux, whyNot: noFlux } = buildGoProgram('flux');

const SOURCE = 'https://git.example.com/shop';
const REVISION = 'main@sha1:0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f';
const config = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;
const files: Record<string, string> = {
  'base/config.yaml': config('base'),
  [`${'deep/'.repeat(30)}ünïcode.yaml`]: config('deep'),
  'shop.yaml': config('shop'),
};

let ours: RunningRegistry;
let theirs: DockerRegistry | undefined;
const rendered = path.join(folder, 'rendered');

beforeAll(async () => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(rendered, name)), { recursive: true });
    writeFileSync(path.join(rendered, name), text);
  }
  ours = await startRegistry(path.join(folder, 'data'));
  if (hasDockerRegistry) theirs = await startDockerRegistry(path.join(folder, 'docker-registry'));
});
afterAll(async () => {
  await ours.stop();
  await theirs?.stop();
  remove();
});

/** The same artifact in a registry of ours and of another project. */
const hosts = () => [new URL(ours.url).host, ...(theirs === undefined ? [] : [theirs.host])];

async function push(reference: string): Promise<string> {
  const args = ['--source', SOURCE, '--revision', REVISION, reference, '-o', 'json'];
  const { code, stdout, stderr } = await krmhub(['push', '--flux', rendered, ...args], { env: ours.env });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout).digest;
}

function run(program: string, args: readonly string[], env: Record<string, string> = {}): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  expect(status, `${program} ${args.join(' ')}: ${stderr}`).toBe(0);
  return stdout;
}

function contents(at: string): Record<string, string> {
  const names = readdirSync(at, { recursive: true, encoding: 'utf8' });
  const regular = names.filter((name) => statSync(path.join(at, name)).isFile());
  return Object.fromEntries(regular.map((name) => [name, readFileSync(path.join(at, name), 'utf8')]));
}

async function manifestOf(host: string, repository: string, tag: string) {
  const response = await fetch(`http://${host}/v2/${repository}/manifests/${tag}`, {
    headers: { Accept: 'application/vnd.oci.image.manifest.v1+json' },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as {
    artifactType?: string;
    config: { mediaType: string };
    layers: { mediaType: string; digest: string }[];
    annotations: Record<string, string>;
  };
}

type ManifestParts = Awaited<ReturnType<typeof manifestOf>>;

const shape = ({ artifactType, config: its, layers, annotations }: ManifestParts) => ({
  artifactType,
  config: its.mediaType,
  layers: layers.map(({ mediaType }) => mediaType),
  annotations: { ...annotations, 'org.opencontainers.image.created': '' },
});

/** A docker configuration with the administrator's token of our registry. */
function loggedIn(host: string): string {
  const at = path.join(folder, `docker-${host.replace(':', '-')}`);
  mkdirSync(at, { recursive: true });
  const auth = Buffer.from(`krmhub:${ours.token}`).toString('base64');
  const auths = host === new URL(ours.url).host ? { [host]: { auth } } : {};
  writeFileSync(path.join(at, 'config.json'), JSON.stringify({ auths }));
  return at;
}

describe.skipIf(noFlux !== undefined)(titleWithReason('Flux', noFlux), () => {
  it('unpacks what krmhub pushed, and shows where it comes from', async () => {
    for (const [at, host] of hosts().entries()) {
      const digest = await push(`${host}/flux/shop:v1`);
      const out = path.join(folder, `pulled-${at}`);
      mkdirSync(out);
      const meta = JSON.parse(run(flux, ['pull', `${host}/flux/shop:v1`, out]));
      expect(contents(out)).toEqual(files);
      expect(meta).toMatchObject({
        source_url: SOURCE,
        source_revision: REVISION,
        created: '1970-01-01T00:00:00Z',
        digest: `${host}/flux/shop@${digest}`,
      });
    }
  });

  it('gives its own artifact the same layout', async () => {
    for (const host of hosts()) {
      await push(`${host}/flux/layout:krmhub`);
      run(flux, ['push', `${host}/flux/layout:flux`, rendered, SOURCE, REVISION], {
        DOCKER_CONFIG: loggedIn(host),
      });
      const [mine, its] = await Promise.all(
        ['krmhub', 'flux'].map((tag) => manifestOf(host, 'flux/layout', tag)),
      );
      expect(shape(mine!)).toEqual(shape(its!));
    }
  });
});

const noBuild = noFlux ?? missingReason('kubectl') ?? missingReason('git');

describe.skipIf(noBuild !== undefined)(titleWithReason('the commands of docs/flux.md', noBuild), () => {
  it('build, push and leave the tag alone until something changes', async () => {
    const cwd = path.join(folder, 'document');
    mkdirSync(cwd);
    const shop = await startShop(cwd);
    try {
      shop.write(path.join(cwd, 'apps/shop'));
      const [host, scheme] = [registryHost(shop.registry), 'https://krm.example.com/catalogs/platform'];
      const git = (...args: string[]) => run('git', ['-C', cwd, ...args]).trim();
      git('init', '--quiet', '--initial-branch=main');
      git('remote', 'add', 'origin', SOURCE);
      git('add', 'apps');
      const author = [
        '-c',
        'user.name=Test',
        '-c',
        'user.email=test@example.com',
        '-c',
        'commit.gpgsign=false',
      ];
      git(...author, 'commit', '--quiet', '--message', 'The shop');
      const commit = git('rev-parse', 'HEAD');
      const script = documentBlocks('docs/flux.md', 'flux')
        .join('\n')
        // The function of this test is an executable.
        .replace('krmhub build apps/shop', '$& --allow-exec')
        .replace(scheme, shop.catalog)
        .replaceAll('registry.example.com', host);
      const session = () => {
        const env = cleanEnvironment(cwd, {
          ...shop.registry.env,
          PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}`,
        });
        const { status, stderr } = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
          cwd,
          env,
          encoding: 'utf8',
        });
        expect(status, stderr).toBe(0);
        return stderr;
      };
      expect(session()).toMatch(/pushed .*\/deploy\/shop:main \(manifests for Flux, 1 file, /);
      const out = path.join(cwd, 'pulled');
      mkdirSync(out);
      const meta = JSON.parse(run(flux, ['pull', `${host}/deploy/shop:main`, out]));
      expect(meta).toMatchObject({ source_url: SOURCE, source_revision: `main@sha1:${commit}` });
      expect(contents(out)['shop.yaml']).toMatch(/owner: shop\n.*\n*.*name: shop-settings/s);
      expect(session()).toContain('unchanged: ');
      await shop.release('1.1.0', 'other');
      expect(session()).toContain('moved the tag from ');
    } finally {
      await shop.registry.stop();
    }
  });
});

describe.skipIf(noFlux !== undefined)(titleWithReason('the manifests of docs/flux.md', noFlux), () => {
  const document = readFileSync(path.join(root, 'docs/flux.md'), 'utf8');
  const manifests = [...document.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
  const decode = (input: string) => spawnSync(flux, ['decode'], { input, encoding: 'utf8' });

  it('have only fields that the controllers of Flux know', () => {
    expect(manifests).toHaveLength(1);
    const { stdout, stderr } = decode(manifests[0]!);
    expect(stderr).toBe('');
    const [source, kustomization] = JSON.parse(stdout);
    expect(kustomization.spec.sourceRef).toMatchObject({ kind: source.kind, name: source.metadata.name });
    expect(kustomization.metadata.namespace).toBe(source.metadata.namespace);
    const mistaken = decode(manifests[0]!.replace('prune:', 'pruned:'));
    expect([mistaken.status, mistaken.stderr]).toEqual([
      1,
      expect.stringContaining('unknown field "pruned"'),
    ]);
  });
});

describe('clients of other projects', () => {
  it.skipIf(!isInstalled('crane'))(titleWithReason('crane', missingReason('crane')), async () => {
    for (const host of hosts()) {
      const digest = await push(`${host}/flux/crane:v1`);
      expect(run('crane', ['digest', `${host}/flux/crane:v1`]).trim()).toBe(digest);
      run('crane', ['validate', '--remote', `${host}/flux/crane:v1`]);
      const tar = path.join(folder, 'crane.tar');
      run('crane', ['export', `${host}/flux/crane:v1`, tar]);
      expect(run('tar', ['-xOf', tar, 'shop.yaml'])).toBe(files['shop.yaml']);
    }
  });

  it.skipIf(!isInstalled('oras'))(titleWithReason('oras', missingReason('oras')), async () => {
    for (const host of hosts()) {
      await push(`${host}/flux/oras:v1`);
      const { layers, config: its } = JSON.parse(
        run('oras', ['manifest', 'fetch', '--plain-http', `${host}/flux/oras:v1`]),
      );
      expect(its.mediaType).toBe('application/vnd.cncf.flux.config.v1+json');
      const out = path.join(folder, 'layer.tar.gz');
      const blob = `${host}/flux/oras@${layers[0].digest}`;
      run('oras', ['blob', 'fetch', '--plain-http', '--output', out, blob]);
      expect(run('tar', ['-xzOf', out, 'shop.yaml'])).toBe(files['shop.yaml']);
    }
  });

  it.skipIf(!isInstalled('skopeo'))(titleWithReason('skopeo', missingReason('skopeo')), async () => {
    for (const host of hosts()) {
      const digest = await push(`${host}/flux/skopeo:v1`);
      const target = path.join(folder, `skopeo-${host.replace(':', '-')}`);
      const from = `docker://${host}/flux/skopeo:v1`;
      run('skopeo', ['copy', '--preserve-digests', '--src-tls-verify=false', from, `dir:${target}`]);
      const copied = readFileSync(path.join(target, 'manifest.json'));
      expect(computeDigest(copied)).toBe(digest);
    }
  });
});
