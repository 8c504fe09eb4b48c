import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect } from 'vitest';
import { spawnSync } from '../processes.js';
import { type Finished, krmhub, type RunningRegistry, startRegistry } from '../running.js';
import { BuildUser } from './build-user.js';
import { type ContainerEngine, openContainerEngine } from './container-engine.js';
import { definitionText } from './function-catalog.js';
import { adding, annotating, type FunctionImage, ImageBuilder } from './function-images.js';
import { registryHost } from './oci-tools.js';

/**
 * The companies of the stories of KEP-2906: Example Co with its functions and catalogs, and the registries of Banana Co
 * and Watermelon Co. All images are in registries of ours.
 */

/** What JavaApplication adds; more replicas if a folder is mounted that says so. */
export const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: my-app
  annotations:
    made-by: java
spec:
  replicas: 2
`;
const MOUNTED = '/settings';

/** FunctionConfigs with the words of the KEP, which gives them no name. */
export const JAVA =
  'apiVersion: example.com/v1\nkind: JavaApplication\nspec:\n  application: team/my-app\n  version: v1.0\n';
export const SECRETS =
  'apiVersion: example.com/v1\nkind: SecretSidecar\nspec:\n  key: my.secret.value\n  path: /etc/secrets\n';

type ImageName = 'java' | 'java-with-access' | 'logger' | 'secrets' | 'secrets-old' | 'split' | 'salt';

export class ExampleCo {
  readonly images = {} as Record<ImageName, FunctionImage>;
  readonly registries: RunningRegistry[] = [];
  /** A file of the catalog that is published at `catalogUrl`. */
  catalogText = '';
  #server: Server | undefined;

  private constructor(
    readonly engine: ContainerEngine,
    readonly user: BuildUser,
  ) {}

  static async open(): Promise<ExampleCo> {
    const engine = await openContainerEngine({ withBase: false });
    const company = new ExampleCo(engine, new BuildUser(path.join(engine.folder, 'user'), engine));
    try {
      await company.#start();
    } catch (error) {
      await company.close();
      throw error;
    }
    return company;
  }

  /** Story 1: https://example.co/kustomize/catalog.yaml */
  get catalogUrl(): string {
    return `https://localhost:${(this.#server!.address() as AddressInfo).port}/kustomize/catalog.yaml`;
  }

  /** Example Co's own functions, in a catalog of its registry. */
  get platform(): string {
    return `${this.registries[0]!.url}/catalogs/platform`;
  }

  /** Story 7: functions of three publishers. */
  get aggregated(): string {
    return `${this.registries[0]!.url}/catalogs/example-co-aggregated-catalog`;
  }

  /** A folder that JavaApplication reads, as an option that mounts it. */
  get mount(): string {
    const folder = path.join(this.user.folder, 'java-settings');
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'replicas'), '5\n');
    return `type=bind,source=${folder},target=${MOUNTED}`;
  }

  async close(): Promise<void> {
    this.#server?.close();
    await Promise.all(this.registries.map((registry) => registry.stop()));
    await this.engine.remove();
  }

  async #start(): Promise<void> {
    const { engine } = this;
    const at = (name: string) => path.join(engine.folder, name);
    const org = await startRegistry(at('org'), { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
    const banana = await startRegistry(at('banana'));
    const watermelon = await startRegistry(at('watermelon'));
    this.registries.push(org, banana, watermelon);
    // Images without a digest are pulled by the engine itself, and by kpt.
    const insecure = this.registries.map(
      (one) => `[[registry]]\nlocation = "${registryHost(one)}"\ninsecure = true\n`,
    );
    writeFileSync(
      engine.env.CONTAINERS_REGISTRIES_CONF!,
      `unqualified-search-registries = []\n${insecure.join('')}`,
    );
    const ours = new ImageBuilder(engine, org);
    const { images } = this;
    images.java = await ours.push('java', adding(DEPLOYMENT));
    images['java-with-access'] = await ours.push('java-with-access', addingWithMount());
    images.logger = await ours.push('logger', annotating('logger', 'v1'));
    images.secrets = await ours.push('secrets', annotating('secrets', 'v1'));
    images['secrets-old'] = await ours.push('secrets-old', annotating('secrets', 'v0.9'));
    images.split = await new ImageBuilder(engine, banana).push('split', annotating('split', 'v1'));
    images.salt = await new ImageBuilder(engine, watermelon).push('salt', annotating('salt', 'v1'));
    await this.#publishCatalog();
    await this.#publishFunctions();
  }

  /** The Catalog of Story 1, on a web server with TLS. */
  async #publishCatalog(): Promise<void> {
    const { images, engine, user } = this;
    const entries = [
      ['JavaApplication', 'A Kustomize function that can handle Java apps', images.java],
      ['Logger', 'A Kustomize function that adds our bespoke logging', images.logger],
      ['SecretSidecar', 'A Kustomize function that adds our bespoke secret sidecar', images.secrets],
    ] as const;
    this.catalogText = `# catalog.yaml
apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: 
  name: "example-co-functions"
spec: 
  krmFunctions: 
${entries
  .map(
    ([kind, description, { tagged }]) => `  - group: example.com
    names:
      kind: ${kind}
    description: "${description}"
    versions:
    - name: v1
    runtime: 
      container: 
        image: ${tagged}
`,
  )
  .join('')}`;
    const [key, certificate] = [path.join(engine.folder, 'key.pem'), path.join(engine.folder, 'cert.pem')];
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'],
      ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
      ...['-keyout', key, '-out', certificate],
    ]);
    expect(made.status, String(made.stderr)).toBe(0);
    user.env.NODE_EXTRA_CA_CERTS = certificate;
    this.#server = createServer(
      { key: readFileSync(key), cert: readFileSync(certificate) },
      ({ url }, response) => {
        if (url === '/kustomize/catalog.yaml') response.end(this.catalogText);
        else response.writeHead(404).end();
      },
    ).listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async #publishFunctions(): Promise<void> {
    const { images } = this;
    const [org, banana, watermelon] = this.registries as [RunningRegistry, RunningRegistry, RunningRegistry];
    await this.#publish(org, 'example.com', 'JavaApplication', images.java);
    await this.#publish(org, 'example.com', 'Logger', images.logger);
    await this.#publish(org, 'example.com', 'SecretSidecar', images.secrets);
    await this.#publish(banana, 'banana.co', 'Split', images.split);
    await this.#publish(watermelon, 'watermelon.co', 'Salt', images.salt);
    await this.#publish(org, 'example.com', 'JavaApplication', images['java-with-access'], {
      release: '2.0.0',
      requireNetwork: true,
      requireStorageMount: true,
    });
    const own = (range: string) =>
      `  - name: ours\n    functions: {release: "${range}"}\n    match: [{group: example.com}]\n`;
    const upstream = (name: string, { url }: RunningRegistry) =>
      `  - name: ${name}\n    catalog: {url: "${url}/catalogs/default/catalog.yaml", refresh: 1h}\n    match: [{group: ${name}.co}]\n`;
    for (const [name, sources] of [
      ['platform', own('<2.0.0')],
      [
        'example-co-aggregated-catalog',
        own('>=1.0.0') + upstream('banana', banana) + upstream('watermelon', watermelon),
      ],
    ] as const) {
      const file = path.join(this.engine.folder, `${name}.yaml`);
      writeFileSync(
        file,
        `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ${name}}\nspec:\n  sources:\n${sources}`,
      );
      await succeeded(krmhub(['catalog', 'apply', file], { env: org.env }));
    }
  }

  async #publish(
    registry: RunningRegistry,
    group: string,
    kind: string,
    { tagged, sha256 }: FunctionImage,
    { release = '1.0.0', ...access }: { release?: string; [access: string]: unknown } = {},
  ): Promise<void> {
    const file = path.join(this.engine.folder, `${kind}.json`);
    writeFileSync(file, definitionText(kind, { container: { image: tagged, sha256, ...access } }, group));
    const args = ['publish', file, '--release', release, '--allow-breaking'];
    await succeeded(krmhub(args, { env: registry.env }));
  }
}

export async function succeeded(finished: Promise<Finished>): Promise<Finished> {
  const result = await finished;
  expect(result.code, result.stdout + result.stderr).toBe(0);
  return result;
}

function addingWithMount(): string {
  const text = adding(DEPLOYMENT).replace("<<'END'", '<<END').replace('replicas: 2', 'replicas: $replicas');
  return `replicas=2\nif [ -f ${MOUNTED}/replicas ]; then replicas=$(cat ${MOUNTED}/replicas); fi\n${text}`;
}
