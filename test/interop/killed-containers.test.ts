import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command, type RunningRegistry, startRegistry } from '../running.js';
import { seed } from '../seed.js';
import { Random } from '../starlark/differential/random.js';
import { BuildUser } from './build-user.js';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.js';
import { type FunctionImage, ImageBuilder } from './function-images.js';
import { registryHost, titleWithReason } from './oci-tools.js';

/** Containers that never end, of commands that are killed. */

const why = whyNoContainers();
const minutes = 60_000;
const INSTANTS = 12;

describe.skipIf(why !== undefined)(titleWithReason(`a killed krmhub, seed ${seed}`, why), () => {
  let engine: ContainerEngine;
  let registry: RunningRegistry;
  let user: BuildUser;
  let image: FunctionImage;

  beforeAll(async () => {
    engine = await openContainerEngine({ withBase: false });
    registry = await startRegistry(path.join(engine.folder, 'registry'));
    user = new BuildUser(path.join(engine.folder, 'user'), engine);
    writeFileSync(
      engine.env.CONTAINERS_REGISTRIES_CONF!,
      `unqualified-search-registries = []\n[[registry]]\nlocation = "${registryHost(registry)}"\ninsecure = true\n`,
    );
    image = await new ImageBuilder(engine, registry).push(
      'forever',
      'trap "" TERM INT\nwhile :; do sleep 1000; done\n',
    );
    await engine.podman('pull', image.pinned);
    user.write({
      'app/Kptfile': `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n    - image: ${image.pinned}\n`,
      'app/settings.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n',
    });
  }, 10 * minutes);
  afterAll(async () => {
    user?.endAll();
    await registry?.stop();
    await engine?.remove();
  }, 2 * minutes);

  const containers = async (...more: string[]) =>
    (await engine.podman('ps', '--quiet', ...more)).split('\n').filter((id) => id !== '');
  const start = (...args: string[]) => user.start(process.execPath, [command, ...args]);
  const kill = async (child: ReturnType<typeof start>) => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };

  it.each([
    ['fn render', () => ['fn', 'render', 'app']],
    ['fn eval', () => ['fn', 'eval', 'app', '--image', image.pinned]],
  ])(
    'ends the container of %s',
    async (_, args) => {
      const before = user.snapshot('app');
      const child = start(...args());
      await expect.poll(() => containers()).toHaveLength(1);
      await kill(child);
      await expect.poll(() => containers('--all')).toEqual([]);
      expect(user.snapshot('app')).toEqual(before);
      expect(user.leftovers()).toEqual([]);
    },
    5 * minutes,
  );

  it(
    'leaves no container, whenever it was killed',
    async () => {
      const begin = performance.now();
      const first = start('fn', 'render', 'app');
      await expect.poll(() => containers(), { interval: 10 }).toHaveLength(1);
      const milliseconds = performance.now() - begin;
      await kill(first);
      const random = new Random(seed);
      for (let kills = 0; kills < INSTANTS; kills++) {
        const child = start('fn', 'render', 'app');
        const instant = random.below(milliseconds);
        await sleep(instant);
        await kill(child);
        const message = `seed ${seed}, after ${instant} ms`;
        // What an engine had begun appears within this time.
        await sleep(3_000);
        await expect.poll(() => containers('--all'), { message }).toEqual([]);
      }
    },
    10 * minutes,
  );
});
