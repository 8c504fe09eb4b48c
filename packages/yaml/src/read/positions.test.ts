import { describe, expect, it } from 'vitest';
import { type Document, isMap, isScalar, isSeq, type Node, type Pair, parseAllDocuments } from 'yaml';
import type { Path, Range, Target } from '../diagnostic.js';
import { readYaml } from '../index.js';
import { mutateText } from '../testing/mutate-text.js';
import { Random } from '../testing/random.js';
import { openText } from './open-text.js';
import { parseText } from './read-yaml.js';
import { SourceText } from './source.js';

/** Positions are those of another parser: npm's yaml. */

const bytes = (text: string) => new TextEncoder().encode(text);
const options = { file: 'f.yaml' };
/** Reads the text as text of any other style than plain block style. */
const parse = (text: string) => parseText(openText(bytes(text), options, 'maxSourceBytes'));

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
  tagged: !!str 12
  anchored: &a
    x: 1
  alias: *a
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

function parseByYaml(text: string): Document {
  const [document] = parseAllDocuments(text, { stringKeys: true });
  if (document === undefined || 'empty' in document) throw new Error('no document');
  return document as unknown as Document;
}

/** Where npm's yaml finds the node at a path, or the nearest one around it. */
function locateByYaml(document: Document, text: SourceText, path: Path, target: Target): Range {
  let node = document.contents as Node | null;
  let last = node!;
  let key: Node | undefined;
  for (const [at, segment] of path.entries()) {
    key = undefined;
    const parent = node;
    node = null;
    if (isSeq(parent) && typeof segment === 'number') node = (parent.items[segment] as Node) ?? null;
    if (isMap(parent) && typeof segment === 'string') {
      const pairs = parent.items as Pair<Node, Node | null>[];
      const pair = pairs.find((item) => isScalar(item.key) && item.key.value === segment);
      key = pair?.key;
      node = pair?.value ?? null;
    }
    last = node ?? key ?? last;
    if (node !== null) continue;
    if (at < path.length - 1) key = undefined;
    break;
  }
  const [start, end] = ((target === 'key' ? key : undefined) ?? last).range!;
  return text.range(start, end);
}

/** The paths of all values, and of some that are not there. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  const missing = [
    [...path, 'missing'],
    [...path, 7, 'x'],
  ];
  if (typeof value !== 'object' || value === null) return [path, ...missing];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  const below = keys.flatMap((key) =>
    pathsOf((value as Record<string, unknown>)[key], [...path, key] as Path),
  );
  return [path, ...missing, ...below];
}

function expectPositions(text: string, read: typeof parse): void {
  const { documents } = read(text);
  const byYaml = parseByYaml(text);
  const source = new SourceText(text);
  // Each in another reading if the first positions are found in another way.
  const isFast = read !== parse;
  for (const path of pathsOf(documents[0]!.value)) {
    for (const target of ['key', 'value'] as const) {
      // Below an alias, there are no nodes of its own.
      if (path[1] === 'alias' && path.length > 2) continue;
      const expected = locateByYaml(byYaml, source, path, target);
      const [document] = isFast ? read(text).documents : documents;
      const found = document!.locate(path, target);
      expect([text, path, target, found]).toEqual([text, path, target, expected]);
    }
  }
}

describe('a value', () => {
  it.each([
    ['in any style', TEXT],
    ['in plain block style', BLOCK],
    ['in a text without a last line break', 'a: [b]\nc:\n  d: e'],
    ['behind a marker', '--- # c\na: &x !!map\n  b: 1\n'],
    ['in CRLF', 'a: |\r\n  b\r\nc:\r\n- d: "e"\r\n- f\r\n'],
    ['in a list of pairs', 'a: [b: c, {d}]\n'],
    ['with explicit keys', '? a\n: b\n? c\n'],
  ])('is found %s', (_, text) => {
    expectPositions(text, parse);
    expectPositions(text, (own) => readYaml(bytes(own), options));
  });

  it('is found in the same place however often', () => {
    const [document] = readYaml(bytes(BLOCK), options).documents;
    const expected = locateByYaml(parseByYaml(BLOCK), new SourceText(BLOCK), ['apiVersion'], 'value');
    for (let turn = 0; turn < 15; turn++) expect(document!.locate(['apiVersion'])).toEqual(expected);
  });
});

/** Text that changes what the text around it means. */
const PIECES = [
  ...['"', "'", ':', ': ', '- ', '-', ' #', '#', '|', '>', '|2\n', '>-', '[', ']', '{', '}', ',', '? '],
  ...['\n', '\n\n', ' ', '  ', '\\', '@', '`', '%', '---\n', '...\n', '~', 'null', '-0', '1e3', '.5', '0x1F'],
  ...['\u00a0', '😀', '\n  - a\n', '\nx: y\n', '<<', ' :', "''", '""', '"a"b', 'é', '\t', '\n\t\n'],
];

it.each([
  ['any style', TEXT],
  ['plain block style', BLOCK],
])('values and positions are those of yaml after any change: %s', (_, original) => {
  const random = new Random(20_240);
  let accepted = 0;
  for (let at = 0; at < 1_500; at++) {
    const text = mutateText(random, original, PIECES);
    const { documents, diagnostics } = readYaml(bytes(text), options);
    if (diagnostics.length > 0 || documents.length !== 1) continue;
    accepted += 1;
    expect([text, parse(text).documents.map(({ value }) => value)]).toEqual([text, [documents[0]!.value]]);
    const byYaml = parseByYaml(text);
    expect([text, byYaml.errors.map(({ message }) => message)]).toEqual([text, []]);
    expect([text, byYaml.toJS()]).toEqual([text, documents[0]!.value]);
    if (accepted % 5 === 0) expectPositions(text, parse);
  }
  expect(accepted).toBeGreaterThan(200);
});
