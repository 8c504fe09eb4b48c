import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { applyWrite, planWrite, readPackage, runChain, type Step } from '@krmhub/functions/fn';
import { readResources } from '@krmhub/schema/resource-yaml';
import { Random } from '@krmhub/yaml/testing/random';
import { afterAll, describe, expect, it } from 'vitest';
import { outputOf, spawnSync } from '../processes.js';
import { root, temporaryFolder } from '../running.js';
import { seed } from '../seed.js';
import { movesBrackets } from './kpt-fn/differences.js';
import { randomResource, randomWorkload } from './kpt-resources.js';
import { missingReason, titleWithReason } from './oci-tools.js';

/** The files after a function are those that kpt writes, byte for byte. */

const why = missingReason('kpt');
const { folder, remove } = temporaryFolder();
afterAll(remove);

const COUNT = 300;
const REWRITE = path.join(root, 'test/interop/rewriting-function.mjs');

let folders = 0;

function write(files: Readonly<Record<string, string>>): string {
  const made = path.join(folder, `p${folders++}`);
  mkdirSync(made);
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(made, name), text);
  return made;
}

function read(made: string): Record<string, string> {
  const names = readdirSync(made).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(path.join(made, name), 'utf8')]));
}

function byKpt(files: Readonly<Record<string, string>>, program: string): Record<string, string> {
  const made = write(files);
  outputOf('kpt', ['fn', 'eval', made, '--exec', program]);
  return read(made);
}

async function byKrmhub(
  files: Readonly<Record<string, string>>,
  program: string,
): Promise<Record<string, string>> {
  const made = write(files);
  const step: Step = {
    name: program,
    type: 'mutator',
    functionConfig: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: function-input\ndata: {}\n',
    async run(input) {
      const { status, stdout, stderr } = spawnSync(program, { input, maxBuffer: 2 ** 28 });
      return { exitCode: status ?? 1, output: stdout, results: [], stderr, stderrTruncated: false };
    },
  };
  const pack = await readPackage(made);
  const { resources, failed } = await runChain(pack.resources, [step], { format: 'kpt' });
  expect(failed?.error).toBeUndefined();
  await applyWrite(pack, planWrite(pack, resources, { format: 'kpt' }));
  return read(made);
}

/** Generates files that a parser takes. */
function generate(resource: (random: Random, name: string) => string): Record<string, string> {
  const random = new Random(seed);
  const files: Record<string, string> = {};
  for (let index = 0; Object.keys(files).length < COUNT; index++) {
    const text = resource(random, `r${index}`);
    try {
      if (readResources(text, 'a resource').length !== 1) continue;
    } catch {
      continue;
    }
    files[`f${1000 + index}.yaml`] = text;
  }
  return files;
}

async function compare(files: Record<string, string>, program: string): Promise<void> {
  const expected = byKpt(files, program);
  const written = await byKrmhub(files, program);
  expect(Object.keys(written)).toEqual(Object.keys(expected));
  for (const name of Object.keys(files)) {
    if (isSame(written[name], expected[name])) continue;
    // kpt writes comments at the end of a resource into the next one; a package of one file has no next one.
    const alone = { [name]: files[name]! };
    const [ours, theirs] = [await byKrmhub(alone, program), byKpt(alone, program)];
    if (!isSame(ours[name], theirs[name])) expect(ours, files[name]).toEqual(theirs);
  }
}

function isSame(ours = '', theirs = ''): boolean {
  return ours === theirs || movesBrackets(theirs, ours);
}

describe.skipIf(why !== undefined)(titleWithReason(`kpt, seed ${seed}`, why), () => {
  it('writes the same bytes after a function that changes nothing', async () => {
    await compare(generate(randomResource), '/bin/cat');
  });

  it('writes the same bytes of workloads after a function that changes nothing', async () => {
    await compare(generate(randomWorkload), '/bin/cat');
  });

  it('writes the same bytes after a function that loses comments and order', async () => {
    await compare(generate(randomWorkload), REWRITE);
  });
});

const RESOURCE = 'apiVersion: v1\nkind: A\nmetadata:\n  name: a\n';

/** Where krmhub deliberately differs. */
describe.skipIf(why !== undefined)(titleWithReason('kpt', why), () => {
  it('keeps the first of two values of a key, which krmhub rejects', async () => {
    const files = { 'a.yaml': `${RESOURCE}data:\n  x: "1"\n  x: "2"\n` };
    expect(byKpt(files, '/bin/cat')).toEqual({ 'a.yaml': `${RESOURCE}data:\n  x: "1"\n  x: "1"\n` });
    await expect(byKrmhub(files, '/bin/cat')).rejects.toThrow('the key "x" occurs twice');
  });

  it('drops what is behind the end of a document, which krmhub rejects', async () => {
    const files = { 'a.yaml': `${RESOURCE}...\nx: 1\n` };
    expect(byKpt(files, '/bin/cat')).toEqual({ 'a.yaml': RESOURCE });
    await expect(byKrmhub(files, '/bin/cat')).rejects.toThrow('a.yaml:6:1');
  });

  it('writes the last quote of a text at the start of a line, which krmhub indents', async () => {
    const text = (indent: string) => `${RESOURCE}data:\n  x: 'a\n\n${indent}'\n  z: "1"\n`;
    const files = { 'a.yaml': text('    ') };
    expect(byKpt(files, '/bin/cat')).toEqual({ 'a.yaml': text('') });
    expect(await byKrmhub(files, '/bin/cat')).toEqual(files);
    expect(await byKrmhub({ 'a.yaml': text('') }, '/bin/cat')).toEqual(files);
  });

  it('writes brackets and commas behind a comment at the start of a line, which krmhub does not', async () => {
    const files = { 'a.yaml': `${RESOURCE}data:\n- {a: [b], # of a\n  c: d # of c\n  }\n` };
    expect(byKpt(files, '/bin/cat')).toEqual({
      'a.yaml': `${RESOURCE}data:\n- {a: [b] # of a\n, c: d, # of c\n}\n`,
    });
    expect(await byKrmhub(files, '/bin/cat')).toEqual({
      'a.yaml': `${RESOURCE}data:\n- {a: [b], # of a\n  c: d, # of c\n  }\n`,
    });
  });

  it('adds line breaks to folded text with indented lines, which krmhub writes in quotes', async () => {
    const files = { 'a.yaml': `${RESOURCE}data:\n- >\n  a\n    b\n` };
    expect(byKpt(files, '/bin/cat')).toEqual({ 'a.yaml': `${RESOURCE}data:\n- >\n  a\n\n\n    b\n` });
    expect(await byKrmhub(files, '/bin/cat')).toEqual({ 'a.yaml': `${RESOURCE}data:\n- "a\\n  b\\n"\n` });
  });

  it('writes comments into the next resource, which krmhub leaves where they are', async () => {
    const second = RESOURCE.replace('name: a', 'name: b');
    const files = { 'a.yaml': `${RESOURCE}spec:\n\n  # one\n\n  # two\n  x\n`, 'b.yaml': second };
    expect(byKpt(files, '/bin/cat')['b.yaml']).toContain('# two');
    const written = await byKrmhub(files, '/bin/cat');
    expect(written['b.yaml']).toBe(second);
    expect(written['a.yaml']).toContain('# two');
  });

  it('fails if a function makes a list of a map, which krmhub takes', async () => {
    const script = path.join(folder, 'to-list');
    const second = RESOURCE.replace('name: a', 'name: b');
    const files = { 'a.yaml': `${RESOURCE}spec: {a: 1}\n`, 'b.yaml': second };
    writeFileSync(script, "#!/bin/sh\nsed 's/spec: {a: 1}/spec: [1]/'\n", { mode: 0o755 });
    expect(() => byKpt(files, script)).toThrow('wrong node kind');
    expect((await byKrmhub(files, script))['a.yaml']).toBe(`${RESOURCE}spec: [1]\n`);
  });
});
