import { expect, it } from 'vitest';
import type { JsonValue } from '../json-value.js';
import {
  equalValue,
  fromJson,
  type ResourceNode,
  readResources,
  toJson,
  writeDocument,
} from '../resources.js';
import { Random } from '../testing/random.js';
import { RandomChange } from '../testing/random-change.js';
import { randomJson, shuffledKeys } from '../testing/random-json.js';
import { RandomYaml } from '../testing/random-yaml.js';
import { type DocumentEdit, editFile } from './edit-file.js';

const SEEDS = process.env.KRMHUB_TEST_FULL_SIZE === undefined ? 150 : 5_000;

function randomChange(random: Random, before: DocumentEdit['before']): ResourceNode {
  const after = before.node.clone();
  const change = new RandomChange(random, before.text, before.node);
  for (let i = random.below(3); i >= 0; i--) change.change(after.content[0]!);
  return after;
}

function edit(text: string, ...after: (ResourceNode | undefined)[]): string {
  const documents = readResources(text, '').map((before, i) => ({ before, after: after[i] }));
  const edited = editFile({ text, documents });
  const rewritten = edited.notes.filter(({ kind }) => kind === 'rewritten');
  expect(rewritten, text).toEqual([]);
  return edited.text;
}

it.each([[2], [4], ['\t'], [undefined]])('edits JSON of indentation %j as its writer would', (indent) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed);
    const text = JSON.stringify(randomJson(random), null, indent) + random.pick(['', '\n']);
    const [before] = readResources(text, '');
    const after = randomChange(random, before!);
    const expected = JSON.stringify(toJson(after), null, indent);
    // JavaScript moves such keys to the front.
    if (/"[0-9]+":/.test(expected)) continue;
    // What is written anew has it escaped, because readers of YAML 1.1 take it for a line break.
    const escaped = (json: string): string => json.replaceAll('\u2028', '\\u2028');
    expect(escaped(edit(text, after).trimEnd()), `seed ${seed}: ${text}`).toBe(escaped(expected));
  }
});

it('edits files whose line ends are those of Windows', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed);
    const text = random.pick(['', '\ufeff']) + new RandomYaml(random).document();
    const [before] = readResources(text, '');
    const after = randomChange(random, before!);
    const crlf = edit(text.replaceAll('\n', '\r\n'), after);
    expect(crlf, `seed ${seed}`).toBe(edit(text, after).replaceAll('\n', '\r\n'));
  }
});

it('edits each document of a file as if it were alone', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed);
    const yaml = new RandomYaml(random);
    const separators = ['---\n', '--- # note\n', '---\n# license\n---\n', '---\n\n'];
    const texts = Array.from({ length: 2 + random.below(3) }, () => yaml.document());
    const between = texts.map((_, i) =>
      i === 0 ? random.pick(['', '---\n', '# license\n---\n']) : random.pick(separators),
    );
    const join = (parts: readonly string[]) => parts.map((part, i) => between[i] + part).join('');
    const text = join(texts);
    const documents = readResources(text, '');
    expect(documents.length).toBe(texts.length);
    const after = documents.map((before) =>
      random.chance(0.5) ? randomChange(random, before) : before.node,
    );
    expect(edit(text, ...after), `seed ${seed}`).toBe(join(texts.map((part, i) => edit(part, after[i]))));
    const removed = random.below(texts.length);
    const rest = edit(text, ...after.map((node, i) => (i === removed ? undefined : node)));
    const nodes = readResources(rest, '').map(({ node }) => node);
    const kept = after.filter((_, i) => i !== removed);
    expect(nodes.length, rest).toBe(kept.length);
    expect(
      nodes.every((node, i) => equalValue(node, kept[i]!)),
      `seed ${seed}: ${text}=====\n${rest}`,
    ).toBe(true);
    if (text.includes('# license\n---')) expect(rest).toContain('# license\n');
    const all = editFile({
      text,
      documents: documents.map((before) => ({ before, after: before.node })),
      added: [{ node: after[0]!, seqIndent: 'wide' }],
    });
    expect(all.text).toBe(`${text}---\n${writeDocument(after[0]!, { seqIndent: 'wide' })}`);
  }
});

it('keeps a document whose keys have another order, and whose comments and styles are lost', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = new Random(seed);
    const text = new RandomYaml(random).document();
    const [before] = readResources(text, '');
    const value = toJson(before!.node) as JsonValue;
    // A number that JSON does not hold exactly, and merge keys.
    if (/1234567890|<</.test(text)) continue;
    expect(edit(text, fromJson(shuffledKeys(random, value))), `seed ${seed}`).toBe(text);
  }
});
