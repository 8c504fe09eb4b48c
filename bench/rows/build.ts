import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { linkedCommand } from '../built.js';
import { milliseconds } from '../figures.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { runProcess } from '../processes.js';
import { type Line, type Row, Unmeasured } from '../row.js';

const RUNS = 20;
/** Functions of one kustomization. */
const USED = 3;
/** What `krmhub build` may cost: a part of the time of kustomize, and milliseconds to start. */
const MAX_RATIO = 1.3;
const MAX_EXTRA = 150;

const DIGEST = 'ab'.repeat(32);
const image = (index: number) => `registry.example.com/functions/kind${index}`;

/** A container engine whose functions take no time, so that only what is around them is measured. */
const ENGINE = `#!/bin/sh
case "$1" in
run) exec cat ;;
version) echo 1.0.0 ;;
esac
`;

function catalogText(functions: number): string {
  const entries = Array.from({ length: functions }, (_, index) => ({
    group: 'example.com',
    names: { kind: `Kind${index}` },
    description: `Function ${index} of many.`,
    publisher: 'example.com',
    versions: [{ name: 'v1', runtime: { container: { image: `${image(index)}:v1`, sha256: DIGEST } } }],
  }));
  const document = { metadata: { name: 'bench' }, spec: { krmFunctions: entries } };
  return JSON.stringify({ apiVersion: 'config.kubernetes.io/v1alpha1', kind: 'Catalog', ...document });
}

/** The files of a kustomization; by hand, it names the images itself. */
function files(indexes: readonly number[], byHand: boolean): Record<string, string> {
  const resource = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: "1"\n';
  const names = indexes.map((index) => `kind${index}.yaml`);
  const configs = indexes.map((index, at) => {
    const annotation = `    config.kubernetes.io/function: |\n      container:\n        image: ${image(index)}@sha256:${DIGEST}\n`;
    const metadata = `metadata:\n  name: kind${index}\n${byHand ? `  annotations:\n${annotation}` : ''}`;
    return [names[at]!, `apiVersion: example.com/v1\nkind: Kind${index}\n${metadata}`];
  });
  const catalogs = byHand ? '' : 'catalogs: [../catalog.json]\n';
  return {
    'kustomization.yaml': `${catalogs}resources: [settings.yaml]\ntransformers: [${names.join(', ')}]\n`,
    'settings.yaml': resource,
    ...Object.fromEntries(configs),
  };
}

async function write(folder: string, contents: Record<string, string>, mode = 0o644): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(contents))
    await writeFile(path.join(folder, name), text, { mode });
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
    await write(scratch, { 'catalog.json': catalogText(functions) });
    await write(at('app'), files(indexes, false));
    await write(at('hand'), files(indexes, true));
    await write(at('bin'), { docker: ENGINE }, 0o755);
    const env = {
      ...process.env,
      HOME: scratch,
      XDG_CACHE_HOME: at('cache'),
      NO_COLOR: '1',
      PATH: `${at('bin')}:${process.env.PATH}`,
    };
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
