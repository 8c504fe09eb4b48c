import {
  completeDefinition,
  type EntryDefaults,
  type JsonValue,
  lintDefinition,
  type Path,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RecipeFields } from './fields.js';
import { readLicense } from './read-selector.js';
import { RECIPE_LIMITS } from './recipe.js';

const FIELDS = ['publisher', 'license', 'schema', 'idempotent', 'usage', 'examples', 'registry'] as const;

/**
 * Reads the default values for missing fields of upstream entries. An empty mapping completes them with placeholders.
 */
export function readDefaults(
  value: JsonValue | undefined,
  at: Path,
  fields: RecipeFields,
): EntryDefaults | undefined {
  if (value === undefined) return undefined;
  const given = fields.mapping(value, at, { optional: FIELDS });
  if (given === undefined) return undefined;
  const { maxAddressLength } = RECIPE_LIMITS;
  const text = (name: 'publisher' | 'license' | 'usage' | 'registry', maxLength?: number) =>
    given[name] === undefined ? undefined : fields.text(given[name], [...at, name], maxLength);
  const publisher = text('publisher');
  const license = text('license');
  const usage = text('usage', maxAddressLength);
  const registry = text('registry');
  const examples = readExamples(given.examples, [...at, 'examples'], fields);
  const schema = readSchema(given.schema, [...at, 'schema'], fields);
  const idempotent =
    given.idempotent === undefined ? undefined : fields.boolean(given.idempotent, [...at, 'idempotent']);
  const defaults: EntryDefaults = defined({
    publisher,
    license:
      license === undefined ? undefined : readLicense(license, [...at, 'license'], fields, 'recipe/license'),
    schema,
    idempotent,
    usage,
    examples,
    registry,
  });
  checkDefaults(defaults, at, fields);
  return defaults;
}

function readExamples(value: JsonValue | undefined, at: Path, fields: RecipeFields): string[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, RECIPE_LIMITS.maxExamples);
  return list?.flatMap(
    (item, index) => fields.text(item, [...at, index], RECIPE_LIMITS.maxAddressLength) ?? [],
  );
}

function readSchema(
  value: JsonValue | undefined,
  at: Path,
  fields: RecipeFields,
): EntryDefaults['schema'] | undefined {
  if (value === undefined) return undefined;
  const schema = fields.mapping(value, at, { required: ['openAPIV3Schema'] });
  if (schema?.openAPIV3Schema === undefined) return undefined;
  const openAPIV3Schema = fields.anyMapping(schema.openAPIV3Schema, [...at, 'openAPIV3Schema']);
  return openAPIV3Schema === undefined ? undefined : { openAPIV3Schema };
}

/** Lints a definition with only the defaults, because an error in them would reject every entry. */
function checkDefaults(defaults: EntryDefaults, at: Path, fields: RecipeFields): void {
  const { spec } = completeDefinition(
    {
      group: 'fn.example.com',
      names: { kind: 'Example' },
      versions: [{ name: 'v1', runtime: { container: { image: 'example' } } }],
    },
    { registry: 'docker.io', ...defaults },
  );
  const reported = new Set<string>();
  for (const { severity, path, message } of lintDefinition(spec as never)) {
    const name = FIELDS.find((field) => new RegExp(`\\b${field}\\b`).test(path)) ?? 'registry';
    // The rule for licenses in recipes checks a license. Errors in derived values are caused by the default.
    if (severity !== 'error' || name === 'license' || defaults[name] === undefined) continue;
    if (reported.has(name)) continue;
    reported.add(name);
    fields.report('recipe/defaults', [...at, name], message);
  }
}
