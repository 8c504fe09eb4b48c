import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { spawnSync } from '../processes.js';
import { fixtures, root, temporaryFolder } from '../running.js';
import {
  deploy,
  installBlock,
  lockShop,
  moreBlocks,
  plugin,
  sidecar as sidecarEnvironment,
  trustFile,
} from './argocd-steps.js';
import { type Manifest, parseManifests, validateManifests, whyNoSchemas } from './manifests.js';
import { missingReason, titleWithReason } from './oci-tools.js';
import { PluginServer, runLocally } from './plugin-server.js';
import { type SampleShop, startShop } from './sample-shop.js';

/** The plugin of deploy/argocd: its manifests, and its command as Argo CD runs it. */

const whyNoKubectl = missingReason('kubectl');

const { folder, remove } = temporaryFolder();
afterAll(remove);

describe('the manifest of the plugin', () => {
  it('has what argocd-cmp-server requires', () => {
    expect(moreBlocks).toEqual([]);
    expect(plugin).toMatchObject({ apiVersion: 'argoproj.io/v1alpha1', kind: 'ConfigManagementPlugin' });
    // Without a version, applications name the plugin by its name.
    expect(plugin.metadata.name).toBe('krmhub');
    expect(Object.keys(plugin.spec).sort()).toEqual(['discover', 'generate']);
    expect(Object.keys(plugin.spec.generate).sort()).toEqual(['args', 'command']);
    expect(plugin.spec.discover).toEqual({ fileName: 'krmhub.lock' });
    // Argo CD runs no shell: an application's variables cannot become options.
    expect(JSON.stringify(plugin.spec.generate)).not.toMatch(/[$]|"sh"|"bash"/);
  });
});

describe.skipIf(whyNoKubectl !== undefined)(titleWithReason('the sidecar', whyNoKubectl), () => {
  let manifests: Manifest[];
  let file: string;

  beforeAll(() => {
    const cwd = path.join(folder, 'install');
    mkdirSync(path.join(cwd, 'my-argocd'), { recursive: true });
    cpSync(deploy, path.join(cwd, 'my-argocd/krmhub'), { recursive: true });
    cpSync(path.join(fixtures, 'argocd/repo-server.yaml'), path.join(cwd, 'my-argocd/argocd.yaml'));
    const { status, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', installBlock], {
      cwd,
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
    file = path.join(cwd, 'manifests.yaml');
    manifests = parseManifests(readFileSync(file, 'utf8'));
  });

  const pod = () => manifests.find(({ kind }) => kind === 'Deployment').spec.template.spec;
  const sidecar = () => pod().containers.find(({ name }: { name: string }) => name === 'krmhub');

  it('is added to the repo server, and the rest of it stays', () => {
    expect(manifests.map(({ kind }) => kind).sort()).toEqual(['ConfigMap', 'Deployment']);
    const names = pod().containers.map(({ name }: { name: string }) => name);
    expect(names.sort()).toEqual(['argocd-repo-server', 'krmhub']);
    const { version } = JSON.parse(readFileSync(path.join(root, 'apps/cli/package.json'), 'utf8'));
    expect(sidecar().image).toBe(`registry.example.com/krmhub-argocd:${version}`);
  });

  it('runs what Argo CD mounts, as its user, with the plugin where Argo CD looks for it', () => {
    expect(sidecar().command).toEqual(['/var/run/argocd/argocd-cmp-server']);
    expect(sidecar().securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 999,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
    const mounts = Object.fromEntries(
      sidecar().volumeMounts.map(({ mountPath, name }: Record<string, string>) => [mountPath, name]),
    );
    expect(mounts).toMatchObject({
      '/var/run/argocd': 'var-files',
      '/home/argocd/cmp-server/plugins': 'plugins',
      '/home/argocd/cmp-server/config': 'krmhub-plugin',
    });
    // Since Argo CD 2.4, the repo server and its plugins must not share /tmp.
    expect(mounts['/tmp']).not.toBe('tmp');
    const volumes = pod().volumes.map(({ name }: { name: string }) => name);
    expect(volumes).toEqual(expect.arrayContaining(Object.values(mounts)));
    const config = manifests.find(({ kind }) => kind === 'ConfigMap');
    expect(parse(config.data['plugin.yaml'])).toEqual(plugin);
    const volume = pod().volumes.find(({ name }: { name: string }) => name === 'krmhub-plugin');
    expect(volume.configMap.name).toBe(config.metadata.name);
    const trust = sidecar().env.find(({ name }: { name: string }) => name === 'KRMHUB_TRUST').value;
    expect(trust).toBe('/home/argocd/cmp-server/config/trust.yaml');
    expect(config.data).toHaveProperty(['trust.yaml']);
  });

  it.skipIf(whyNoSchemas !== undefined)(
    titleWithReason('is valid by the strict schemas of Kubernetes', whyNoSchemas),
    () => {
      expect(validateManifests(file)).toEqual({ status: 0, said: '' });
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.replace('readOnlyRootFilesystem', 'readOnlyFilesystem'));
      expect(validateManifests(file).status).toBe(1);
    },
  );
});

const whyNoBuild = missingReason('kustomize');

describe.skipIf(whyNoBuild !== undefined)(titleWithReason('the command of the plugin', whyNoBuild), () => {
  const home = path.join(folder, 'command');
  const repository = path.join(home, 'repository');
  const temporary = path.join(home, 'tmp');
  const application = { repository, path: 'apps/shop' };
  let shop: SampleShop;
  let server: PluginServer;
  let trusting: NodeJS.ProcessEnv;

  beforeAll(async () => {
    for (const name of [repository, temporary]) mkdirSync(name, { recursive: true });
    shop = await startShop(home);
    shop.write(path.join(repository, 'apps/shop'));
    shop.write(path.join(repository, 'apps/unlocked'));
    trusting = sidecarEnvironment(home, temporary, trustFile(home, shop));
    lockShop(home, repository, shop);
    server = new PluginServer(plugin, runLocally(trusting));
  });
  afterAll(async () => {
    server?.close();
    await shop?.registry.stop();
  });

  it('is for folders with a lock file', () => {
    expect(server.discovers(application)).toBe(true);
    expect(server.discovers({ repository, path: 'apps/unlocked' })).toBe(false);
    expect(server.discovers({ repository, path: '.' })).toBe(false);
  });

  it('prints the manifests that kustomize builds from the same function, and nothing else', async () => {
    const byHand = path.join(home, 'by-hand');
    shop.write(byHand, `exec:\n  path: ${path.join(home, 'set-owner')}\n`);
    const built = spawnSync('kustomize', ['build', '--enable-alpha-plugins', '--enable-exec', byHand], {
      encoding: 'utf8',
    });
    expect(built.status, built.stderr).toBe(0);
    const generated = await server.generate(application);
    expect(generated.stderr).toBe('');
    expect(generated).toMatchObject({ code: 0, stdout: built.stdout });
    expect(generated.manifests).toMatchObject([
      { metadata: { name: 'shop-settings' }, data: { owner: 'shop' } },
    ]);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('runs the locked release when there is a newer one, and the newest without a lock', async () => {
    await shop.release('1.1.0', 'newer');
    expect((await server.generate(application)).manifests).toMatchObject([{ data: { owner: 'shop' } }]);
    const unlocked = await server.generate({ repository, path: 'apps/unlocked' });
    expect(unlocked.manifests).toMatchObject([{ data: { owner: 'newer' } }]);
  });

  it('trusts no catalog because an application asks for it', async () => {
    const untrusting = path.join(home, 'untrusting.yaml');
    cpSync(path.join(deploy, 'trust.yaml'), untrusting);
    const other = new PluginServer(plugin, runLocally(sidecarEnvironment(home, temporary, untrusting)));
    const asking = {
      ...application,
      env: { KRMHUB_TRUST: trusting.KRMHUB_TRUST!, KRMHUB_TRUSTED_CATALOG: shop.catalog },
      parameters: [{ name: 'trusted-catalog', string: shop.catalog }],
    };
    for (const request of [application, asking]) {
      const { code, stdout, stderr } = await other.generate(request);
      expect([code, stdout, stderr]).toEqual([4, '', expect.stringContaining(shop.catalog)]);
    }
    other.close();
  });

  it('fails without manifests if a function or a file fails: Argo CD would prune what is missing', async () => {
    const broken = path.join(home, 'broken');
    cpSync(repository, broken, { recursive: true });
    rmSync(path.join(broken, 'apps/shop/settings.yaml'));
    const { code, stdout, stderr } = await server.generate({ ...application, repository: broken });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('settings.yaml');
    expect(readdirSync(temporary)).toEqual([]);
  });
});
