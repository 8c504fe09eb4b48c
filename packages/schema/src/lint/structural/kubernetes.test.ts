import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Path } from '../../diagnostics/diagnostic.js';
import type { Draft } from '../../dialects/draft.js';
import type { JsonObject, JsonValue } from '../../documents/definition.js';
import type { RuleCode } from '../codes.js';
import { runRules } from '../rule.js';
import { structural } from './structural.js';

/** The validation tables of Kubernetes, compared by path: which places of a schema both find fault with. */
interface Row {
  name: string;
  schema: JsonObject | null;
  statusEnabled: boolean;
  opts: Record<string, boolean>;
  expectedErrors: { type: string; path: string }[];
}
interface CrdRow {
  name: string;
  crd?: {
    spec?: {
      validation?: { openAPIV3Schema?: JsonObject | null };
      versions?: { $schema?: { openAPIV3Schema?: JsonObject | null } }[];
    };
  };
  expectedErrors: { type: string; path: string }[];
}

const folder = fileURLToPath(new URL('../../../../../../shared/data/schema/structural/', import.meta.url));
const present = existsSync(folder);
const read = (name: string): unknown => JSON.parse(readFileSync(`${folder}${name}`, 'utf8'));
const ROOT = 'spec.validation.openAPIV3Schema';

/** Findings of ours that Kubernetes has no error for. */
const OURS = new Set<string>([
  'schema/undescribed',
  'schema/open',
  'schema/default-required',
  'schema/unknown-keyword',
  'schema/keyword-case',
  'schema/required-undeclared',
  'schema/number-for-integer',
] satisfies RuleCode[]);
/** Found only by the checks for structural schemas, which a row may not run. */
const STRUCTURAL = new Set<string>([
  'schema/root-type',
  'schema/missing-type',
  'schema/array-without-items',
  'schema/unknown-type',
] satisfies RuleCode[]);

function findings(schema: JsonObject): { path: string; code: string }[] {
  const below: Path[] = [];
  const draft: Draft = {
    file: '',
    spec: { versions: [{ schema: { openAPIV3Schema: schema } }] },
    locate: (path) => {
      below.push(path.slice(4));
      return { path };
    },
  };
  return runRules([structural], draft, 'registry')
    .map(({ code }, index) => ({ code, path: fieldPath(below[index]!) }))
    .filter(({ code }) => !OURS.has(code));
}

/** As Kubernetes writes it: names of properties in brackets. */
function fieldPath(path: Path): string {
  let text = '';
  path.forEach((step, index) => {
    const key = typeof step === 'number' || path[index - 1] === 'properties';
    text += key ? `[${step}]` : `.${step}`;
  });
  return text;
}

const usesCel = (value: JsonValue): boolean => JSON.stringify(value).includes('x-kubernetes-validations');

interface Comparison {
  name: string;
  schema: JsonObject;
  expected: string[];
  ignore: (code: string, path: string) => boolean;
}

/** Rows whose faulty places differ. One place of ours may be an item of the list that Kubernetes names. */
function differences(rows: readonly Comparison[]): string[] {
  return rows.flatMap(({ name, schema, expected, ignore }) => {
    const covers = (theirs: string, path: string): boolean =>
      path === theirs || path.startsWith(`${theirs}[`);
    const ours = findings(schema).filter(({ code, path }) => !ignore(code, path));
    const missed = expected.filter((path) => !ours.some((one) => covers(path, one.path)));
    const extra = ours.filter(({ path }) => !expected.some((theirs) => covers(theirs, path)));
    if (missed.length + extra.length === 0) return [];
    return [
      `${name}: missed [${missed.join(' ')}], extra [${extra.map(({ code, path }) => `${code} ${path}`).join(', ')}]`,
    ];
  });
}

describe.skipIf(!present)('the validation tables of Kubernetes (skipped if shared/data is missing)', () => {
  it('schemas without CEL rules', () => {
    const rows = (read('schema-validation-cases.json') as Row[])
      .filter(({ schema, statusEnabled }) => schema !== null && !statusEnabled && !usesCel(schema))
      .map(
        (row): Comparison => ({
          name: row.name,
          schema: row.schema!,
          expected: row.expectedErrors.map(({ path }) => path.slice(ROOT.length)),
          ignore: (code, path) =>
            (STRUCTURAL.has(code) &&
              row.opts.requireStructuralSchema !== true &&
              !(row.name === 'null type' && code === 'schema/unknown-type')) ||
            (path.endsWith('.default') && row.opts.requireMapListKeysMapSetValidation !== true) ||
            (path.endsWith('.items.x-kubernetes-map-type') && row.opts.requireAtomicSetType !== true),
        }),
      );
    expect(rows).toHaveLength(47);
    expect(differences(rows).map((one) => one.split(':')[0])).toEqual([
      // Kubernetes can be told to forbid every default; the row does not say that it allows them.
      'valid map with some required, some defaulted, and non-key fields',
    ]);
  });

  it('custom resource definitions without CEL rules', () => {
    const rows = (read('crd-validation-cases.json') as CrdRow[]).flatMap(({ name, crd, expectedErrors }) => {
      const schemas: [at: string, schema: JsonObject | null | undefined][] = [
        [ROOT, crd?.spec?.validation?.openAPIV3Schema],
      ];
      crd?.spec?.versions?.forEach((version, index) => {
        schemas.push([`spec.versions[${index}].schema.openAPIV3Schema`, version.$schema?.openAPIV3Schema]);
      });
      return schemas.flatMap(([at, schema]): Comparison[] => {
        if (!schema || usesCel(schema)) return [];
        const expected = expectedErrors.flatMap(({ path }) =>
          path.startsWith(at) ? [path.slice(at.length)] : [],
        );
        return [{ name: `${name} ${at}`, schema, expected, ignore: () => false }];
      });
    });
    expect(rows).toHaveLength(35);
    expect(differences(rows).map((one) => one.split(':')[0]?.replace(/ spec\..*/, ''))).toEqual([
      // The structural checks do not run where an earlier one fails.
      'x-kubernetes-preserve-unknown-field',
      // What a resource embedded in a functionConfig may have as metadata is not looked at.
      'x-kubernetes-embedded-resource inside resource meta',
      'v1.15 era tests for metadata defaults',
      'v1.15 era tests for metadata defaults',
      'default inside additionalSchema',
      'embedded metadata defaults',
      // The same fault, told of the property below.
      'contradicting meta field types',
    ]);
  });
});
