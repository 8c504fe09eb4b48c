import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { krmhub, type RunningRegistry } from '../running.js';
import type { BuildUser } from './build-user.js';
import { whyNoContainers } from './container-engine.js';
import { ExampleCo, succeeded } from './example-co.js';
import { definitionText } from './function-catalog.js';
import { adding, annotating, type FunctionImage, ImageBuilder } from './function-images.js';
import { titleWithReason } from './oci-tools.js';

/** Stories 4, 5, and 6 of KEP-2906 through `krmhub fn`: official catalogs, and functions that come into them. */

const why = whyNoContainers();
const minutes = 60_000;
const OFFICIAL = 'official-kustomize-functions';
const SETTINGS = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings # of the shop\n';
const CHART =
  'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: chart\n  annotations:\n    chart: "1"\n';

describe.skipIf(why !== undefined)(titleWithReason('official catalogs in krmhub fn', why), () => {
  let company: ExampleCo;
  let user: BuildUser;
  /** Of the official catalog, and of a contributor. */
  let official: RunningRegistry;
  let contributor: RunningRegistry;

  beforeAll(async () => {
    company = await ExampleCo.open();
    user = company.user;
    [official, contributor] = company.registries as [RunningRegistry, RunningRegistry];
  }, 10 * minutes);
  afterAll(() => company?.close(), 2 * minutes);

  const catalog = () => `${official.url}/catalogs/${OFFICIAL}`;
  const read = (name: string) => readFileSync(path.join(user.folder, name), 'utf8');
  const render = (name: string, ...args: string[]) => user.krmhub('fn', 'render', name, ...args);

  /** A package that names no catalog: only the types of its functions. */
  function writePackage(
    name: string,
    types: readonly string[],
    images: Readonly<Record<string, string>> = {},
  ): void {
    const entries = types.map((type) => {
      const kind = type.slice(type.lastIndexOf('/') + 1);
      const image = images[kind] === undefined ? '' : `\n      image: ${images[kind]}`;
      return `    - configPath: ${kind}.yaml${image}\n`;
    });
    user.write({
      [`${name}/Kptfile`]: `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n${entries.join('')}`,
      [`${name}/settings.yaml`]: SETTINGS,
    });
    for (const type of types) {
      const [group, version, kind] = type.split('/') as [string, string, string];
      user.write({
        [`${name}/${kind}.yaml`]: `apiVersion: ${group}/${version}\nkind: ${kind}\nmetadata:\n  name: fn\nspec: {}\n`,
      });
    }
  }

  async function publish(
    registry: RunningRegistry,
    [group, kind]: readonly [string, string],
    release: string,
    container: object,
  ): Promise<void> {
    const file = path.join(company.engine.folder, `${kind}-${release}.json`);
    writeFileSync(file, definitionText(kind, { container }, group));
    await succeeded(krmhub(['publish', file, '--release', release], { env: registry.env }));
  }

  /** Decides what the official catalog contains: functions of its own registry, and of others. */
  async function applyOfficial(more = ''): Promise<void> {
    const file = path.join(company.engine.folder, `${OFFICIAL}.yaml`);
    writeFileSync(
      file,
      `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${OFFICIAL}}
spec:
  sources:
  - name: own
    functions: {release: ">=1.0.0"}
    match: [{group: kustomize.io}]
${more}`,
    );
    await succeeded(krmhub(['catalog', 'apply', file], { env: official.env }));
  }

  const expectListed = (text: string) =>
    expect.poll(async () => (await fetch(`${catalog()}/catalog.yaml`)).text()).toContain(text);

  it(
    '4: a package that names no catalog, with the official one of Example Co',
    async () => {
      const types = ['JavaApplication', 'Logger', 'SecretSidecar'].map((kind) => `example.com/v1/${kind}`);
      writePackage('app', types);
      writePackage('hand', types, {
        JavaApplication: company.images.java.pinned,
        Logger: company.images.logger.pinned,
        SecretSidecar: company.images.secrets.pinned,
      });
      const before = user.snapshot('app');
      const unresolved = await render('app');
      expect([unresolved.code, user.snapshot('app')]).toEqual([3, before]);
      await succeeded(render('app', '--official', company.platform));
      await succeeded(render('hand'));
      const files = (name: string) =>
        Object.entries(user.snapshot(name))
          .map(([file, text]) => [path.relative(path.join(user.folder, name), file), text])
          .filter(([file]) => file !== 'Kptfile');
      expect(files('app')).toEqual(files('hand'));
      const deployment = read('app/deployment_my-app.yaml');
      for (const line of ['made-by: java', 'logger: "v1"', 'secrets: "v1"'])
        expect(deployment).toContain(line);
      expect(read('app/settings.yaml')).toContain('  name: settings # of the shop\n');
      expect(user.leftovers()).toEqual([]);
    },
    5 * minutes,
  );

  it(
    '5: an extension in the official catalog, and its next release without one of krmhub',
    async () => {
      const builder = new ImageBuilder(company.engine, official);
      const image = async (name: string, value: string): Promise<object> => {
        const { tagged, sha256 }: FunctionImage = await builder.push(
          name,
          adding(CHART.replace('"1"', `"${value}"`)),
        );
        return { image: tagged, sha256 };
      };
      await publish(official, ['kustomize.io', 'Helm'], '1.0.0', await image('helm-1', '1.0'));
      await applyOfficial();
      await expectListed('kind: Helm');
      writePackage('chart', ['kustomize.io/v1/Helm']);
      await succeeded(render('chart', '--official', catalog()));
      expect(read('chart/deployment_chart.yaml')).toContain('chart: "1.0"');
      await succeeded(user.krmhub('lock', 'chart', '--official', catalog()));

      await publish(official, ['kustomize.io', 'Helm'], '1.1.0', await image('helm-2', '1.1'));
      await expectListed('helm-2:');
      writePackage('new-chart', ['kustomize.io/v1/Helm']);
      await succeeded(render('new-chart', '--official', catalog()));
      expect(read('new-chart/deployment_chart.yaml')).toContain('chart: "1.1"');
      // A locked package stays as it is.
      writePackage('chart', ['kustomize.io/v1/Helm']);
      rmSync(path.join(user.folder, 'chart/deployment_chart.yaml'));
      await succeeded(render('chart', '--official', catalog(), '--frozen'));
      expect(read('chart/deployment_chart.yaml')).toContain('chart: "1.0"');
      expect(user.leftovers()).toEqual([]);
    },
    5 * minutes,
  );

  it(
    '6: a function of a contributor, once the official catalog includes it',
    async () => {
      const { tagged, sha256 } = await new ImageBuilder(company.engine, contributor).push(
        'mcguffin',
        annotating('mcguffin', 'found'),
      );
      await publish(contributor, ['example.co', 'McGuffin'], '1.0.0', {
        image: tagged,
        sha256,
        requireNetwork: true,
        requireStorageMount: true,
      });
      writePackage('search', ['example.co/v1/McGuffin']);
      const before = user.snapshot('search');
      const refuse = async (code: number, ...args: string[]) => {
        const refused = await render('search', '--official', catalog(), ...args);
        expect([refused.code, user.snapshot('search')], refused.stderr).toEqual([code, before]);
        return refused.stderr;
      };
      await applyOfficial();
      await refuse(3);

      await applyOfficial(`  - name: contributed
    catalog: {url: "${contributor.url}/catalogs/default/catalog.yaml", refresh: 1h}
    match: [{group: example.co}]
`);
      await expectListed('kind: McGuffin');
      const found = await succeeded(user.krmhub('search', 'mcguffin', '--registry', official.url));
      expect(found.stdout).toContain('example.co/McGuffin');
      const folder = path.join(user.folder, 'clues');
      mkdirSync(folder);
      const mount = `type=bind,source=${folder},target=/clues`;
      expect(await refuse(4, '--mount', mount)).toContain('--network');
      expect(await refuse(4, '--network')).toContain('--mount');
      await succeeded(render('search', '--official', catalog(), '--network', '--mount', mount));
      expect(read('search/settings.yaml')).toBe(`${SETTINGS}  annotations:\n    mcguffin: "found"\n`);
      expect(user.leftovers()).toEqual([]);
    },
    5 * minutes,
  );
});
