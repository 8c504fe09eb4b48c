import { describe, expect, it } from 'vitest';
import type { RunResult } from '../output/run-result.js';
import { decodeResourceList } from '../resource-list/decode.js';
import { encodeResourceList } from '../resource-list/encode.js';
import type { FileFormat } from '../resource-list/file-formats.js';
import { readResources } from '../resource-list/read-resources.js';
import { runChain } from './run-chain.js';
import type { Step } from './step.js';

/** What kpt 1.0.0-beta.56 writes for these documents after `kpt fn eval --exec cat`. */

const ITEM = 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n';

function step(change: (text: string) => string): Step {
  return {
    name: 'a function',
    type: 'mutator',
    functionConfig: 'kind: ConfigMap\n',
    run: async (input) =>
      ({
        exitCode: 0,
        output: Buffer.from(change(Buffer.from(input).toString())),
        results: [],
        stderr: new Uint8Array(),
        stderrTruncated: false,
      }) as unknown as RunResult,
  };
}

const cat = step((text) => text);

async function run(text: string, ...steps: Step[]): Promise<string> {
  return runAs('edit', text, ...steps);
}

async function runAs(format: FileFormat, text: string, ...steps: Step[]): Promise<string> {
  const { resources, failed } = await runChain(readResources(text, { path: 'a.yaml' }), steps, { format });
  expect(failed).toBeUndefined();
  return resources.map((resource) => resource.text()).join('---\n');
}

describe('a resource that a function gave back as it was', () => {
  it.each([
    ['loses the empty line below its header', `# header\n\n# more\n${ITEM}`, `# header\n# more\n${ITEM}`],
    ['keeps comments beside and above fields', `${ITEM}spec: # a\n  # b\n  c: d # e\n`, undefined],
    [
      'gets a comment beside a dash twice',
      `${ITEM}spec:\n- # b\n  c: d\n`,
      `${ITEM}spec:\n# b\n- # b\n  c: d\n`,
      `${ITEM}spec:\n# b\n# b\n- c: d\n`,
    ],
    [
      'gets a comment below a list twice',
      `${ITEM}spec:\n  list:\n  - b: c\n# end\n`,
      `${ITEM}spec:\n  list:\n  - b: c\n    # end\n# end\n`,
    ],
    ['gets quotes for folded text', `${ITEM}data: >-\n  a\n  b\n`, `${ITEM}data: "a b"\n`],
    ['keeps text', `${ITEM}data: |\n  # a\n  b\n`, undefined],
  ])('%s', async (_, text, once = text, twice = once) => {
    expect(await runAs('kpt', text, cat)).toBe(once);
    expect(await runAs('kpt', text, cat, cat)).toBe(twice);
    expect(await runAs('kpt', text, cat, cat, cat)).toBe(twice);
  });

  it('has a comment below a list once, unless kpt writes the file', async () => {
    const text = `${ITEM}spec:\n  list:\n  - b: c\n# end\n`;
    for (const steps of [[cat], [cat, cat, cat]])
      expect((await run(text, ...steps)).match(/# end/g)).toHaveLength(1);
  });

  it('gives its comments to no other resource', async () => {
    const text = `${ITEM}# end\n---\n${ITEM.replace('name: a', 'name: b')}`;
    const written = await run(text, cat, cat, cat);
    expect(written.split('---\n')[1]).toBe(ITEM.replace('name: a', 'name: b'));
  });
});

describe('a resource that a function changed', () => {
  it('gets its comments back', async () => {
    const text = `# header\n\n${ITEM}spec:\n  # b\n  c: d # e\n`;
    const written = await run(
      text,
      step((list) => list.replace(/ *#.*/g, '').replace('c: d', 'c: x')),
    );
    expect(written).toBe(`# header\n${ITEM}spec:\n  # b\n  c: x # e\n`);
  });

  it('gives no comment of a moved item to a new one', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((verb) => `# ${verb}\n  - verbs: [${verb}]\n`);
    const text = `${ITEM}rules:\n  ${a}  ${b}  ${c}`;
    const written = await run(
      text,
      step((list) => list.replace(/ *# a\n.*\n/, '').replace(/( *)- verbs: \[c\]\n/, '$&$1- verbs: [new]\n')),
    );
    expect(written.match(/# c/g)).toHaveLength(1);
    expect(written).toMatch(/- verbs: \[c\]\n *- verbs: \[new\]\n/);
  });

  it('has its annotations where functions saw those of the orchestrator', async () => {
    const namespace = step((list) => list.replace('  spec: {}', '    namespace: n\n  spec: {}'));
    const annotation = step((list) => list.replace("'a.yaml'\n", "'a.yaml'\n      b: c\n"));
    const expected = `${ITEM}  annotations:\n    b: c\n  namespace: n\nspec: {}\n`;
    expect(await run(`${ITEM}spec: {}\n`, namespace, annotation)).toBe(expected);
    // Between two commands too.
    const resources = readResources(`${ITEM}spec: {}\n`, { path: 'a.yaml' });
    const first = await runChain(resources, [namespace]);
    const piped = decodeResourceList(encodeResourceList(first.resources)).resources;
    const second = await runChain(piped, [annotation]);
    expect(second.resources.map((resource) => resource.text())).toEqual([expected]);
  });
});
