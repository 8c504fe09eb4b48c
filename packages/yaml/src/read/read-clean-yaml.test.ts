import { describe, expect, it } from 'vitest';
import type { Path } from '../diagnostic.js';
import { readCleanYaml, readYaml } from '../index.js';
import { mutateText } from '../testing/mutate-text.js';
import { Random } from '../testing/random.js';

const bytes = (text: string) => new TextEncoder().encode(text);
const options = { file: 'f.yaml' };
const clean = (text: string) => readCleanYaml(bytes(text), options);

const TEXT = `# a comment
apiVersion: v1
kind: 'It''s'
metadata: {name: "a\\nb", labels: [one, two]}
spec:
  text: |
    first
      second

  folded: >-
    one
    two
  plain: several
    lines
  list:
  - a: 1
    b: [x, {z: 2.5}]
  -
    - true
    - null
    - ~
  empty:
`;

/** Plain block style, which has its own reader and positions. */
const BLOCK = `# a comment
apiVersion: v1
spec: # of everything

  text: |
    first
      second

  "quoted":   "a\\n" # b
  list:
  - a: 1
    b: some words # and a comment
  # the next
  - null
  - true
  empty: {}
  none: []
other:
  a: 2
`;

describe('a file without problems', () => {
  it('is read as readYaml reads it, with its positions', () => {
    const precise = readYaml(bytes(TEXT), options);
    expect(precise.diagnostics).toEqual([]);
    const [expected] = precise.documents;
    const document = clean(TEXT)!;
    expect(document.value).toEqual(expected!.value);
    for (const path of [[], ['kind'], ['spec', 'list', 0, 'b', 1, 'z'], ['spec', 'missing']]) {
      expect(document.locate(path)).toEqual(expected!.locate(path));
      expect(document.locate(path, 'key')).toEqual(expected!.locate(path, 'key'));
    }
  });

  it('has the same positions in plain block style', () => {
    const [expected] = readYaml(bytes(BLOCK), options).documents;
    expect(clean(BLOCK)!.value).toEqual(expected!.value);
    for (const path of [...pathsOf(expected!.value), ['spec', 'list', 7], ['list', 0, 'a'], ['spec', 'a']]) {
      for (const target of ['key', 'value'] as const) {
        const range = expected!.locate(path, target);
        expect([path, target, clean(BLOCK)!.locate(path, target)]).toEqual([path, target, range]);
      }
    }
    // The same document, until it reads positions in another way.
    const document = clean(BLOCK)!;
    for (let turn = 0; turn < 15; turn++)
      expect(document.locate(['apiVersion'])).toEqual(expected!.locate(['apiVersion']));
  });

  it.each([
    ['no document', ''],
    ['two documents', 'a: 1\n---\nb: 2\n'],
    ['a syntax error', 'a: [1\n'],
    ['a duplicate key', 'a: 1\na: 2\n'],
    ['a duplicate key in JSON', '{"a": 1, "a": 2}'],
    ['a warning', 'a: yes\n'],
    ['a tag', 'a: !!str 1\n'],
    ['an alias', 'a: &x 1\nb: *x\n'],
    ['a directive', '%YAML 1.2\n---\na: 1\n'],
    ['a tab', 'a:\tb\n'],
    ['a carriage return', 'a: b\r\n'],
    ['a byte order mark inside', 'a: "\ufeffb"\n'],
    ['a placeholder', 'a: b # CHANGE: this\n'],
    ['too many levels', '['.repeat(200) + ']'.repeat(200)],
  ])('is not a file with %s', (_, text) => {
    expect(clean(text)).toBeUndefined();
  });

  it('is not a file of another encoding, or of too many bytes', () => {
    expect(readCleanYaml(Uint8Array.from([0x61, 0x3a, 0x20, 0xff]), options)).toBeUndefined();
    const limits = { maxSourceBytes: 3 };
    expect(readCleanYaml(bytes('a: b'), { ...options, limits })).toBeUndefined();
  });
});

/** The paths of all values. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap((key) => pathsOf((value as Record<string, unknown>)[key], [...path, key]))];
}

/** Text that changes what the text around it means. */
const PIECES = [
  ...['"', "'", ':', ': ', '- ', '-', ' #', '#', '|', '>', '|2\n', '>-', '[', ']', '{', '}', ',', '? '],
  ...['\n', '\n\n', ' ', '  ', '\\', '@', '`', '%', '---\n', '...\n', '~', 'null', '-0', '1e3', '.5', '0x1F'],
  ...['\u2028', '\u0085', '\u00a0', '😀', '\n  - a\n', '\nx: y\n', '<<', ' :', "''", '""', '"a"b', 'é'],
];

it.each([
  ['any style', TEXT],
  ['plain block style', BLOCK],
])(
  'never accepts what readYaml refuses or reads differently: %s',
  (_, original) => {
    const random = new Random(20_240);
    let accepted = 0;
    for (let at = 0; at < 1_500; at++) {
      const text = mutateText(random, original, PIECES);
      const document = clean(text);
      if (document === undefined) continue;
      accepted += 1;
      const precise = readYaml(bytes(text), options);
      expect([text, precise.diagnostics]).toEqual([text, []]);
      expect([text, precise.documents.map(({ value }) => value)]).toEqual([text, [document.value]]);
      if (accepted % 5 !== 0) continue;
      // Each in another document, which reads the first positions faster than later ones.
      for (const path of pathsOf(document.value)) {
        for (const target of ['key', 'value'] as const) {
          const range = precise.documents[0]!.locate(path, target);
          expect([text, path, target, clean(text)!.locate(path, target)]).toEqual([
            text,
            path,
            target,
            range,
          ]);
        }
      }
    }
    expect(accepted).toBeGreaterThan(200);
  },
  120_000,
);
