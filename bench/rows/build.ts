import path from 'node:path';
import { linkedCommand } from '../built.js';
import { milliseconds } from '../figures.js';
import {
  API_VERSION,
  COPYING_ENGINE,
  catalogText,
  kindOf,
  pinnedImage,
  userEnvironment,
  writeFiles,
} from '../function-files.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { runProcess } from '../processes.js';
import { type Line, type Row, Unmeasured } from '../row.js';

const RUNS = 20;
/** Functions of one kustomization. */
const USED = 3;
/** What `krmhub build` may cost: a part of the time of kustomize, and milliseconds to start. */
const MAX_RATIO = 1.3;
const MAX_EXTRA = 150;

/** The files of a kustomization; by hand, it names the images itself. */
function files(indexes: readonly number[], byHand: boolean): Record<string, string> {
  const resource = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: "1"\n';
  const names = indexes.map((index) => `kind${index}.yaml`);
  const configs = indexes.map((index, at) => {
    const annotation = `    config.kubernetes.io/function: |\n      container:\n        image: ${pinnedImage(index)}\n`;
    const metadata = `metadata:\n  name: kind${index}\n${byHand ? `  annotations:\n${annotation}` : ''}`;
    return [names[at]!, `apiVersion: ${API_VERSION}\nkind: ${kindOf(index)}\n${metadata}`];
  });
  const catalogs = byHand ? '' : 'catalogs: [../catalog.json]\n';
  return {
    'kustomization.yaml': `${catalogs}resources: [settings.yaml]\ntransformers: [${names.join(', ')}]\n`,
    'settings.yaml': resource,
    ...Object.fromEntries(configs),
  };
}

export const build: Row = {
  name: 'build',
  title: 'build of a kustomization',
  async run({ tools, folders, effort, report }, functions) {
    if (!tools.kubectl) throw new Unmeasured('kubectl is not installed');
    const scratch = await folders.scratch();
    const at = (name: string) => path.join(scratch, name);
    const indexes = Array.from({ length: USED }, (_, index) =>
      Math.floor(((index + 1) * functions) / (USED + 1)),
    );
    await writeFiles(scratch, { 'catalog.json': catalogText(functions) });
    await writeFiles(at('app'), files(indexes, false));
    await writeFiles(at('hand'), files(indexes, true));
    await writeFiles(at('bin'), { docker: COPYING_ENGINE }, 0o755);
    const env = userEnvironment(scratch);
    const ours = [linkedCommand, 'build', at('app'), '-c', at('catalog.json'), '--kustomize', 'kubectl'];
    const sides = {
      krmhub: () => runProcess([process.execPath, ours], { env }),
      kubectl: () => runProcess(['kubectl', ['kustomize', at('hand'), '--enable-alpha-plugins']], { env }),
    };
    const outputs = await alternate(1, sides);
    if (outputs.krmhub[0] !== outputs.kubectl[0]) throw new Error('the two builds differ');
    report(`build: ${effort.quick ? 1 : RUNS} runs of each`);
    const { krmhub, kubectl } = await alternate(effort.quick ? 1 : RUNS, {
      krmhub: () => timed(sides.krmhub),
      kubectl: () => timed(sides.kubectl),
    });
    const [mine, theirs] = [spread(krmhub).median, spread(kubectl).median];
    const line: Line = {
      row: 'build',
      what: `${USED} functions of a catalog in a file`,
      functions,
      ours: milliseconds(mine),
      against: `\`kubectl kustomize\` ${milliseconds(theirs)}`,
      ratio: ratio(krmhub, kubectl),
      ...(effort.quick
        ? {}
        : {
            target: {
              text: `≤ ${MAX_RATIO}× + ${MAX_EXTRA} ms`,
              met: mine <= MAX_RATIO * theirs + MAX_EXTRA,
            },
          }),
      figures: { oursMilliseconds: mine, kubectlMilliseconds: theirs },
    };
    return [line];
  },
};
