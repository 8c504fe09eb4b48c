import { describe, expect, it } from 'vitest';
import { fieldAt, fromJson, setField, textNode } from '../resources.js';
import { Random } from '../testing/random.js';
import { RandomYaml } from '../testing/random-yaml.js';
import { ResourceFile } from './resource-file.js';

const SEEDS = 500;

describe('a file of documents', () => {
  it(`keeps the bytes of ${SEEDS} files that do not change`, () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = new Random(seed);
      const documents = Array.from({ length: 1 + random.below(3) }, () => new RandomYaml(random).document());
      const lines = random.pick(['', '\ufeff']) + documents.join('---\n');
      const text = random.chance(0.5) ? lines : lines.replaceAll('\n', '\r\n');
      const file = new ResourceFile(text, 'a.yaml');
      expect(file.documents).toHaveLength(documents.length);
      expect(file.edited(), `seed ${seed}`).toEqual({ text, notes: [] });
    }
  });

  it('changes a value where it is, and not where an alias refers to it', () => {
    const file = new ResourceFile('a: &a {b: 1} # one\nc: *a\nd: *a\n', 'a.yaml');
    setField(fieldAt(file.documents[0]!.root!, ['a'])!, 'b', textNode('2'));
    setField(fieldAt(file.documents[0]!.root!, ['d'])!, 'e', textNode('f'));
    const { text, notes } = file.edited();
    expect(text).toBe('a: &a {b: "2"} # one\nc: {b: 1}\nd: {b: 1, e: f}\n');
    expect(notes.map(({ kind, path }) => [kind, path])).toEqual([
      ['expanded', 'c'],
      ['expanded', 'd'],
    ]);
  });

  it('gives a field another name, with its comments', () => {
    const text = 'list:\n# above\n- exec:   a # beside\n  # next\n  b: 1\n';
    const file = new ResourceFile(text, 'a.yaml');
    file.rename(0, ['list', 0], 'exec', 'image');
    file.rename(0, ['list', 0], 'missing', 'other');
    expect(file.edited().text).toBe(text.replace('exec:   a', 'image: a'));
  });

  it('adds, replaces, and removes documents', () => {
    const file = new ResourceFile('# license\n\n---\na:   1 # one\n---\nb: 2\n', 'a.yaml');
    file.replace(0, fromJson({ a: 3 }));
    file.replace(1, undefined);
    file.add(fromJson({ c: [4] }));
    expect(file.documents.map(({ text, root }) => [text, root === undefined])).toEqual([
      ['a:   1 # one\n', false],
      ['b: 2\n', true],
    ]);
    expect(file.edited().text).toBe('# license\n\n---\na:   3 # one\n---\nc:\n- 4\n');
  });

  it('names the file if an alias is inside its own anchor', () => {
    expect(() => new ResourceFile('a: &a [*a]\n', 'a.yaml')).toThrow(
      'cannot read a.yaml: the alias *a is inside its own anchor',
    );
  });
});
