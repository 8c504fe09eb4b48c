import path from 'node:path';
import { fillPath } from '@krmhub/api/paths';
import { LOCK_FILE, type Lock, writeLock } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { linkedCommand } from '../built.js';
import { get } from '../catalog-resources.js';
import { milliseconds } from '../figures.js';
import { pinnedImage, userEnvironment, writeFiles } from '../function-files.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { runProcess } from '../processes.js';
import { type Line, type Row, Unmeasured } from '../row.js';
import { startServer, waitForBuild } from '../server.js';

const RUNS = 10;
/** FunctionConfigs, and the packages that they are in. */
const CONFIGS = 500;
const PACKAGES = 100;
/** Milliseconds that a run may take beyond the start of Node.js. */
const MAX_BEYOND = 2_000;

interface Entry {
  definition: { versions: { name: string }[] };
  versions: { name: string; release: string; definition: Digest }[];
}

export const outdated: Row = {
  name: 'outdated',
  title: 'what is outdated in many packages',
  async run({ tools, folders, effort, report }, functions) {
    const filled = await folders.filled(functions);
    if (filled.firstBuild.seconds === undefined)
      throw new Unmeasured('the first snapshot was not built in time');
    const scratch = await folders.scratch();
    const server = await startServer(tools, await folders.copy(filled));
    try {
      await waitForBuild(server, functions, 60);
      const catalog = `${server.url}/catalogs/default`;
      const names = filled.corpus.names.slice(0, CONFIGS);
      await writePackages(scratch, server.url, catalog, names);
      const env = userEnvironment(scratch);
      const run = (...args: string[]) => runProcess([process.execPath, args], { env, cwd: scratch });
      const sides = {
        node: () => run('-e', '0').then(() => undefined),
        outdated: async () => {
          const args = ['outdated', 'packages', '-r', '--trusted-catalog', catalog, '-o', 'json'];
          const { entries } = JSON.parse(await run(linkedCommand, ...args)) as {
            entries: { state: string }[];
          };
          const known = entries.filter(({ state }) => state === 'current');
          if (known.length !== names.length) throw new Error(`${known.length} of ${names.length} are known`);
        },
      };
      await alternate(1, sides);
      const runs = effort.quick ? 1 : RUNS;
      report(`outdated: ${runs} runs`);
      const times = await alternate(runs, {
        node: () => timed(sides.node),
        outdated: () => timed(sides.outdated),
      });
      const [ours, node] = [spread(times.outdated).median, spread(times.node).median];
      const beyond = ours - node;
      const line: Line = {
        row: 'outdated',
        what: `${names.length} functionConfigs in ${PACKAGES} locked packages`,
        functions,
        ours: `p50 ${milliseconds(ours)}`,
        against: `\`node -e 0\` ${milliseconds(node)}`,
        ratio: ratio(times.outdated, times.node),
        beside: `${milliseconds(beyond)} beyond the start of Node.js`,
        ...(effort.quick ? {} : { target: { text: `< ${MAX_BEYOND} ms beyond`, met: beyond < MAX_BEYOND } }),
        figures: { oursMilliseconds: ours, nodeMilliseconds: node },
      };
      return [line];
    } finally {
      await server.stop();
    }
  },
};

/** Writes kustomizations whose lock files have what the catalog has. */
async function writePackages(
  folder: string,
  url: string,
  catalog: string,
  names: readonly { group: string; kind: string }[],
): Promise<void> {
  const each = Math.ceil(names.length / PACKAGES);
  for (let index = 0; index < PACKAGES; index++) {
    const lock: Lock = { catalogs: [{ reference: catalog }], functions: [] };
    const files: Record<string, string> = {};
    for (const { group, kind } of names.slice(index * each, (index + 1) * each)) {
      const { bytes } = await get(url + fillPath('catalogFunction', { name: 'default', group, kind }));
      const { versions } = JSON.parse(bytes.toString()) as Entry;
      const { name, release, definition } = versions[0]!;
      const apiVersion = `${group}/${name}`;
      files[`${kind}.yaml`] = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: sample\n`;
      const image = { type: 'container' as const, image: pinnedImage(index), network: false, storage: false };
      lock.functions.push({ catalog, apiVersion, kind, release, definition, runtime: image });
    }
    const list = Object.keys(files).map((file) => `- ${file}\n`);
    await writeFiles(path.join(folder, 'packages', `package${index}`), {
      ...files,
      'kustomization.yaml': `catalogs:\n- ${catalog}\ntransformers:\n${list.join('')}`,
      [LOCK_FILE]: writeLock(lock),
    });
  }
}
