import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { krmhub, type RunningRegistry, startRegistry } from '../running.js';
import { BuildUser, missingOracles, ORACLES } from './build-user.js';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.js';
import { configText, definitionText } from './function-catalog.js';
import { adding, annotating, type FunctionImage, ImageBuilder } from './function-images.js';
import { registryHost, titleWithReason } from './oci-tools.js';

/**
 * Stories of KEP-2906 end to end: functions are images in a registry of ours, published and put into catalogs by it; podman runs
 * them by digest, for unmodified kustomize and kubectl.
 */

const why = whyNoContainers() ?? missingOracles();
const minutes = 60_000;

const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: my-app
  annotations:
    made-by: java
spec:
  replicas: 2
`;

let engine: ContainerEngine;
let org: RunningRegistry;
let banana: RunningRegistry;
let user: BuildUser;
const images: Record<'java' | 'logger' | 'secrets' | 'secrets-old' | 'split', FunctionImage> = {} as never;
const catalog = () => `${org.url}/catalogs/platform/catalog.yaml`;

async function publish(
  registry: RunningRegistry,
  kind: string,
  image: FunctionImage,
  group: string,
  access: { requireNetwork?: boolean } = {},
): Promise<void> {
  const file = path.join(engine.folder, `${kind}.json`);
  const { tagged, sha256 } = image;
  writeFileSync(file, definitionText(kind, { container: { image: tagged, sha256, ...access } }, group));
  await done(krmhub(['publish', file, '--release', '1.0.0'], { env: registry.env }));
}

async function done(finished: ReturnType<typeof krmhub>): Promise<string> {
  const { code, stdout, stderr } = await finished;
  expect(code, stderr).toBe(0);
  return stdout;
}

beforeAll(async () => {
  if (why !== undefined) return;
  engine = await openContainerEngine({ withBase: false });
  org = await startRegistry(path.join(engine.folder, 'org'), { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
  banana = await startRegistry(path.join(engine.folder, 'banana'));
  user = new BuildUser(path.join(engine.folder, 'user'), engine);
  const ours = new ImageBuilder(engine, org);
  images.java = await ours.push('java', adding(DEPLOYMENT));
  images.logger = await ours.push('logger', annotating('logger', 'v1'));
  images.secrets = await ours.push('secrets', annotating('secrets', 'v1'));
  images['secrets-old'] = await ours.push('secrets-old', annotating('secrets', 'v0.9'));
  images.split = await new ImageBuilder(engine, banana).push('split', annotating('split', 'v1'));
  for (const [kind, name] of [
    ['JavaApplication', 'java'],
    ['Logger', 'logger'],
    ['SecretSidecar', 'secrets'],
  ] as const)
    await publish(org, kind, images[name], 'example.com');
  await publish(org, 'Fetch', images.logger, 'example.com', { requireNetwork: true });
  await publish(banana, 'Split', images.split, 'banana.co');
  const recipe = path.join(engine.folder, 'recipe.yaml');
  writeFileSync(
    recipe,
    `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: platform}
spec:
  sources:
  - name: ours
    functions: {}
    match: [{group: example.com}]
  - name: banana
    catalog: {url: "${banana.url}/catalogs/default/catalog.yaml", refresh: 1h}
    match: [{group: banana.co}]
`,
  );
  await done(krmhub(['catalog', 'apply', recipe], { env: org.env }));
}, 10 * minutes);
afterAll(async () => {
  await Promise.all([org?.stop(), banana?.stop()]);
  await engine?.remove();
}, 2 * minutes);

const hand = (name: keyof typeof images) => ({ runtime: `container:\n  image: ${images[name].pinned}\n` });

describe.skipIf(why !== undefined)(titleWithReason('the stories of KEP-2906', why), () => {
  it(
    '1 and 2: a catalog that is published, copied, and named on the command line',
    async () => {
      user.write({
        'app/kustomization.yaml': `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
catalogs:
  - catalog.yaml
transformers:
- java.yaml
- secrets.yaml
`,
        // As in the KEP, which gives them no name.
        'app/java.yaml':
          'apiVersion: example.com/v1\nkind: JavaApplication\nspec:\n  application: team/my-app\n  version: v1.0\n',
        'app/secrets.yaml':
          'apiVersion: example.com/v1\nkind: SecretSidecar\nspec:\n  key: my.secret.value\n  path: /etc/secrets\n',
        'hand/kustomization.yaml': 'transformers: [java.yaml, secrets.yaml]\n',
        'hand/java.yaml': configText('JavaApplication', { ...hand('java'), name: 'java-application' }),
        'hand/secrets.yaml': configText('SecretSidecar', { ...hand('secrets'), name: 'secret-sidecar' }),
      });
      await done(
        user.krmhub('catalog', 'pull', 'platform', '--registry', org.url, '--out', 'app/catalog.yaml'),
      );
      const refused = await user.krmhub('build', 'app');
      expect([refused.code, refused.stdout]).toEqual([4, '']);
      expect(refused.stderr).toContain('--trusted-catalog');
      const before = user.snapshot('app');
      for (const oracle of ORACLES) {
        const built = await user.krmhub('build', 'app', '-c', catalog(), '--kustomize', oracle.program);
        const byHand = await user.byHand(oracle, 'hand', '--enable-alpha-plugins');
        expect([built.code, built.stderr]).toEqual([0, '']);
        expect(byHand.stdout).toContain('secrets: v1');
        expect([oracle, built.stdout]).toEqual([oracle, byHand.stdout]);
      }
      expect(user.snapshot('app')).toEqual(before);
      expect(user.leftovers()).toEqual([]);
    },
    5 * minutes,
  );

  it(
    '3: a Composition that pins one module itself',
    async () => {
      writeFileSync(
        path.join(engine.folder, 'registries.conf'),
        `unqualified-search-registries = []\n[[registry]]\nlocation = "${registryHost(org)}"\ninsecure = true\n`,
      );
      user.write({
        'composition/composition.yaml': `kind: Composition
catalogs:
  - ${catalog()}
modules:
# generate resources for a Java application
- apiVersion: example.com/v1
  kind: JavaApplication
  spec:
    application: team/my-app
    version: v1.0
- apiVersion: example.com/v1
  kind: Logger
  metadata:
    name: my-logger
  spec:
    logPath: /var/logs
- apiVersion: example.com/v1
  kind: SecretSidecar
  runtime: {container: {image: ${images['secrets-old'].tagged}}}
  metadata:
    name: my-secrets
  spec:
    key: my.secret.value
    path: /etc/secrets
`,
      });
      const trusted = ['build', 'composition', '--trusted-catalog', catalog()];
      const refused = await user.krmhub(...trusted);
      expect([refused.code, refused.stdout]).toEqual([4, '']);
      expect(refused.stderr).toContain('hint: If you trust it, allow it: -- --enable-alpha-plugins');
      for (const { program } of ORACLES) {
        const built = await user.krmhub(...trusted, '--kustomize', program, '--', '--enable-alpha-plugins');
        // The engine says what it pulls for an image that has no digest.
        expect([built.code, built.stderr]).toEqual([0, expect.not.stringContaining('error')]);
        expect(built.stdout).toBe(
          DEPLOYMENT.replace(
            '    made-by: java\n',
            '    logger: v1\n    made-by: java\n    secrets: v0.9\n',
          ).replace(/metadata:\n {2}name: my-app\n([\s\S]*)spec:/, 'metadata:\n$1  name: my-app\nspec:'),
        );
      }
      expect(user.leftovers()).toEqual([]);
    },
    5 * minutes,
  );

  it(
    '4: a Composition that names no catalog, with an official one',
    async () => {
      user.write({
        'official/composition.yaml': `kind: Composition
modules:
- apiVersion: example.com/v1
  kind: JavaApplication
- apiVersion: example.com/v1
  kind: SecretSidecar
`,
      });
      const built = await user.krmhub('build', 'official', '--official', catalog());
      expect([built.code, built.stderr]).toEqual([0, '']);
      expect(built.stdout).toContain('secrets: v1');
      const unresolved = await user.krmhub('build', 'official');
      expect([unresolved.code, unresolved.stdout]).toEqual([3, '']);
    },
    5 * minutes,
  );

  it(
    'runs a function that declares network access, if the user allows it',
    async () => {
      user.write({
        'network/kustomization.yaml': `catalogs: ["${catalog()}"]\ntransformers: [java.yaml, fetch.yaml]\n`,
        'network/java.yaml': configText('JavaApplication'),
        'network/fetch.yaml': configText('Fetch'),
        'network-by-hand/kustomization.yaml': 'transformers: [java.yaml, fetch.yaml]\n',
        'network-by-hand/java.yaml': configText('JavaApplication', hand('java')),
        'network-by-hand/fetch.yaml': configText('Fetch', {
          runtime: `${hand('logger').runtime}  network: true\n`,
        }),
      });
      const trusted = ['build', 'network', '--trusted-catalog', catalog()];
      const refused = await user.krmhub(...trusted);
      expect([refused.code, refused.stdout]).toEqual([4, '']);
      expect(refused.stderr).toContain('--network');
      for (const oracle of ORACLES) {
        const built = await user.krmhub(...trusted, '--network', '--kustomize', oracle.program);
        const byHand = await user.byHand(oracle, 'network-by-hand', '--enable-alpha-plugins', '--network');
        expect([built.code, built.stderr]).toEqual([0, '']);
        expect(byHand.stdout).toContain('logger: v1');
        expect([oracle, built.stdout]).toEqual([oracle, byHand.stdout]);
      }
    },
    5 * minutes,
  );

  it(
    '7: functions of several publishers, from one aggregated catalog',
    async () => {
      user.write({
        'aggregated/kustomization.yaml': `catalogs: ["${catalog()}"]\ngenerators: [java.yaml]\ntransformers: [split.yaml]\n`,
        'aggregated/java.yaml': configText('JavaApplication'),
        'aggregated/split.yaml': configText('Split').replace('example.com/v1', 'banana.co/v1'),
        'by-hand/kustomization.yaml': 'generators: [java.yaml]\ntransformers: [split.yaml]\n',
        'by-hand/java.yaml': configText('JavaApplication', hand('java')),
        'by-hand/split.yaml': configText('Split', hand('split')).replace('example.com/v1', 'banana.co/v1'),
      });
      for (const oracle of ORACLES) {
        const options = ['--trusted-catalog', catalog(), '--kustomize', oracle.program];
        const built = await user.krmhub('build', 'aggregated', ...options);
        const byHand = await user.byHand(oracle, 'by-hand', '--enable-alpha-plugins');
        expect([built.code, built.stderr]).toEqual([0, '']);
        expect(byHand.stdout).toContain('split: v1');
        expect([oracle, built.stdout]).toEqual([oracle, byHand.stdout]);
      }
    },
    5 * minutes,
  );
});
