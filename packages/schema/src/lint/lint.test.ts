import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { lint } from './lint.js';
import { lintDefinition } from './lint-definition.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const run = (text: string, limits = {}) => lint(bytes(text), { file: 'fn.yaml', limits });
const line = ({ severity, code, range, path }: Diagnostic): string =>
  `${range?.start.line ?? '-'}:${range?.start.column ?? '-'} ${severity} ${code} ${path}`;
const errors = (diagnostics: readonly Diagnostic[]): string[] =>
  diagnostics.filter(({ severity }) => severity === 'error').map(line);

/** The spec of a definition without errors. */
const spec = (kind: string, more = ''): string => `group: fn.acme.example
names: {kind: ${kind}}
description: Sets labels.
publisher: Acme
versions:
- name: v1
  idempotent: true
  license: Apache-2.0
  usage: https://acme.example/v1.2.3/README.md
  examples: [https://acme.example/v1.2.3/example]
  runtime: {container: {image: "ghcr.io/acme/fn@sha256:${'a'.repeat(64)}"}}
  schema:
    openAPIV3Schema:
      type: object
      properties:
        labels: {description: The labels., type: object, additionalProperties: {type: string}}
${more}`;
const indent = (text: string, by: string): string => text.replace(/^(?=.)/gm, by);
const document = (kind: string, more = ''): string =>
  `apiVersion: config.kubernetes.io/v1alpha1\nkind: KRMFunctionDefinition\nspec:\n${indent(spec(kind, more), '  ')}`;
const catalog = (...specs: string[]): string =>
  `apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: acme}\nspec:\n  krmFunctions:\n${specs
    .map((one) => `  - ${indent(one, '    ').trimStart()}`)
    .join('')}`;

describe('lint', () => {
  it('accepts a valid definition', () => {
    const { diagnostics, documents } = run(document('SetLabels'));
    expect(diagnostics).toEqual([]);
    expect(documents).toMatchObject([
      {
        kind: 'KRMFunctionDefinition',
        definition: { group: 'fn.acme.example', names: { kind: 'SetLabels' } },
      },
    ]);
  });

  it('omits documents with errors, and keeps the others in the file', () => {
    const text = `${document('SetLabels')}---\n${document('Broken', 'oops: 1\n')}---\n${document('SetNames', 'tags: [a, A]\n')}`;
    const { diagnostics, documents } = run(text);
    expect(diagnostics.map(line)).toEqual([
      '40:3 error shape/unknown-field spec.oops',
      '61:13 warning tags/duplicate spec.tags[1]',
    ]);
    expect(
      documents.map((one) => (one.kind === 'KRMFunctionDefinition' ? one.definition.names.kind : one.kind)),
    ).toEqual(['SetLabels', 'SetNames']);
  });

  it('rejects a catalog with an invalid entry', () => {
    expect(run(catalog(spec('A'), spec('B'))).documents).toMatchObject([
      {
        kind: 'Catalog',
        catalog: { name: 'acme', functions: [{ names: { kind: 'A' } }, { names: { kind: 'B' } }] },
      },
    ]);
    const { diagnostics, documents } = run(catalog(spec('A'), spec('B', 'oops: 1\n')));
    expect(errors(diagnostics)).toEqual(['38:5 error shape/unknown-field spec.krmFunctions[1].oops']);
    expect(documents).toEqual([]);
  });

  it('compares the entries of a catalog', () => {
    const { diagnostics, documents } = run(catalog(spec('SetLabels'), spec('SetLabels'), spec('Setlabels')));
    expect(diagnostics.map(line)).toEqual([
      '27:13 warning catalog/duplicate-version spec.krmFunctions[1].versions[0].name',
      '39:19 error catalog/kind-case spec.krmFunctions[2].names.kind',
    ]);
    expect(documents).toEqual([]);
  });

  it('limits the number of diagnostics', () => {
    const text = document('SetLabels', `tags: [${'a, '.repeat(30)}a]\noops: 1\n`);
    const { diagnostics } = run(text, { maxDiagnostics: 5 });
    expect(diagnostics).toHaveLength(6);
    expect(errors(diagnostics)).toEqual(['21:3 error shape/unknown-field spec.oops']);
    expect(diagnostics.at(-1)).toMatchObject({ code: 'lint/more', message: 'and 26 warnings more' });
  });

  it.each([
    '',
    '[',
    'a: [',
    '\u0000',
    'kind: Other',
    '- 1',
    '"x"',
    'apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nspec: []',
  ])('refuses %j with an error', (text) => {
    const { diagnostics, documents } = run(text);
    expect(errors(diagnostics)).not.toEqual([]);
    expect(documents).toEqual([]);
  });

  it('lints a value without a file', () => {
    const [linted] = run(document('SetLabels')).documents;
    if (linted?.kind !== 'KRMFunctionDefinition') throw new Error('not read');
    expect(lintDefinition(linted.definition)).toEqual([]);
    const tagged = { ...linted.definition, tags: ['a', 'a'] };
    expect(lintDefinition(tagged)).toMatchObject([
      { code: 'tags/duplicate', path: 'spec.tags[1]', file: '' },
    ]);
    expect(lintDefinition(tagged)[0]).not.toHaveProperty('range');
    expect(lintDefinition(linted.definition, { ruleset: 'kep' }).map(({ code }) => code)).toEqual([
      'license/not-in-kep-enum',
    ]);
  });
});

const official = fileURLToPath(
  new URL(
    '../../../../../shared/data/definitions/krm-functions-registry/publishers/sig-cli/functions/render-helm-chart.yaml',
    import.meta.url,
  ),
);

describe.skipIf(!existsSync(official))('the official definition (skipped if shared/data is missing)', () => {
  it('has diagnostics for its problems', () => {
    const { diagnostics } = lint(readFileSync(official), { file: 'render-helm-chart.yaml' });
    const told = diagnostics.map(
      ({ severity, code, range, hint }) => `${severity} ${code} ${range?.start.line} ${hint}`,
    );
    expect(told.filter((one) => one.startsWith('error'))).toEqual([
      'error schema/unknown-type 107 Use `boolean`.',
      'error schema/unknown-type 110 Use `boolean`.',
    ]);
    expect(told.filter((one) => one.includes(' image/'))).toEqual([
      expect.stringMatching(/^warning image\/floating-tag 39 /),
    ]);
  });
});
