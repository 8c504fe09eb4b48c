import {
  documentRoot,
  type ResourceNode,
  readResourceList,
  setField,
  textNode,
  writeResourceList,
} from '@krmhub/schema/resource-yaml';
import { Random } from '@krmhub/yaml/testing/random';
import { RandomYaml } from '@krmhub/yaml/testing/random-yaml';
import { afterEach, describe, expect, it } from 'vitest';
import { runChain } from '../chain/run-chain.js';
import type { Step } from '../chain/step.js';
import { configMap, folderContent, packageFolder, removePackageFolders } from '../testing/package-folder.js';
import { applyWrite } from './apply-write.js';
import { planWrite } from './plan-write.js';
import { readPackage } from './read-package.js';

const seed = Number(process.env.KRMHUB_TEST_SEED ?? 1);
afterEach(removePackageFolders);

/** A function that changes each item. It keeps comments, or writes JSON. */
function step(isJson: boolean, change: (list: ReturnType<typeof readResourceList>) => void): Step {
  return {
    name: 'change',
    type: 'mutator',
    async run(input) {
      const list = readResourceList(Buffer.from(input).toString(), 'the input');
      change(list);
      if (isJson) for (const item of list.items) dropStyle(item);
      const output = Buffer.from(writeResourceList({ ...list, kind: 'ResourceList' }));
      return { exitCode: 0, output, results: [], stderr: new Uint8Array(), stderrTruncated: false };
    },
  };
}

function dropStyle(node: ResourceNode): void {
  Object.assign(node, { head: '', line: '', foot: '', style: node.kind === 'scalar' ? node.style & 7 : 0 });
  for (const child of node.content) dropStyle(child);
}

async function run(folder: string, steps: readonly Step[]): Promise<number> {
  const pack = await readPackage(folder);
  const { resources, failed } = await runChain(pack.resources, steps);
  expect(failed?.error).toBeUndefined();
  const plan = planWrite(pack, resources);
  await applyWrite(pack, plan);
  return plan.changes.length;
}

const HEAD = 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n';

/** A file of random documents that functions can read. */
function randomFile(random: Random): string {
  const yaml = new RandomYaml(random);
  const documents = Array.from({ length: 1 + random.below(3) }, () => {
    const text = `${HEAD}${yaml.document().replace(/^(?:apiVersion|kind|metadata):.*\n/gm, '')}`;
    return random.chance(0.2) ? `# only a comment\n---\n${text}` : text;
  });
  const text = documents.join('---\n');
  return random.chance(0.2) ? text.replaceAll('\n', '\r\n') : text;
}

/** Reports whether functions can read what kyaml makes of a file: not of some comments beside anchors. */
async function isShown(text: string): Promise<boolean> {
  try {
    const pack = await readPackage(packageFolder({ 'a.yaml': text }));
    for (const isJson of [false, true]) {
      const one = step(isJson, ({ items }) => items.forEach(addField));
      const { failed } = await runChain(pack.resources, [one, one]);
      if (failed !== undefined) return false;
    }
    return true;
  } catch {
    return false;
  }
}

function addField(item: ResourceNode): void {
  setField(documentRoot(item), 'added', textNode('x'));
}

describe('a package of random files', () => {
  it('is left as it is by functions that change nothing, and changed once by others', async () => {
    const random = new Random(seed);
    let count = 0;
    for (let round = 0; round < 60; round++) {
      const files: Record<string, string> = {};
      while (Object.keys(files).length < 3) {
        const text = randomFile(random);
        if (await isShown(text)) files[`f${Object.keys(files).length}.yaml`] = text;
      }
      const folder = packageFolder(files);
      for (const isJson of [false, true]) {
        expect(await run(folder, [step(isJson, () => undefined)]), JSON.stringify(files)).toBe(0);
      }
      const label = step(random.chance(0.5), ({ items }) => items.forEach(addField));
      count += await run(folder, [label, label]);
      const after = folderContent(folder);
      expect(await run(folder, [label]), JSON.stringify(after)).toBe(0);
      expect(folderContent(folder)).toEqual(after);
      for (const [name, text] of Object.entries(files)) {
        const lines = after[name]!.split('\n');
        // The lines before are there, in their order.
        for (const line of text.split('\n')) expect(lines.indexOf(line), after[name]!).not.toBe(-1);
      }
      removePackageFolders();
    }
    expect(count).toBe(180);
  }, 120_000);
});

describe('documents of a file', () => {
  const names = (text: string) => [...text.matchAll(/name: (\w+)/g)].map(([, name]) => name);
  const file = ['a', 'b', 'c'].map((name) => configMap(name)).join('---\n');

  it.each([
    [
      [0, 1, 2],
      ['a', 'b', 'c'],
    ],
    [
      [2, 0, 1],
      ['b', 'c', 'a'],
    ],
    [
      [0, 2, 1],
      ['a', 'c', 'b'],
    ],
    [
      [1, 0, 5],
      ['b', 'a', 'c'],
    ],
  ])('are in the order of their indexes: %j', async (indexes, wanted) => {
    const pack = await readPackage(packageFolder({ 'x.yaml': file }));
    const resources = pack.resources.map((one, at) => one.at({ index: indexes[at]! }));
    const [change] = planWrite(pack, resources).changes;
    const after = change?.type === 'update' ? change.after : file;
    expect(names(after)).toEqual(wanted);
    expect(after.length).toBe(file.length);
  });
});
