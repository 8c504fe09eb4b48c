import { describe, expect, it } from 'vitest';
import { lint } from './lint.js';
import type { LintRuleset } from './rule.js';

const DEFINITION = `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: fn.acme.example
  names: {kind: SetLabels}
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
          apiVersion: {description: Of the functionConfig., type: string}
          labels: {description: The labels., type: string}
`;
const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template: {spec: {volumes: [{secret: {defaultMode: 0644}}]}}
  paused: yes
  paused: no
`;

const run = (text: string, options: { ruleset?: LintRuleset; skipForeign?: boolean } = {}) =>
  lint(new TextEncoder().encode(text), { file: 'fn.yaml', ...options });
const told = (text: string, options = {}) =>
  run(text, options).diagnostics.map(
    ({ severity, code, range, path, hint }) =>
      `${range?.start.line}:${range?.start.column} ${severity} ${code} ${path} | ${hint}`,
  );

it('reports a misspelled field once, at its position', () => {
  expect(told(DEFINITION.replace('publisher:', 'publishr:'))).toEqual([
    '7:3 error shape/unknown-field spec.publishr | Did you mean publisher?',
  ]);
  // A field with another meaning is not a typing error.
  expect(told(DEFINITION.replace('publisher:', 'vendor:')).map((line) => line.split(' ')[2])).toEqual([
    'shape/missing-field',
    'shape/unknown-field',
  ]);
  // The right name without a value is a problem of its own.
  expect(
    told(DEFINITION.replace('publisher: Acme', 'publisher:\n  publishr: Acme')).map(
      (line) => line.split(' ')[2],
    ),
  ).toEqual(['shape/missing-field', 'shape/unknown-field']);
});

it('reports an unknown type once, with the type of the field as a hint', () => {
  expect(
    told(DEFINITION.replace('the functionConfig., type: string', 'the functionConfig., type: bool')),
  ).toEqual([
    '19:67 error schema/unknown-type spec.versions[0].schema.openAPIV3Schema.properties.apiVersion.type | Use `string`, as in every resource.',
  ]);
  const other = told(DEFINITION.replace('The labels., type: string', 'The labels., type: bool'));
  expect(other).toHaveLength(1);
  expect(other[0]).toContain('Use `boolean`.');
});

describe('placeholders of `krmhub init`', () => {
  const marked = DEFINITION.replace(
    '  publisher:',
    '  # CHANGE: who publishes the function, and its page.\n  publisher:',
  );

  it('are errors for a registry and warnings for the KEP, at each mark', () => {
    expect(told(marked)).toEqual([
      '7:3 error placeholder/marked  | Replace the value, and remove the comment.',
    ]);
    expect(
      run(marked).diagnostics[0]!.range!.end.column - run(marked).diagnostics[0]!.range!.start.column,
    ).toBe('# CHANGE: who publishes the function, and its page.'.length);
    expect(told(marked, { ruleset: 'kep' }).filter((line) => line.includes('placeholder/'))).toEqual([
      '7:3 warning placeholder/marked  | Replace the value, and remove the comment.',
    ]);
  });

  it('are only comments, not the same words in a string', () => {
    for (const description of [
      '|\n    # CHANGE: a heading\n',
      '"# CHANGE: a heading"\n',
      '>-\n    a\n    # CHANGE: b\n',
      "'a\n    # CHANGE: b'\n",
    ]) {
      const codes = run(DEFINITION.replace('Sets labels.\n', () => description)).diagnostics.map(
        ({ code }) => code,
      );
      expect(codes.filter((code) => code !== 'description/one-line')).toEqual([]);
    }
    // Other comments are the author's own.
    expect(
      told(DEFINITION.replace('  publisher:', '  # CHANGELOG: see below\n  # change: me\n  publisher:')),
    ).toEqual([]);
  });

  it('are reported up to a limit', () => {
    const { diagnostics } = run(`${'# CHANGE: a\n'.repeat(200_000)}${DEFINITION}`);
    expect(diagnostics.length).toBe(100);
  });
});

describe('documents of other tools', () => {
  it('are errors unless they are skipped', () => {
    const { diagnostics, documents, skipped } = run(`${DEPLOYMENT}---\n${DEFINITION}`);
    expect(diagnostics.map(({ code }) => code)).toContain('dialect/unknown-document');
    expect([documents.length, skipped]).toEqual([1, 0]);
  });

  it.each([
    ['before', `${DEPLOYMENT}---\n${DEFINITION}`],
    ['after', `${DEFINITION}---\n${DEPLOYMENT}`],
  ])('are passed over with all that is in them, %s a definition', (_, text) => {
    const { diagnostics, documents, skipped } = run(text, { skipForeign: true });
    expect(diagnostics).toEqual([]);
    expect([documents.length, skipped]).toEqual([1, 1]);
  });

  it('are detected by apiVersion and kind', () => {
    const unknown = ['a: b\n', 'kind: Deployment\n', 'apiVersion: v1\n', '[a]\n'];
    const misspelled = [
      DEFINITION.replace('KRMFunctionDefinition', 'KRMFunctionDefinitions'),
      DEFINITION.replace('config.kubernetes.io', 'config.kubernetes.example'),
      DEFINITION.replace(/^kind: .*\n/m, ''),
      DEFINITION.replace(/^apiVersion: .*\n/m, ''),
      'apiVersion: config.kubernets.io/v1alpha1\nkind: Catalog\n',
    ];
    const listCodes = (document: string) => {
      const { diagnostics, skipped } = run(`${document}---\n${DEFINITION}`, {
        skipForeign: true,
      });
      return [diagnostics.map(({ code }) => code), skipped];
    };
    for (const document of unknown) expect(listCodes(document)).toEqual([['dialect/unknown-document'], 0]);
    for (const document of misspelled)
      expect(listCodes(document)).toEqual([['dialect/misspelled-document'], 0]);
  });

  it('do not hide problems of the definitions in the same file', () => {
    const broken = DEFINITION.replace('license: Apache-2.0', 'license: Mine').replace('true', '0644');
    const codes = (text: string) => run(text, { skipForeign: true }).diagnostics.map(({ code }) => code);
    expect(codes(broken).length).toBeGreaterThan(1);
    expect(codes(`${DEPLOYMENT}---\n${broken}---\n${DEPLOYMENT}`)).toEqual(codes(broken));
  });
});
