import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { spawnSync } from '../processes.js';
import { root, temporaryFolder } from '../running.js';
import { deploy, imageBlock, lockShop, plugin, shell, trustFile } from './argocd-steps.js';
import {
  BASE_IMAGE,
  type ContainerEngine,
  copyPrograms,
  openContainerEngine,
  programPath,
  whyNoContainers,
} from './container-engine.js';
import { missingReason, registryHost, titleWithReason } from './oci-tools.js';
import { PluginServer, type RunCommand, runLocally } from './plugin-server.js';
import { type SampleShop, startShop } from './sample-shop.js';

/** The image of the plugin for Argo CD, built by the commands of the document, as a sidecar runs it. */

const { folder, remove } = temporaryFolder();
afterAll(remove);

const whyNoImage = missingReason('kustomize') ?? whyNoContainers();
const minutes = 60_000;

describe.skipIf(whyNoImage !== undefined)(titleWithReason('the image of the plugin', whyNoImage), () => {
  const home = path.join(folder, 'image');
  const repository = path.join(home, 'repository');
  const image = 'registry.example.com/krmhub-argocd:0.1.0';
  let engine: ContainerEngine;
  let shop: SampleShop;
  let server: PluginServer;
  let volumes: Volumes;

  beforeAll(async () => {
    mkdirSync(repository, { recursive: true });
    engine = await openContainerEngine({ withBase: false });
    await makeBaseImage(path.join(home, 'base'), engine);
    shop = await startShop(home);
    shop.write(path.join(repository, 'apps/shop'));
    const trust = trustFile(home, shop);
    lockShop(home, repository, shop);
    const kustomize = path.join(home, 'kustomize');
    await copyPrograms(kustomize, { '/app/kustomize': programPath('kustomize') });
    await engine.makeImage('localhost/krmhub-test-kustomize', kustomize, []);
    const pushed = `${registryHost(shop.registry)}/images/krmhub-argocd:0.1.0`;
    // Not in `build/image` of this checkout, where another test may package at the same time.
    const context = path.join(home, 'context');
    cpSync(path.join(root, 'Dockerfile'), path.join(context, 'Dockerfile'));
    const packaging = `node scripts/package.mjs "${context}/build/image"\npodman build --format docker --tag krmhub "${context}"`;
    const build = imageBlock
      .replace(/deploy\/argocd$/m, '--build-arg KUSTOMIZE_IMAGE=localhost/krmhub-test-kustomize $&')
      .replace('podman push', `$& --tls-verify=false --creds anyone:${shop.registry.token}`)
      .replace(/^(podman push .*)$/m, `$1 ${pushed}`);
    shell(`${packaging}\n${build}`, root, engine.env);
    const config = path.join(home, 'config');
    mkdirSync(config);
    cpSync(path.join(deploy, 'plugin.yaml'), path.join(config, 'plugin.yaml'));
    cpSync(trust, path.join(config, 'trust.yaml'));
    chmodSync(path.join(config, 'trust.yaml'), 0o644);
    // As volumes of a pod.
    volumes = { config, tmp: path.join(home, 'volumes/tmp'), cache: path.join(home, 'volumes/cache') };
    for (const volume of [volumes.tmp, volumes.cache]) {
      mkdirSync(volume, { recursive: true });
      chownSync(volume, 999, 999);
    }
    server = new PluginServer(plugin, inSidecar(engine, image, volumes));
  }, 15 * minutes);
  afterAll(async () => {
    server?.close();
    await engine?.remove();
    await shop?.registry.stop();
  }, 2 * minutes);

  it(
    'starts what Argo CD mounts, as the user of the repo server, and has the plugin',
    async () => {
      const [{ Config }] = JSON.parse(await engine.podman('image', 'inspect', image));
      expect(Config).toMatchObject({
        User: '999:999',
        Entrypoint: ['/var/run/argocd/argocd-cmp-server'],
      });
      expect(Config.Cmd ?? []).toEqual([]);
      const inside = [
        'run',
        '--rm',
        '--entrypoint',
        'cat',
        image,
        '/home/argocd/cmp-server/config/plugin.yaml',
      ];
      expect(parse(await engine.podman(...inside))).toEqual(plugin);
    },
    minutes,
  );

  it(
    'builds an application in the sidecar, with a read-only file system and no privileges',
    async () => {
      const generated = await server.generate({ repository, path: 'apps/shop' });
      expect([generated.code, generated.stderr]).toEqual([0, '']);
      expect(generated.manifests).toMatchObject([
        { metadata: { name: 'shop-settings' }, data: { owner: 'shop' } },
      ]);
      expect([readdirSync(volumes.tmp), readdirSync(volumes.cache)]).toEqual([[], ['cache', 'config']]);
    },
    5 * minutes,
  );

  it(
    'shows why an application cannot be built',
    async () => {
      const { code, stdout, stderr } = await server.generate({ repository, path: 'apps' });
      expect([code, stdout]).toEqual([expect.any(Number), '']);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/^error: .*kustomization/);
    },
    5 * minutes,
  );
});

/** The base of krmhub's own image: Node, and what `krmhub build` and the function of the shop need. */
async function makeBaseImage(content: string, { makeImage }: ContainerEngine): Promise<void> {
  const tools = ['env', 'sh', 'cat', 'mktemp', 'mkfifo', 'sed'].map((name) => [
    `/usr/bin/${name}`,
    programPath(name),
  ]);
  await copyPrograms(content, { '/usr/bin/node': process.execPath, ...Object.fromEntries(tools) });
  mkdirSync(path.join(content, 'bin'));
  symlinkSync('/usr/bin/sh', path.join(content, 'bin/sh'));
  await makeImage(BASE_IMAGE, content, ['--env', 'PATH=/usr/bin']);
}

/** Folders that are volumes of the sidecar. */
interface Volumes {
  config: string;
  tmp: string;
  cache: string;
}

function sidecarVariables(): Record<string, string> {
  const { spec } = parse(readFileSync(path.join(deploy, 'repo-server.yaml'), 'utf8'));
  const [{ env }] = spec.template.spec.containers as [{ env: { name: string; value: string }[] }];
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

/** Runs commands in a container with the settings of deploy/argocd/repo-server.yaml. */
function inSidecar(engine: ContainerEngine, image: string, { config, tmp, cache }: Volumes): RunCommand {
  return async ([program, ...args], { folder: cwd, env }) => {
    // The repo server sends files to a folder of the sidecar's user.
    spawnSync('chown', ['-R', '999:999', path.dirname(path.dirname(cwd))]);
    const variables = { ...env, ...sidecarVariables() };
    const container = [
      ...['run', '--rm', '--network', 'host', '--read-only', '--read-only-tmpfs=false'],
      ...['--user', '999', '--cap-drop', 'all', '--security-opt', 'no-new-privileges'],
      ...['--no-healthcheck', '--volume', `${tmp}:/tmp`, '--volume', `${cache}:/var/cache/krmhub`],
      ...['--volume', `${config}:/home/argocd/cmp-server/config:ro`, '--volume', `${cwd}:${cwd}`],
      ...['--workdir', cwd, '--entrypoint', program!],
      ...Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      image,
    ];
    return runLocally(engine.env)(['podman', ...container, ...args], { folder: cwd, env: {} });
  };
}
