import { rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningRegistry, startRegistry } from '../running.js';
import { BuildUser, missingOracles, ORACLES } from './build-user.js';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.js';
import { CONFIG_MAP, catalogText, configText, imageEntry } from './function-catalog.js';
import { annotating, type FunctionImage, ImageBuilder } from './function-images.js';
import { KRM_FUNCTIONS, type KrmFunction, krmFunctionText } from './krm-functions.js';
import { titleWithReason } from './oci-tools.js';
import { PLUGIN_APPS, pluginConfig } from './plugin-apps.js';

/**
 * `krmhub plugins` with real kustomize and kubectl and functions in containers, which podman runs by digest, against
 * the same kustomizations with the images written by hand.
 */

const why = whyNoContainers() ?? missingOracles();
const minutes = 60_000;
const KINDS = Object.keys(KRM_FUNCTIONS) as KrmFunction[];

describe.skipIf(why !== undefined)(titleWithReason('krmhub plugins with containers', why), () => {
  let engine: ContainerEngine;
  let registry: RunningRegistry;
  let user: BuildUser;
  let network: FunctionImage;
  let mount: string;

  beforeAll(async () => {
    engine = await openContainerEngine({ withBase: false });
    registry = await startRegistry(path.join(engine.folder, 'registry'));
    user = new BuildUser(path.join(engine.folder, 'user'), engine);
    const builder = new ImageBuilder(engine, registry);
    const images = {} as Record<KrmFunction, FunctionImage>;
    for (const kind of KINDS) {
      images[kind] = await builder.pushNode(KRM_FUNCTIONS[kind].file, await krmFunctionText(kind));
    }
    network = await builder.push('network', annotating('network', 'v1'));
    const entries = KINDS.map((kind) => {
      const { group, version } = KRM_FUNCTIONS[kind];
      return imageEntry(kind, images[kind], { group, version, storage: kind === 'Chart' });
    });
    user.write({
      'kep.yaml': catalogText(...entries),
      'network.yaml': catalogText(imageEntry('Logger', network, { network: true })),
    });
    const runtime = Object.fromEntries(
      KINDS.map((kind) => [kind, `container:\n  image: ${images[kind].pinned}\n`]),
    );
    for (const [name, files] of Object.entries(PLUGIN_APPS)) {
      write(`plugin/${name}`, files(pluginConfig(), '/charts'));
      write(`hand/${name}`, files(pluginConfig(runtime), '/charts'));
    }
    // A container sees only what is mounted.
    mount = `type=bind,source=${user.folder}/plugin/chart/chart,target=/charts`;
    const installed = await user.krmhub('plugins', 'install', '-c', 'kep.yaml', '--mount', mount);
    expect(installed).toMatchObject({ code: 0 });
  }, 10 * minutes);
  afterAll(async () => {
    await registry?.stop();
    await engine?.remove();
  }, 2 * minutes);

  function write(folder: string, files: Record<string, string>): void {
    user.write(Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text])));
  }
  const leftovers = () => user.leftovers().filter((name) => !name.startsWith('kust-plugin-config-'));

  describe.each(ORACLES)('of $program', (oracle) => {
    it.each(Object.keys(PLUGIN_APPS))(
      'give the bytes of the function itself: %s',
      async (name) => {
        const hand = await user.byHand(
          ORACLES[0],
          `hand/${name}`,
          '--enable-alpha-plugins',
          ...(name === 'chart' ? ['--mount', mount] : []),
        );
        expect(hand.code, hand.stderr).toBe(0);
        const built = await user.byHand(oracle, `plugin/${name}`, '--enable-alpha-plugins');
        expect([built.code, built.stderr]).toEqual([0, '']);
        expect(built.stdout).toBe(hand.stdout);
        expect(leftovers()).toEqual([]);
      },
      2 * minutes,
    );
  });

  it('get the network only if the catalog declares it and the user allows it', async () => {
    user.write({
      'network/kustomization.yaml': 'resources: [settings.yaml]\ntransformers: [log.yaml]\n',
      'network/settings.yaml': `${CONFIG_MAP}`.replace(
        'metadata:\n',
        'metadata:\n  annotations:\n    a: b\n',
      ),
      'network/log.yaml': configText('Logger'),
    });
    const install = ['plugins', 'install', '-c', 'network.yaml'];
    const refused = await user.krmhub(...install);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toMatch(/requires network access.*\n.*--network/);
    expect(await user.krmhub(...install, '--network')).toMatchObject({ code: 0 });
    const built = await user.byHand(ORACLES[0], 'network', '--enable-alpha-plugins');
    expect(built).toMatchObject({ code: 0, stdout: expect.stringContaining('network: v1') });
  });

  it('run without the registry', async () => {
    await registry.stop();
    await rm(path.join(user.folder, 'kep.yaml'));
    const built = await user.byHand(ORACLES[0], 'plugin/abstraction', '--enable-alpha-plugins');
    expect(built).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('kind: Deployment') });
  });
});
