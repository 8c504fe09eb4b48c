import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { equalValue, fromJson, readResources, readTrees, toJson } from '../resources.js';
import { Random } from '../testing/random.js';
import { RandomChange } from '../testing/random-change.js';
import { shuffledKeys } from '../testing/random-json.js';
import { editFile } from './edit-file.js';

const DATA = join(import.meta.dirname, '../../../../../shared/data');
const FULL = process.env.KRMHUB_TEST_FULL_SIZE !== undefined;
const ROUNDS = FULL ? 50 : 1;

/** Files of YAML and JSON that can be read: all, or every fifth. */
function files(): { name: string; text: string }[] {
  return readdirSync(DATA, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ya?ml|json)$|(?:^|\/)Kptfile$/.test(name))
    .sort()
    .filter((_, i) => FULL || i % 5 === 0)
    .map((name) => ({ name, text: readFileSync(join(DATA, name), 'utf8') }))
    .filter(({ name, text }) => text.length < 500_000 && isReadable(text, name));
}

function isReadable(text: string, name: string): boolean {
  try {
    return readResources(text, name).length > 0;
  } catch {
    return false;
  }
}

describe.skipIf(!existsSync(DATA))('real files (skipped if ../shared/data is missing)', () => {
  it('keep their bytes if nothing changes', () => {
    const found = files();
    expect(found.length).toBeGreaterThan(FULL ? 400 : 80);
    for (const { name, text } of found) {
      const documents = readResources(text, name);
      const random = new Random(1);
      const same = documents.map((before) => ({ before, after: before.node.clone() }));
      expect(editFile({ text, documents: same }), name).toEqual({ text, notes: [] });
      // Numbers that JSON cannot hold, and merge keys.
      if (/[0-9]{16}|<<:/.test(text)) continue;
      const shuffled = documents.map((before) => ({
        before,
        after: fromJson(shuffledKeys(random, toJson(before.node))),
      }));
      expect(editFile({ text, documents: shuffled }), name).toEqual({ text, notes: [] });
    }
  });

  it('have the new value after random changes, for another parser too', () => {
    let seed = 0;
    for (const { name, text } of files()) {
      for (let round = 0; round < ROUNDS; round++) {
        const random = new Random(++seed);
        const documents = readResources(text, name).map((before) => {
          const after = before.node.clone();
          const change = new RandomChange(random, before.text, before.node);
          for (let i = random.below(3); i > 0; i--) change.change(after.content[0]!);
          return { before, after };
        });
        const edited = editFile({ text, documents });
        expect(edited.notes, name).toEqual([]);
        const again = readTrees(edited.text, name);
        expect(again.length, name).toBe(documents.length);
        expect(
          again.every((node, i) => equalValue(node, documents[i]!.after)),
          name,
        ).toBe(true);
        const problems = (yaml: string) => parseAllDocuments(yaml).flatMap(({ errors }) => errors);
        if (problems(text).length === 0) expect(problems(edited.text), name).toEqual([]);
      }
    }
  });
});
