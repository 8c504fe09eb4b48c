import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type RecordingProxy, recordingProxy } from '../../apps/cli/src/testing/recording-proxy.js';
import {
  type RecordedResponses,
  recordResponses,
  replayResponses,
} from '../../apps/cli/src/testing/replayed-responses.js';
import { krmhub, type RunningRegistry, startRegistry } from '../running.js';
import { BuildUser } from './build-user.js';
import {
  type ContainerEngine,
  isInstalled,
  openContainerEngine,
  whyNoContainers,
} from './container-engine.js';
import { CONFIG_MAP, configText, definitionText, setting } from './function-catalog.js';
import { annotating, type FunctionImage, ImageBuilder } from './function-images.js';
import { registryHost, titleWithReason } from './oci-tools.js';
import { ScriptRegistry } from './script-registry.js';

/**
 * Functions of an aggregated catalog are locked: an image that podman runs, and an executable. Then what is upstream is
 * attacked:
 *
 * | | the registry of the user | the vendor, whose catalog it aggregates |
 * |---|---|---|
 * | rolled back, rewritten, taken away | nothing is built, and the error says why | the registry refuses it, and says why; the build has the same bytes |
 * | the same, with --frozen | the build has the same bytes | the build has the same bytes |
 */

const why = whyNoContainers() ?? (isInstalled('kubectl') ? undefined : 'kubectl not installed');
const minutes = 60_000;
const SCRIPTS = { 'one.sh': setting('script', '1'), 'two.sh': setting('script', '2') };

describe.skipIf(why !== undefined)(titleWithReason('a locked package', why), () => {
  let engine: ContainerEngine;
  let vendor: RunningRegistry;
  let org: RunningRegistry;
  let scripts: ScriptRegistry;
  /** Between the user and the registry, and between that and the vendor. */
  let proxy: RecordingProxy;
  let vendorProxy: RecordingProxy;
  let user: BuildUser;
  let images: FunctionImage[];
  let old: RecordedResponses;
  let now: RecordedResponses;
  let vendorOld: RecordedResponses;
  let vendorNow: RecordedResponses;
  let built: string;

  beforeAll(async () => {
    engine = await openContainerEngine({ withBase: false });
    vendor = await startRegistry(path.join(engine.folder, 'vendor'));
    org = await startRegistry(path.join(engine.folder, 'org'), { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' });
    scripts = await ScriptRegistry.start(path.join(engine.folder, 'scripts'), SCRIPTS);
    user = new BuildUser(path.join(engine.folder, 'user'), engine);
    const builder = new ImageBuilder(engine, vendor);
    images = [
      await builder.push('peel-1', annotating('peeled', 'v1')),
      await builder.push('peel-2', annotating('peeled', 'v2')),
    ];
    await publish('1.0.0', images[0]!, 'one.sh');
    vendorProxy = await recordingProxy(vendor.url);
    const keys = await fetch(`${vendor.url}/.well-known/krmhub-keys.json`);
    const { publicKey } = ((await keys.json()) as { keys: { publicKey: string }[] }).keys[0]!;
    writeFileSync(path.join(engine.folder, 'vendor.pub'), publicKey);
    const recipe = path.join(engine.folder, 'recipe.yaml');
    writeFileSync(recipe, aggregating(`${vendorProxy.url}/catalogs/default/catalog.yaml`));
    await done(krmhub(['catalog', 'apply', recipe], { env: org.env }));
    vendorOld = await recordResponses(vendorProxy, vendor.url);
    vendorProxy.requests.length = 0;
    proxy = await recordingProxy(org.url);
    user.write({
      'app/kustomization.yaml': `resources: [settings.yaml]
catalogs: ["${proxy.url}/catalogs/platform"]
transformers: [peel.yaml, set.yaml]
`,
      'app/settings.yaml': CONFIG_MAP.replace('metadata:\n', 'metadata:\n  annotations:\n    kept: "yes"\n'),
      'app/peel.yaml': configText('Peel'),
      'app/set.yaml': configText('SetScript'),
    });
    expect((await build()).stderr).toBe('');
    old = await recordResponses(proxy, org.url);
    // The vendor's next release is the one that is locked.
    await publish('1.1.0', images[1]!, 'two.sh');
    await done(refresh());
    vendorNow = await recordResponses(vendorProxy, vendor.url);
    await done(user.krmhub('lock', 'app', ...trust()));
    await forget();
    const { code, stdout, stderr } = await build();
    expect([code, stderr]).toEqual([0, '']);
    now = await recordResponses(proxy, org.url);
    built = stdout;
  }, 10 * minutes);
  afterAll(async () => {
    proxy?.close();
    vendorProxy?.close();
    await Promise.all([vendor?.stop(), org?.stop(), scripts?.stop()]);
    await engine?.remove();
  }, 2 * minutes);
  afterEach(() => {
    proxy.intercept = () => false;
    vendorProxy.intercept = () => false;
  });

  const refresh = () => krmhub(['source', 'refresh', 'platform'], { env: org.env });
  const trust = () => ['--trusted-catalog', `${proxy.url}/catalogs/platform`];
  const build = (...more: string[]) =>
    user.krmhub('build', 'app', ...trust(), '--allow-exec', '--kustomize', 'kubectl', ...more);

  /** What was read of catalogs; executables and definitions have to be fetched again, too. */
  async function forget(): Promise<void> {
    await rm(path.join(user.folder, 'cache'), { recursive: true, force: true });
    proxy.requests.length = 0;
  }

  async function publish(release: string, { tagged, sha256 }: FunctionImage, script: keyof typeof SCRIPTS) {
    const platforms = scripts.platforms(script, SCRIPTS[script]);
    for (const [kind, runtime] of [
      ['Peel', { container: { image: tagged, sha256 } }],
      ['SetScript', { exec: { platforms } }],
    ] as const) {
      const file = path.join(engine.folder, `${kind}.json`);
      writeFileSync(file, definitionText(kind, runtime));
      await done(krmhub(['publish', file, '--release', release], { env: vendor.env }));
    }
  }

  /** The same bytes, of the runtimes that are locked, without a request to the catalog. */
  async function buildsFrozen(): Promise<void> {
    proxy.requests.length = 0;
    const { code, stdout, stderr } = await build('--frozen');
    expect([code, stdout, stderr, proxy.requests]).toEqual([0, built, '', []]);
  }

  it('is built with what is locked', () => {
    expect(built).toContain('peeled: v2');
    expect(built).toContain('script: "2"');
    expect(registryHost(vendor)).not.toBe(registryHost(org));
  });

  it.each<[string, () => void, RegExp]>([
    ['rolled back', () => replayResponses(vendorProxy, vendorOld), /rollback|older|serial/],
    ['rewritten', () => replayResponses(vendorProxy, vendorNow, rewritten), /signature|signed/],
    ['taken away', () => takeAway(vendorProxy), /the connection was closed/],
  ])(
    'is built as before, frozen or not, where the vendor is %s: the registry refuses that',
    async (_, attack, reason) => {
      attack();
      const { code, stdout, stderr } = await refresh();
      expect(code).not.toBe(0);
      expect(stdout + stderr).toMatch(reason);
      expect(await build()).toMatchObject({ code: 0, stdout: built });
      await buildsFrozen();
    },
    5 * minutes,
  );

  it.each<[string, () => void, number, RegExp]>([
    ['rolled back', () => replayResponses(proxy, old), 4, /is older than the locked snapshot/],
    [
      'rewritten',
      () => replayResponses(proxy, now, rewritten),
      4,
      /differs from the locked (?:definition|snapshot)/,
    ],
    ['taken away', () => takeAway(proxy), 5, /the connection was closed/],
  ])(
    'is not built where the registry is %s, and frozen as before',
    async (_, attack, exitCode, reason) => {
      attack();
      const { code, stdout, stderr } = await build();
      expect([code, stdout, stderr]).toEqual([exitCode, '', expect.stringMatching(reason)]);
      await buildsFrozen();
    },
    5 * minutes,
  );

  it(
    'is built frozen where nothing of all this runs',
    async () => {
      await Promise.all([org.stop(), vendor.stop(), scripts.stop()]);
      await buildsFrozen();
    },
    5 * minutes,
  );
});

/** The same snapshot with other definitions. */
const rewritten = (body: string) =>
  body
    .replaceAll(/"definition": ?"sha256:[0-9a-f]{64}"/g, `"definition":"sha256:${'b'.repeat(64)}"`)
    .replaceAll(/^( *sha256: )[0-9a-f]{64}$/gm, `$1${'b'.repeat(64)}`);

function takeAway(proxy: RecordingProxy): void {
  proxy.intercept = (request) => {
    request.socket.destroy();
    return true;
  };
}

async function done(finished: ReturnType<typeof krmhub>): Promise<void> {
  const { code, stderr } = await finished;
  expect(code, stderr).toBe(0);
}

const aggregating = (url: string) => `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: platform}
spec:
  sources:
  - name: vendor
    catalog: {url: "${url}", refresh: 1h}
  policy:
    requireSignature:
    - groups: [example.com]
      key: vendor.pub
`;
