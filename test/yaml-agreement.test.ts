import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readYaml } from '@krmhub/yaml';
import type { JsonValue } from '@krmhub/yaml/json-value';
import { mutateText } from '@krmhub/yaml/testing/mutate-text';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { buildGoProgram } from './interop/go-program.js';
import { titleWithReason } from './interop/oci-tools.js';
import { spawnSync } from './processes.js';
import { root } from './running.js';
import { DISPUTED, PIECES, randomYaml, sorted } from './yaml-texts.js';

/** krmhub, go-yaml 3, npm's yaml, and PyYAML agree on what a text says, or krmhub refuses it. */

const isFull = process.env.KRMHUB_TEST_FULL_SIZE !== undefined;
const COUNT = isFull ? 100_000 : 3_000;
const BATCH = 5_000;

interface Reading {
  /** Undefined: refused. */
  documents?: JsonValue[] | null;
  error?: string;
}

const { file: goYaml, whyNot } = buildGoProgram('go-yaml');

function read(command: string, args: readonly string[], texts: readonly string[]): Reading[] {
  const readings: Reading[] = [];
  for (let at = 0; at < texts.length; at += BATCH) {
    const input = JSON.stringify(texts.slice(at, at + BATCH));
    const { stdout, stderr } = spawnSync(command, [...args], { input, encoding: 'utf8', maxBuffer: 2 ** 30 });
    if (stdout === '') throw new Error(`${command} failed: ${stderr}`);
    readings.push(...(JSON.parse(stdout) as Reading[]));
  }
  return readings;
}

function byKrmhub(text: string): { documents: JsonValue[]; codes: string[]; messages: string[] } {
  const { documents, diagnostics } = readYaml(Buffer.from(text), { file: 'f' });
  const problems = diagnostics.filter(({ code }) => code !== 'yaml/empty');
  const errors = problems.filter(({ severity }) => severity === 'error');
  return {
    documents: documents.map(({ value }) => sorted(value)),
    codes: problems.map(({ code }) => code),
    messages: errors.map(({ code, message }) => (code === 'yaml/syntax' ? message : code)),
  };
}

/** Undefined if it refuses the text. */
function byYaml(text: string): JsonValue[] | undefined {
  const parsed = parseAllDocuments(text, { stringKeys: true, maxAliasCount: -1 } as never);
  if (!Array.isArray(parsed)) return [];
  if (parsed.some(({ errors }) => errors.length > 0)) return undefined;
  const withContent = parsed.filter(({ contents }) => contents !== null && !isEmpty(contents));
  return withContent.map((document) => sorted(document.toJS({ maxAliasCount: -1 }) as JsonValue));
}

function isEmpty(contents: unknown): boolean {
  const { source, anchor, tag, value } = contents as Record<string, unknown>;
  return value === null && !source && !anchor && tag === undefined;
}

/** What npm's yaml reads otherwise than YAML 1.2 says, and go-yaml does. */
const MISREAD_BY_YAML = [
  // A tab at the start of a document.
  /^\t/m,
  // A tab before the last bracket.
  /\n\t+[}\]]/,
  // Empty lines behind an escaped line break.
  /\\\r?\n[ \t]*\r?\n/,
  // A block scalar without a line break at the end of the text.
  /[^\n]$/,
];

/** What YAML 1.2 allows, and go-yaml refuses to read. */
const ONLY_IN_YAML_1_2 = [
  // An escaped slash, and characters as two UTF-16 units, as in JSON.
  /found unknown escape character/,
  /found invalid Unicode character escape code/,
  // Tabs that separate, and in lines without content.
  /found character that cannot start any token/,
  /found a tab character/,
  // Keys of several lines in braces, and question marks in words there.
  /did not find expected ',' or/,
  // A word with a colon at its start in brackets.
  /did not find expected node content/,
  // A document without a marker behind `...`, and `...` without a document.
  /did not find expected <document start>/,
  // Dots and slashes in anchors.
  /did not find expected alphabetic or numeric character/,
];

/** What both read, but as different values, or what YAML 1.2 readers refuse as a whole. */
const READ_IN_DIFFERENT_WAYS = [
  'a space is missing after the colon',
  'a tag or anchor needs a space after it',
  'unquoted text may not begin with this character',
];

/** The texts about which krmhub and go-yaml disagree without a reason above. */
function disagreements(texts: readonly string[]): unknown[] {
  const readings = read(goYaml, [], texts);
  return texts.flatMap((text, index): unknown[] => {
    const { documents, error } = readings[index]!;
    const ours = byKrmhub(text);
    if (ours.messages.length > 0) {
      const syntax = ours.messages.filter((message) => !message.startsWith('yaml/'));
      const isExplained =
        error !== undefined ||
        syntax.length < ours.messages.length ||
        syntax.some((message) => READ_IN_DIFFERENT_WAYS.includes(message)) ||
        byYaml(text) === undefined ||
        MISREAD_BY_YAML.some((misread) => misread.test(text));
      return isExplained ? [] : [{ text, ours: ours.messages, theirs: documents }];
    }
    if (error === undefined) {
      const theirs = (documents ?? []).map(sorted);
      return JSON.stringify(theirs) === JSON.stringify(ours.documents)
        ? []
        : [{ text, ours: ours.documents, theirs }];
    }
    const isKnown = ONLY_IN_YAML_1_2.some((known) => known.test(error));
    const other = byYaml(text);
    const isSame =
      JSON.stringify(other) === JSON.stringify(ours.documents) ||
      MISREAD_BY_YAML.some((misread) => misread.test(text));
    return isKnown && isSame ? [] : [{ text, ours: ours.documents, error, byYaml: other }];
  });
}

describe.skipIf(whyNot !== undefined)(titleWithReason('go-yaml and krmhub', whyNot), () => {
  it('agree on documents in any style', () => {
    const random = new Random(41);
    const texts = Array.from({ length: COUNT }, () => randomYaml(random, true));
    expect(disagreements(texts)).toEqual([]);
    // Most are read by both: the rest has what krmhub refuses to guess.
    const isRead = texts.filter((text) => byKrmhub(text).messages.length === 0);
    expect(isRead.length).toBeGreaterThan(COUNT / 4);
  });

  it('agree on documents with changes anywhere', () => {
    const random = new Random(42);
    const texts = Array.from({ length: COUNT / 2 }, () =>
      mutateText(random, randomYaml(random, true), PIECES),
    );
    expect(disagreements(texts.filter((text) => !/\p{Surrogate}/u.test(text)))).toEqual([]);
  });

  it.skipIf(corpora().length === 0)('agree on real files', () => {
    expect(disagreements(corpora())).toEqual([]);
  });
});

/** Files of other projects, where they are beside this one. */
function corpora(): string[] {
  const data = path.join(root, '../shared/data');
  if (!existsSync(data)) return [];
  return readdirSync(data, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?:\.ya?ml|Kptfile)$/.test(name))
    .map((name) => readFileSync(path.join(data, name)))
    .flatMap((bytes) => (bytes.length < 1_000_000 ? [bytes.toString()] : []));
}

it("agrees with npm's yaml on every document that it reads", () => {
  const random = new Random(43);
  for (let count = 0; count < COUNT / 2; count++) {
    const text = randomYaml(random, true);
    const { documents, messages } = byKrmhub(text);
    const isMisread = MISREAD_BY_YAML.some((misread) => misread.test(text));
    if (messages.length === 0 && !isMisread) expect([text, byYaml(text)]).toEqual([text, documents]);
  }
});

const PYTHON = `
import json, sys, yaml
def read(text):
    try:
        documents = [d for d in yaml.compose_all(text, Loader=yaml.SafeLoader)]
        values = list(yaml.safe_load_all(text))
        return {'documents': [v for d, v in zip(documents, values) if d is not None and not (isinstance(d, yaml.ScalarNode) and d.value == '' and d.style is None)]}
    except Exception as e:
        return {'error': str(e)}
print(json.dumps([read(text) for text in json.load(sys.stdin)], default=str))
`;
const noPython =
  spawnSync('python3', ['-c', 'import yaml'], { encoding: 'utf8' }).status === 0
    ? undefined
    : 'Python has no PyYAML';

/** What PyYAML, which reads YAML 1.1, refuses or reads otherwise in what the others agree about. */
const ONLY_IN_YAML_1_1 = /\\\/|\\ud83d|":[^ \n]|\?/;

it.skipIf(noPython !== undefined)(
  titleWithReason('agrees with PyYAML on what YAML 1.1 and 1.2 have in common', noPython),
  () => {
    const random = new Random(44);
    // PyYAML takes minutes for as many as the others read in seconds.
    const texts = Array.from({ length: COUNT / 5 }, () => randomYaml(random, false));
    const readings = read('python3', ['-c', PYTHON], texts);
    const differences = texts.flatMap((text, index) => {
      const { documents, codes } = byKrmhub(text);
      if (codes.length > 0 || ONLY_IN_YAML_1_1.test(text)) return [];
      const theirs = readings[index]!;
      const values = (theirs.documents ?? []).map(sorted);
      return JSON.stringify(values) === JSON.stringify(documents) ? [] : [{ text, documents, theirs }];
    });
    expect(differences).toEqual([]);
  },
);

it('refuses, or warns of, most scalars that readers disagree about', () => {
  const silent = DISPUTED.filter((text) => byKrmhub(`a: ${text}\n`).codes.length === 0);
  // All readers agree on these, or the tag says what it is.
  expect(silent).toEqual([
    ...['1e3', '12e03', '.5', '5.', '+.5', '+12', '<<', '=', '0o8', '-0', '-0.0', '!!str 12', '!!int "3"'],
    ...['!!null ""', '&a.b x'],
  ]);
});
