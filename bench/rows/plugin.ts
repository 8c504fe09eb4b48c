import path from 'node:path';
import { linkedCommand } from '../built.js';
import { milliseconds } from '../figures.js';
import {
  API_VERSION,
  COPYING_ENGINE,
  catalogText,
  kindOf,
  userEnvironment,
  writeFiles,
} from '../function-files.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { runProcess } from '../processes.js';
import type { Row } from '../row.js';

const RUNS = 30;

export const plugin: Row = {
  name: 'plugin',
  title: 'plugin of kustomize',
  async run({ folders, effort, report }) {
    const scratch = await folders.scratch();
    const at = (name: string) => path.join(scratch, name);
    const kind = kindOf(0);
    const resource = 'apiVersion: v1\\nkind: ConfigMap\\nmetadata:\\n  name: settings\\n';
    await writeFiles(scratch, {
      'catalog.json': catalogText(1),
      'config.yaml': `apiVersion: ${API_VERSION}\nkind: ${kind}\nmetadata:\n  name: settings\n`,
    });
    await writeFiles(at('bin'), { docker: COPYING_ENGINE }, 0o755);
    const env = userEnvironment(scratch);
    await runProcess(
      [process.execPath, [linkedCommand, 'plugins', 'install', '--catalog', at('catalog.json')]],
      { env },
    );
    const installed = at(`.config/kustomize/plugin/${API_VERSION}/${kind.toLowerCase()}/${kind}`);
    const sides = {
      node: () => runProcess([process.execPath, ['-e', '0']], { env }).then(() => undefined),
      plugin: async () => {
        const script = `printf '${resource}' | "$0" config.yaml`;
        const output = await runProcess(['sh', ['-c', script, installed]], {
          env,
          cwd: scratch,
        });
        if (!output.includes('kind: ConfigMap')) throw new Error(`the plugin returned ${output}`);
      },
    };
    await alternate(1, sides);
    const runs = effort.quick ? 1 : RUNS;
    report(`plugin: ${runs} runs of each`);
    const times = await alternate(runs, { node: () => timed(sides.node), plugin: () => timed(sides.plugin) });
    const [ours, node] = [spread(times.plugin).median, spread(times.node).median];
    return [
      {
        row: 'plugin',
        what: 'one resource through a container',
        ours: milliseconds(ours),
        against: `\`node -e 0\` ${milliseconds(node)}`,
        ratio: ratio(times.plugin, times.node),
        figures: { oursMilliseconds: ours, nodeMilliseconds: node },
      },
    ];
  },
};
