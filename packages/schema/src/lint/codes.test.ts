import { readYaml } from '@krmhub/yaml';
import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import type { Draft } from '../dialects/draft.js';
import { LINT_RULES, type RuleCode } from './codes.js';
import { otherRelease } from './lint.js';
import { type LintRuleset, runRules } from './rule.js';
import { RULES } from './rules.js';

const SHA = 'a'.repeat(64);
const PROGRAM = `{bin: fn, os: linux, arch: amd64, uri: https://acme.example/fn, sha256: ${SHA}}`;

/** Nothing is wrong with it. `# field` and `# root` are where cases put more. */
const GOOD = `group: fn.acme.example
names:
  kind: SetLabels
description: Sets labels on all resources.
publisher: Acme
versions:
- name: v1
  idempotent: true
  license: Apache-2.0
  usage: https://acme.example/set-labels/v1.2.3/README.md
  examples:
  - https://acme.example/set-labels/v1.2.3/examples/simple
  runtime:
    container:
      image: ghcr.io/acme/set-labels:v1.2.3
      sha256: ${SHA}
  schema:
    openAPIV3Schema:
      type: object # root
      properties:
        labels:
          description: The labels.
          type: object
          additionalProperties: {type: string}
        a: {description: For the cases., type: string} # field
home: https://acme.example/
tags: [mutator]
`;

interface Case {
  code: RuleCode;
  /** What of the good definition is replaced. */
  find: string;
  /** What it is replaced by; \`«\` marks where the finding begins. */
  bad: string;
  /** In place of the good definition's text. */
  fixed?: string;
  ruleset?: LintRuleset;
}

const FIELD = 'a: {description: For the cases., type: string} # field';
const field = (code: RuleCode, bad: string, fixed?: string): Case => ({
  code,
  find: FIELD,
  bad: `a: ${bad}`,
  ...(fixed === undefined ? {} : { fixed: `a: ${fixed}` }),
});
const root = (code: RuleCode, bad: string): Case => ({ code, find: 'type: object # root', bad });
const image = (code: RuleCode, bad: string, fixed?: string): Case => ({
  code,
  find: `image: ghcr.io/acme/set-labels:v1.2.3\n      sha256: ${SHA}`,
  bad: `image: ${bad}`,
  ...(fixed === undefined ? {} : { fixed: `image: ${fixed}` }),
});
const runtime = (code: RuleCode, bad: string, fixed?: string): Case => ({
  code,
  find: `container:\n      image: ghcr.io/acme/set-labels:v1.2.3\n      sha256: ${SHA}`,
  bad,
  ...(fixed === undefined ? {} : { fixed }),
});
const platforms = (code: RuleCode, bad: string): Case =>
  runtime(code, `exec:\n      platforms:\n      - ${bad}`, `exec: {platforms: [${PROGRAM}]}`);

const CASES: Case[] = [
  { code: 'shape/missing-field', find: 'publisher: Acme', bad: '«publisher:' },
  { code: 'shape/wrong-type', find: 'idempotent: true', bad: 'idempotent: «true|false' },
  { code: 'shape/unknown-field', find: 'publisher: Acme', bad: 'publisher: Acme\n«publisherr: Acme' },
  platforms('shape/unknown-value', PROGRAM.replace('linux', '«Linux')),
  { code: 'shape/empty', find: 'publisher: Acme', bad: 'publisher: «""' },
  {
    code: 'shape/empty',
    find: 'examples:\n  - https://acme.example/set-labels/v1.2.3/examples/simple',
    bad: 'examples: «[]',
  },

  { code: 'names/group', find: 'group: fn.acme.example', bad: 'group: «acme' },
  { code: 'names/kind', find: 'kind: SetLabels', bad: 'kind: «Set Labels' },
  { code: 'names/kind-case', find: 'kind: SetLabels', bad: 'kind: «set-labels' },
  { code: 'names/version', find: 'name: v1', bad: 'name: «v1.2.3' },
  { code: 'names/version-form', find: 'name: v1', bad: 'name: «first' },
  { code: 'names/duplicate-version', find: 'home:', bad: '- name: «v1\nhome:' },
  { code: 'description/one-line', find: 'description: Sets labels on all', bad: 'description: «|\n  a\n  b' },
  { code: 'description/length', find: 'Sets labels', bad: `«${'a'.repeat(200)}` },
  { code: 'tags/form', find: '[mutator]', bad: '[«"mutator, label"]', fixed: '[mutator, label]' },
  { code: 'tags/form', find: '[mutator]', bad: `[«${'a'.repeat(51)}]` },
  { code: 'tags/duplicate', find: '[mutator]', bad: '[mutator, «Mutator]', fixed: '[mutator, label]' },

  runtime('runtime/none', '«{}'),
  image('image/invalid', '«ghcr.io/Acme/Set-Labels:v1', `ghcr.io/acme/fn:v1.2.3@sha256:${SHA}`),
  image('image/no-host', '«acme/set-labels:v1.2.3', `docker.io/acme/fn:v1.2.3@sha256:${SHA}`),
  image('image/no-tag', '«ghcr.io/acme/fn', `ghcr.io/acme/fn@sha256:${SHA}`),
  image('image/floating-tag', '«ghcr.io/acme/fn:unstable', `ghcr.io/acme/fn:unstable@sha256:${SHA}`),
  image('image/floating-tag', '«ghcr.io/acme/fn:v0.3'),
  image('image/unpinned-release', '«ghcr.io/acme/fn:v1.2.3', `ghcr.io/acme/fn:v1.2.3\n      sha256: ${SHA}`),
  image('image/no-digest', '«ghcr.io/acme/fn:build-17', `ghcr.io/acme/fn:build-17@sha256:${SHA}`),
  image(
    'image/other-release',
    `«ghcr.io/acme/fn:v1.2.4@sha256:${SHA}`,
    `ghcr.io/acme/fn:1.2.3@sha256:${SHA}`,
  ),
  image('image/digest-form', `ghcr.io/acme/fn:v1.2.3\n      sha256: «sha256:${SHA}`),
  image('image/digest-mismatch', `ghcr.io/acme/fn@sha256:${'b'.repeat(64)}\n      sha256: «${SHA}`),
  platforms('exec/uri', PROGRAM.replace('https:', '«http:')),
  platforms('exec/uri', PROGRAM.replace('https://', '«oci://user@')),
  platforms('exec/uri', PROGRAM.replace('https://acme.example/', '«oci://acme/')),
  platforms('exec/uri', PROGRAM.replace('https:', '«git::ext:')),
  platforms('exec/no-digest', `«${PROGRAM.replace(`, sha256: ${SHA}`, '')}`),
  platforms(
    'exec/no-digest',
    `«${PROGRAM.replace(`, sha256: ${SHA}`, '').replace('https:', 'oci:').replace('/fn}', '/fn:v1.0.0}')}`,
  ),
  platforms(
    'exec/no-digest',
    `«${PROGRAM.replace(`, sha256: ${SHA}`, '').replace('https://acme.example/fn', `https://acme.example/fn@sha256:${SHA}`)}`,
  ),
  platforms(
    'placeholder/digest',
    PROGRAM.replace(
      `https://acme.example/fn, sha256: ${SHA}`,
      `«"oci://acme.example/fn@sha256:${'0'.repeat(64)}"`,
    ),
  ),
  {
    ...platforms(
      'exec/not-in-kep-schema',
      PROGRAM.replace(`https://acme.example/fn, sha256: ${SHA}`, `«oci://acme.example/fn@sha256:${SHA}`),
    ),
    ruleset: 'kep',
  },
  platforms('exec/bin', PROGRAM.replace('bin: fn', 'bin: «../fn')),
  platforms('exec/bin', PROGRAM.replace('bin: fn', 'bin: «/bin/sh')),
  platforms('exec/bin', PROGRAM.replace('bin: fn', String.raw`bin: «C:\fn`)),
  platforms('exec/digest-form', PROGRAM.replace(SHA, '«abc')),
  platforms('placeholder/digest', PROGRAM.replace(SHA, `«"${'0'.repeat(64)}"`)),
  image('placeholder/digest', `ghcr.io/acme/fn:v1.2.3\n      sha256: «"${'0'.repeat(64)}"`),
  {
    code: 'placeholder/address',
    find: 'home: https://acme.example/',
    bad: 'home: «https://example.com/functions/a',
    fixed: 'home: https://notexample.com/functions/a',
  },
  {
    code: 'placeholder/address',
    find: 'usage: https://acme.example',
    bad: 'usage: «git::https://www.EXAMPLE.org',
  },
  { code: 'placeholder/address', find: '- https://acme.example', bad: '- «https://example.net' },
  image(
    'placeholder/address',
    `«registry.example.com:5000/functions/fn:v1.2.3@sha256:${SHA}`,
    `registry.example.community/functions/fn:v1.2.3@sha256:${SHA}`,
  ),
  platforms('placeholder/address', PROGRAM.replace('https://acme.example', '«https://dl.example.com')),
  platforms('exec/duplicate-platform', `${PROGRAM}\n      - «${PROGRAM}`),
  runtime(
    'starlark/reference',
    'starlark: «oci://Acme.Example/Fn:v1',
    `starlark: oci://acme.example/fn:v1.2.3@sha256:${SHA}`,
  ),
  runtime('starlark/reference', 'starlark: «git::oci://acme.example/fn:v1.2.3'),
  runtime(
    'starlark/reference',
    'starlark: «./fn.star',
    `starlark: https://acme.example/v1.2.3/fn.star#sha256=${SHA}`,
  ),
  runtime(
    'starlark/unpinned',
    'starlark: «https://acme.example/fn.star',
    `starlark: oci://acme.example/fn@sha256:${SHA}`,
  ),
  // What pins images and programs of other kinds: krmhub runs none of these scripts.
  ...[
    'oci://acme.example/fn:v1.2.3',
    'https://acme.example/v1.2.3/fn.star',
    `https://acme.example/${SHA}/fn.star`,
    `git::https://acme.example/fns.git//fn.star?ref=${'b'.repeat(40)}`,
  ].map((reference) =>
    runtime(
      'starlark/unpinned',
      `starlark: «${reference}`,
      `starlark: ${reference}${reference.startsWith('oci:') ? '@sha256:' : '#sha256='}${SHA}`,
    ),
  ),
  {
    ...runtime('starlark/not-in-kep-schema', `starlark: «https://acme.example/fn.star#sha256=${SHA}`),
    ruleset: 'kep',
  },

  { code: 'link/form', find: 'usage: https://acme', bad: 'usage: «acme' },
  {
    code: 'link/scheme',
    find: 'https://acme.example/set-labels/v1.2.3/README.md',
    bad: '«javascript:alert(1)',
  },
  { code: 'link/scheme', find: 'home: https:', bad: 'home: «ftp:' },
  { code: 'link/scheme', find: 'publisher: Acme', bad: 'publisher: «"JavaScript:alert(1)"' },
  { code: 'link/credentials', find: 'home: https://', bad: 'home: «https://me:secret@' },
  {
    code: 'link/moving-branch',
    find: 'usage: https://acme.example/set-labels/v1.2.3/',
    bad: 'usage: «https://github.com/acme/fn/blob/main/',
    fixed: 'usage: https://github.com/acme/fn/blob/v1.2.3/',
  },
  {
    code: 'license/unknown',
    find: 'license: Apache-2.0',
    bad: 'license: «Apache License',
    fixed: 'license: MIT OR BSD-3-Clause',
  },
  {
    code: 'license/unknown',
    find: 'license: Apache-2.0',
    bad: 'license: «UNLICENSED',
    fixed: 'license: LicenseRef-Acme',
  },
  {
    code: 'license/not-in-kep-enum',
    find: 'license: Apache-2.0',
    bad: 'license: «Apache-2.0',
    ruleset: 'kep',
  },

  { code: 'text/control-character', find: 'publisher: Acme', bad: String.raw`publisher: «"\e[2Jx"` },
  { code: 'text/control-character', find: FIELD, bad: String.raw`«"a\x07": {type: string}` },
  { code: 'text/bidi-control', find: 'publisher: Acme', bad: String.raw`publisher: «"\u202egpj"` },
  { code: 'text/unpaired-surrogate', find: 'publisher: Acme', bad: String.raw`publisher: «"a\udc00b"` },
  { code: 'text/unpaired-surrogate', find: FIELD, bad: String.raw`«"a\ud83d": {type: string}` },
  { code: 'text/filter-too-long', find: 'publisher: Acme', bad: `publisher: «${'a'.repeat(254)}` },
  { code: 'text/filter-too-long', find: '[mutator]', bad: `[«${'a'.repeat(5_000)}]` },
  { code: 'text/too-long', find: 'publisher: Acme', bad: `publisher: «${'a'.repeat(10_001)}` },
  { code: 'text/too-long', find: FIELD, bad: `«${'a'.repeat(501)}: {type: string}` },

  field('schema/unknown-type', '{type: «bool}', '{type: boolean}'),
  field('schema/unknown-type', '{type: «"null"}', '{type: string, nullable: true}'),
  field('schema/forbidden-keyword', '{«$ref: "#/x"}'),
  field(
    'schema/forbidden-keyword',
    '{type: array, «items: [{type: string}]}',
    '{type: array, items: {type: string}}',
  ),
  field('schema/forbidden-keyword', '{type: array, items: {type: string}, «uniqueItems: true}'),
  field('schema/unknown-keyword', '{type: object, «requried: [b]}'),
  field('schema/keyword-case', '{type: string, «Type: object}', '{type: string}'),
  field('schema/keyword-case', '{type: object, «propertieſ: {b: {type: string}}}'),
  field('schema/keyword-value', '{type: string, minLength: «"3"}', '{type: string, minLength: 3}'),
  field('schema/keyword-value', '{type: object, properties: {b: «string}}'),
  root('schema/root-type', 'type: «array'),
  root('schema/root-restriction', 'type: object\n      «nullable: true'),
  field(
    'schema/missing-type',
    '«{description: A field.}',
    '{description: A field., x-kubernetes-int-or-string: true}',
  ),
  {
    code: 'schema/array-without-items',
    find: FIELD,
    bad: '«a: {type: array}',
    fixed: 'a: {type: array, items: {type: string}}',
  },
  field(
    'schema/properties-and-map',
    '{type: object, properties: {b: {type: string}}, «additionalProperties: false}',
  ),
  { code: 'schema/meta-type', find: FIELD, bad: 'kind: {type: «integer}', fixed: 'kind: {type: string}' },
  {
    code: 'schema/meta-restriction',
    find: FIELD,
    bad: 'metadata: {type: object, «required: [name]}',
    fixed: 'metadata: {type: object, properties: {name: {type: string, maxLength: 9}}}',
  },
  { code: 'schema/meta-restriction', find: FIELD, bad: 'metadata: {properties: {«labels: {type: object}}}' },
  field(
    'schema/junctor-keyword',
    '{type: string, anyOf: [{«type: string}]}',
    '{type: string, anyOf: [{minLength: 1}]}',
  ),
  field(
    'schema/junctor-keyword',
    '{type: string, not: {«default: x}}',
    '{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}',
  ),
  field(
    'schema/junctor-undeclared',
    '{type: object, oneOf: [{properties: {«b: {minLength: 1}}}]}',
    '{type: object, properties: {b: {type: string}}, oneOf: [{properties: {b: {minLength: 1}}}]}',
  ),
  field('schema/extension', '{type: object, «x-kubernetes-preserve-unknown-fields: false}'),
  field('schema/extension', '{«type: string, x-kubernetes-int-or-string: true}'),
  field('schema/extension', '{«type: object, x-kubernetes-list-type: set}'),
  field(
    'schema/extension',
    '{type: object, x-kubernetes-map-type: «none}',
    '{type: object, x-kubernetes-map-type: atomic}',
  ),
  field(
    'schema/list-type',
    '{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [«k], items: {type: object}}',
    '{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}',
  ),
  field('schema/pattern', '{type: string, pattern: «"(?=a)"}', '{type: string, pattern: "^a"}'),
  field('schema/pattern-cost', `{type: string, pattern: «${'a'.repeat(1_001)}}`),
  field('schema/default', '{type: integer, default: «three}', '{type: integer, default: 3}'),
  field(
    'schema/default',
    '{type: object, properties: {b: {type: array, items: {type: integer}}}, default: {b: [1, «two]}}',
    '{type: object, properties: {b: {type: array, items: {type: integer}}}, default: {b: [1, 2]}}',
  ),
  field(
    'schema/default',
    '{type: string, pattern: "^a+$", default: «b}',
    '{type: string, pattern: "^a+$", default: aa}',
  ),
  field(
    'schema/default',
    '{type: string, nullable: true, default: «3}',
    '{type: string, nullable: true, default: "3"}',
  ),
  field(
    'schema/default-required',
    '{type: object, required: [«b], properties: {b: {type: string, default: c}}}',
  ),
  field(
    'schema/default-unchecked',
    `{type: array, items: {type: integer}, «default: [${'1,'.repeat(250_000)}1]}`,
  ),
  field('schema/unchecked', '{type: string, format: «isbn}', '{type: string, format: uuid}'),
  field(
    'schema/nullable-enum',
    '{type: string, «nullable: true, enum: [b]}',
    '{type: string, nullable: true, enum: [b, null]}',
  ),
  field('schema/number-for-integer', '{type: «number, format: int32}', '{type: integer, format: int32}'),
  field('schema/required-undeclared', '{type: object, properties: {b: {type: string}}, required: [«c]}'),
  field(
    'schema/empty-range',
    '{type: string, minLength: «3, maxLength: 2}',
    '{type: string, minLength: 2, maxLength: 2}',
  ),
  field('schema/empty-range', '{type: integer, minimum: «2, maximum: 2, exclusiveMaximum: true}'),
  { code: 'schema/prototype-name', find: FIELD, bad: '«constructor: {type: string}' },
  {
    code: 'schema/open',
    find: 'openAPIV3Schema:\n      type: object # root\n      properties:',
    bad: '«openAPIV3Schema:\n      type: object\n      propertiess:',
  },
  { code: 'schema/undescribed', find: FIELD, bad: '«a: {type: string}' },
];

/** Told of what is too large or too many for a case here: entries.test.ts, cap.test.ts, hostile.test.ts. */
const ELSEWHERE = [
  'schema/too-large',
  'catalog/duplicate-version',
  'catalog/kind-case',
  'lint/more',
  // A comment, which is none of a definition's values: told-once.test.ts.
  'placeholder/marked',
];

function readDraft(text: string): Draft {
  const { documents, diagnostics } = readYaml(new TextEncoder().encode(text), {
    file: 'fn.yaml',
    limits: {},
  });
  expect(diagnostics).toEqual([]);
  const document = documents[0]!;
  return {
    file: 'fn.yaml',
    spec: document.value as Draft['spec'],
    locate: (path, target) => {
      const range = document.locate(path, target);
      return { path, ...(range === undefined ? {} : { range }) };
    },
  };
}

function found(text: string, ruleset: LintRuleset = 'registry'): Diagnostic[] {
  // Nothing contradicts the release of the good definition.
  return runRules([...RULES, otherRelease('1.2.3')], readDraft(text), ruleset);
}

const line = ({ code, severity, range, message }: Diagnostic): string =>
  `${severity} ${code} ${range?.start.line}:${range?.start.column} ${message}`;

describe('lint rules', () => {
  it('accept addresses of documentation in a function of documentation', () => {
    const example = GOOD.replaceAll('acme.example', 'example.com').replace('ghcr.io', 'ghcr.example.com');
    expect(found(example).map(line)).toEqual([]);
    expect(
      found(example.replace('fn.example.com', 'acme.dev')).map(({ code, severity }) => [severity, code]),
    ).toEqual(Array.from({ length: 4 }, () => ['warning', 'placeholder/address']));
  });

  it('report nothing for a valid definition', () => {
    expect(found(GOOD).map(line)).toEqual([]);
  });

  it.each(CASES.map((one, index) => [one.code, index, one] as const))(
    '%s (case %i)',
    (code, _index, { find, bad, fixed, ruleset = 'registry' }) => {
      expect(GOOD.split(find)).toHaveLength(2);
      const marked = GOOD.replace(find, () => bad);
      const before = marked.slice(0, marked.indexOf('«')).split('\n');
      const place = { line: before.length, column: before.at(-1)!.length + 1 };
      const diagnostics = found(marked.replace('«', ''), ruleset);
      const told = diagnostics.filter((one) => one.code === code);
      expect(
        told.map(({ range }) => range?.start),
        diagnostics.map(line).join('\n'),
      ).toEqual([place]);
      const rule: { severity: string; kep?: string } = LINT_RULES[code];
      expect(told[0]?.severity).toBe(ruleset === 'kep' ? (rule.kep ?? rule.severity) : rule.severity);

      // A sentence, whether the rule wrote it for the case or it is the rule's own.
      expect(told[0]?.hint).toMatch(/^[^a-z].*[.?]$/s);

      const good = fixed === undefined ? GOOD : GOOD.replace(find, () => fixed);
      expect(found(good).map(({ code }) => code)).not.toContain(code);
    },
  );

  it('have at least one test case each', () => {
    const tested = new Set<string>([...CASES.map(({ code }) => code), ...ELSEWHERE]);
    expect(Object.keys(LINT_RULES).filter((code) => !tested.has(code))).toEqual([]);
  });
});
