import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingOracles, ORACLES } from './build-user.js';
import { whyNoContainers } from './container-engine.js';
import { DEPLOYMENT, ExampleCo, JAVA, SECRETS, succeeded } from './example-co.js';
import { configText } from './function-catalog.js';
import { titleWithReason } from './oci-tools.js';

/**
 * Stories of the KEPs end to end: functions are images in registries of ours, podman runs them by digest, and
 * kustomize, kubectl and kpt are those that people have. What they print is compared with what they print where the
 * images are written in by hand.
 *
 * | story | kustomize and kubectl, through `krmhub build` | kpt, after `krmhub kpt sync` |
 * |---|---|---|
 * | KEP-2906, 1: publish a catalog | here: "1 and 2", as a file on a web server and in a registry | kpt-stories: "1 and 2" |
 * | KEP-2906, 2: build a Kustomization with it | here: "1 and 2"; without `krmhub build`: "2 and 7" | kpt-stories: "1 and 2", as a package |
 * | KEP-2906, 3: a Composition that pins one module | here: "3" | kpt-stories: "3", as a pipeline |
 * | KEP-2906, 4: an official catalog | here: "4"; `krmhub fn`: fn-stories, "4" | |
 * | KEP-2906, 5 and 6: a function comes into it | `krmhub fn`: fn-stories, "5", "6" | |
 * | KEP-2906, 7: an aggregated catalog | here: "7", "2 and 7"; its sources: end-to-end/kep-story-seven | kpt-stories: "7" |
 *
 * | example of KEP-993 | unmodified `kustomize build` and `kubectl kustomize`, after `krmhub plugins install` |
 * |---|---|
 * | Declarative Ecosystem Solution Plugins: a generator | plugins, plugins-containers: "chart" |
 * | Bespoke Abstractions for Organizations: a generator among the transformers | the same: "abstraction" |
 * | Bespoke Configuration for Organizations: a transformer | the same: "configuration" |
 */

const why = whyNoContainers() ?? missingOracles();
const minutes = 60_000;
const ALPHA = '--enable-alpha-plugins';

describe.skipIf(why !== undefined)(titleWithReason('the stories of KEP-2906', why), () => {
  let company: ExampleCo;
  beforeAll(async () => {
    company = await ExampleCo.open();
  }, 10 * minutes);
  afterAll(() => company?.close(), 2 * minutes);

  const hand = (name: keyof ExampleCo['images'], more = '') => ({
    runtime: `container:\n  image: ${company.images[name].pinned}\n${more}`,
  });

  it.each([
    ['a file on a web server', () => company.catalogUrl],
    ['a catalog of a registry', () => company.platform],
  ])(
    '1 and 2: %s, copied and named on the command line',
    async (_, url) => {
      const { user } = company;
      user.write({
        'app/kustomization.yaml': `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
catalogs:
  - catalog.yaml
transformers:
- java.yaml
- secrets.yaml
`,
        'app/catalog.yaml': company.catalogText,
        'app/java.yaml': JAVA,
        'app/secrets.yaml': SECRETS,
        'hand/kustomization.yaml': 'transformers: [java.yaml, secrets.yaml]\n',
        'hand/java.yaml': configText('JavaApplication', { ...hand('java'), name: 'java-application' }),
        'hand/secrets.yaml': configText('SecretSidecar', { ...hand('secrets'), name: 'secret-sidecar' }),
      });
      const refused = await user.krmhub('build', 'app/');
      expect([refused.code, refused.stdout]).toEqual([4, '']);
      expect(refused.stderr).toContain('--trusted-catalog');
      const before = user.snapshot('app');
      for (const oracle of ORACLES) {
        const built = await user.krmhub('build', 'app/', `--catalog=${url()}`, '--kustomize', oracle.program);
        const byHand = await user.byHand(oracle, 'hand', ALPHA);
        // The KEP's own catalog names images by their tags.
        expect([built.code, built.stderr.replaceAll(/^warning: .* has no digest; .*\n/gm, '')]).toEqual([
          0,
          '',
        ]);
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
      const { user, images } = company;
      user.write({
        'composition/composition.yaml': `kind: Composition
catalogs:
  - ${company.catalogUrl}
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
      const trusted = ['build', 'composition', '--trusted-catalog', company.catalogUrl];
      const refused = await user.krmhub(...trusted);
      expect([refused.code, refused.stdout]).toEqual([4, '']);
      expect(refused.stderr).toContain(`hint: If you trust it, allow it with: -- ${ALPHA}`);
      for (const { program } of ORACLES) {
        const built = await user.krmhub(...trusted, '--kustomize', program, '--', ALPHA);
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
      const { user } = company;
      user.write({ 'official/composition.yaml': `kind: Composition\nmodules:\n${listed(JAVA, SECRETS)}` });
      const built = await user.krmhub('build', 'official', '--official', company.platform);
      expect([built.code, built.stderr]).toEqual([0, '']);
      expect(built.stdout).toContain('secrets: v1');
      const unresolved = await user.krmhub('build', 'official');
      expect([unresolved.code, unresolved.stdout]).toEqual([3, '']);
    },
    5 * minutes,
  );

  it(
    '7: functions of three publishers, from one catalog',
    async () => {
      const { user, mount } = company;
      const of = (text: string, group: string) => text.replace('example.com/v1', `${group}/v1`);
      user.write({
        'aggregated/kustomization.yaml': `catalogs: ["${company.aggregated}"]\ngenerators: [java.yaml]\ntransformers: [split.yaml, salt.yaml]\n`,
        'aggregated/java.yaml': configText('JavaApplication'),
        'aggregated/split.yaml': of(configText('Split'), 'banana.co'),
        'aggregated/salt.yaml': of(configText('Salt'), 'watermelon.co'),
        'by-hand/kustomization.yaml': 'generators: [java.yaml]\ntransformers: [split.yaml, salt.yaml]\n',
        'by-hand/java.yaml': configText('JavaApplication', hand('java-with-access', '  network: true\n')),
        'by-hand/split.yaml': of(configText('Split', hand('split')), 'banana.co'),
        'by-hand/salt.yaml': of(configText('Salt', hand('salt')), 'watermelon.co'),
      });
      const build = (...more: string[]) =>
        user.krmhub('build', 'aggregated', '--trusted-catalog', company.aggregated, ...more);
      for (const [allowed, missing] of [
        [['--mount', mount], '--network'],
        [['--network'], '--mount'],
      ] as const) {
        const refused = await build(...allowed);
        expect([refused.code, refused.stdout]).toEqual([4, '']);
        expect(refused.stderr).toContain(missing);
      }
      const access = ['--network', '--mount', mount];
      for (const oracle of ORACLES) {
        const built = await build(...access, '--kustomize', oracle.program);
        const byHand = await succeeded(user.byHand(oracle, 'by-hand', ALPHA, ...access));
        expect([built.code, built.stderr]).toEqual([0, '']);
        expect([oracle, built.stdout]).toEqual([oracle, byHand.stdout]);
      }
      const built = await succeeded(build(...access));
      for (const text of ['replicas: 5', 'split: v1', 'salt: v1']) expect(built.stdout).toContain(text);
      expect(user.leftovers()).toEqual([]);
    },
    5 * minutes,
  );

  it(
    '2 and 7: with plugins that are installed from the catalog',
    async () => {
      const { user, mount } = company;
      const of = (text: string, group: string) => text.replace('example.com/v1', `${group}/v1`);
      const java = (runtime = {}) => configText('JavaApplication', runtime);
      const secrets = (runtime = {}) => configText('SecretSidecar', runtime);
      const split = (runtime = {}) => of(configText('Split', runtime), 'banana.co');
      const salt = (runtime = {}) => of(configText('Salt', runtime), 'watermelon.co');
      const two = 'transformers: [java.yaml, secrets.yaml]\n';
      const seven = 'generators: [java.yaml]\ntransformers: [split.yaml, salt.yaml]\n';
      user.write({
        'plugin-2/kustomization.yaml': two,
        'plugin-2/java.yaml': java(),
        'plugin-2/secrets.yaml': secrets(),
        'hand-2/kustomization.yaml': two,
        'hand-2/java.yaml': java(hand('java')),
        'hand-2/secrets.yaml': secrets(hand('secrets')),
        'plugin-7/kustomization.yaml': seven,
        'plugin-7/java.yaml': java(),
        'plugin-7/split.yaml': split(),
        'plugin-7/salt.yaml': salt(),
        'hand-7/kustomization.yaml': seven,
        'hand-7/java.yaml': java(hand('java-with-access', '  network: true\n')),
        'hand-7/split.yaml': split(hand('split')),
        'hand-7/salt.yaml': salt(hand('salt')),
      });
      const access = ['--network', '--mount', mount];
      for (const [story, catalog, kinds, flags] of [
        ['2', company.platform, ['JavaApplication', 'SecretSidecar'], []],
        ['7', company.aggregated, ['JavaApplication', 'Split', 'Salt'], access],
      ] as const) {
        const named = kinds.flatMap((kind) => ['--kind', kind]);
        await succeeded(user.krmhub('plugins', 'install', '-c', catalog, ...named, ...flags));
        for (const oracle of ORACLES) {
          const built = await succeeded(user.byHand(oracle, `plugin-${story}`, ALPHA));
          const byHand = await succeeded(user.byHand(oracle, `hand-${story}`, ALPHA, ...flags));
          expect([oracle, story, built.stdout]).toEqual([oracle, story, byHand.stdout]);
        }
        await succeeded(user.krmhub('plugins', 'remove', ...kinds));
      }
    },
    5 * minutes,
  );
});

/** Documents as entries of a YAML list. */
const listed = (...documents: string[]): string =>
  documents.map((text) => text.replace(/^(?=.)/gm, '  ').replace(/^ {2}/, '- ')).join('');
