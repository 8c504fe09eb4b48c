import { type KptfileSource, parseKptfile } from '@krmhub/functions/plan/kptfile';
import { describe, expect, it } from 'vitest';
import type { EntryRuntime } from '../function-configs/entry-runtime.js';
import { editKptfile } from './edit-kptfile.js';

const IMAGE = `registry.example.com/fn/set-owner@sha256:${'0f'.repeat(32)}`;
const EXEC = `krmhub kpt exec linux/amd64=https://example.com/a,b#sha256=${'0f'.repeat(32)}`;

/** Edits every entry with a configPath. */
function edit(text: string, runtime: EntryRuntime = { field: 'image', value: IMAGE }): string {
  const kptfile = parseKptfile(text, 'Kptfile') as KptfileSource;
  const entries = kptfile.kptfile.pipeline.filter(({ configPath }) => configPath !== undefined);
  expect(entries.length).toBeGreaterThan(0);
  return editKptfile(text, 'Kptfile', new Map(entries.map((entry) => [entry, runtime])));
}

const head = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app # the app\n';

describe('editing a Kptfile', () => {
  it.each<[string, string, string]>([
    [
      'adds an image as the first key',
      `pipeline:\n  mutators:\n    - configPath: fn.yaml # ours\n    # the next\n    - image: other:v1\n`,
      `pipeline:\n  mutators:\n    - image: ${IMAGE}\n      configPath: fn.yaml # ours\n    # the next\n    - image: other:v1\n`,
    ],
    [
      'adds an image below a comment',
      `pipeline:\n  validators:\n  - # checks owners\n    name: check\n    configPath: fn.yaml\n`,
      `pipeline:\n  validators:\n  - # checks owners\n    image: ${IMAGE}\n    name: check\n    configPath: fn.yaml\n`,
    ],
    [
      'replaces an image and keeps the comment, the order and the quotes',
      `pipeline:\n  mutators:\n  - configPath: fn.yaml\n    image:   'old:v1'   # pinned\n    selectors: [{kind: Deployment}]\n`,
      `pipeline:\n  mutators:\n  - configPath: fn.yaml\n    image:   '${IMAGE}'   # pinned\n    selectors: [{kind: Deployment}]\n`,
    ],
    [
      'replaces a command by an image',
      `pipeline:\n  mutators:\n  - exec: ./fn --flag # local\n    configPath: fn.yaml\n`,
      `pipeline:\n  mutators:\n  - image: ${IMAGE} # local\n    configPath: fn.yaml\n`,
    ],
    [
      'fills a key without a value',
      `pipeline:\n  mutators:\n  - image: # to do\n    configPath: fn.yaml\n  - configPath: fn.yaml\n    image: ~\n`,
      `pipeline:\n  mutators:\n  - image: ${IMAGE} # to do\n    configPath: fn.yaml\n  - configPath: fn.yaml\n    image: ${IMAGE}\n`,
    ],
    [
      'edits flow style',
      `pipeline: {mutators: [{ configPath: fn.yaml }, {"configPath": "fn.yaml", "image": "old"}]}\n`,
      `pipeline: {mutators: [{ image: '${IMAGE}', configPath: fn.yaml }, {"configPath": "fn.yaml", "image": "${IMAGE}"}]}\n`,
    ],
    [
      'replaces a folded text',
      `pipeline:\n  mutators:\n  - image: >-\n      old:v1\n    configPath: fn.yaml\n`,
      `pipeline:\n  mutators:\n  - image: >-\n      ${IMAGE}\n    configPath: fn.yaml\n`,
    ],
    [
      'empties a tag, which would replace the digest',
      `pipeline:\n  mutators:\n  - image: 'old'\n    tag: ~0.2 # ours\n    configPath: fn.yaml\n`,
      `pipeline:\n  mutators:\n  - image: '${IMAGE}'\n    tag: "" # ours\n    configPath: fn.yaml\n`,
    ],
    [
      'edits the last line without a line end',
      `pipeline:\n  mutators:\n  - configPath: fn.yaml\n    image: old:v1`,
      `pipeline:\n  mutators:\n  - configPath: fn.yaml\n    image: ${IMAGE}`,
    ],
  ])('%s', (_, before, after) => {
    expect(edit(head + before)).toBe(head + after);
    const windows = (text: string) => (head + text).replaceAll('\n', '\r\n');
    expect(edit(windows(before))).toBe(windows(after));
    // A byte order mark moves every offset.
    expect(edit(`\ufeff${head}${before}`)).toBe(`\ufeff${head}${after}`);
    // Nothing is left to edit.
    expect(edit(head + after)).toBe(head + after);
  });

  it('writes a command line, in quotes where YAML needs them', () => {
    const text = `${head}pipeline:\n  mutators:\n  - configPath: fn.yaml\n  - {configPath: fn.yaml}\n`;
    const after = edit(text, { field: 'exec', value: EXEC });
    expect(after).toBe(
      `${head}pipeline:\n  mutators:\n  - exec: ${EXEC}\n    configPath: fn.yaml\n  - {exec: '${EXEC}', configPath: fn.yaml}\n`,
    );
    expect(edit(after)).toContain(`  - image: ${IMAGE}\n    configPath`);
  });

  it.each([
    [
      'a license in a document of its own, and other documents',
      (text: string) => `# Copyright\n\n---\n${text}---\n# nothing\n---\nkind:   Other # ours\n...\n`,
    ],
    [
      'anchors of others',
      (text: string) => `${text}info: &i # shared\n  site:   "x"\nmore: [ *i,  *i ] # twice\n`,
    ],
    ['white space and a comment at the end', (text: string) => `${text}\n\n  # the end`],
  ])('leaves %s as they are', (_, around) => {
    const before = `${head}pipeline:\n  mutators:\n  - configPath: fn.yaml # ours\n`;
    const after = `${head}pipeline:\n  mutators:\n  - image: ${IMAGE}\n    configPath: fn.yaml # ours\n`;
    expect(edit(around(before))).toBe(around(after));
    const windows = (text: string) => around(text).replaceAll('\n', '\r\n');
    expect(edit(windows(before))).toBe(windows(after));
  });

  it('leaves the layout of JSON', () => {
    const json = (entry: string) =>
      `{\n\t"apiVersion": "kpt.dev/v1", "kind": "Kptfile",\n\t"metadata": { "name" : "app" },\n\t"pipeline": {"mutators": [\n\t\t${entry}\n\t]}\n}`;
    const before = json('{"configPath": "fn.yaml", "image": "old"}');
    expect(edit(before)).toBe(json(`{"configPath": "fn.yaml", "image": "${IMAGE}"}`));
    expect(JSON.parse(edit(json('{"configPath": "fn.yaml"}'))).pipeline.mutators).toEqual([
      { image: IMAGE, configPath: 'fn.yaml' },
    ]);
  });

  it.each([
    ['an explicit key', 'pipeline:\n  mutators:\n  - ? configPath\n    : fn.yaml\n', 1],
    ['an alias', 'x: &fn {configPath: fn.yaml}\npipeline:\n  mutators: [*fn]\n  validators: [*fn]\n', 2],
  ])('changes the value of %s there, and nothing else', (_, pipeline, count) => {
    const after = edit(head + pipeline);
    const { value } = parseKptfile(after, 'Kptfile') as KptfileSource;
    const entry = { image: IMAGE, configPath: 'fn.yaml' };
    expect(Object.values(value.pipeline as object)).toEqual(Array(count).fill([entry]));
    expect(value.x).toEqual(count === 2 ? { configPath: 'fn.yaml' } : undefined);
    expect(after.startsWith(head)).toBe(true);
  });
});
