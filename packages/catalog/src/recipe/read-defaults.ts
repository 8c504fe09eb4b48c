import { completeDefinition, type EntryDefaults, type JsonObject, lintDefinition } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RecipeField } from './codes.js';
import { readLicense } from './read-selector.js';
import { RECIPE_LIMITS } from './recipe.js';

const FIELDS = ['publisher', 'license', 'schema', 'idempotent', 'usage', 'examples', 'registry'] as const;

/**
 * Reads the default values for missing fields of upstream entries. An empty mapping completes them with placeholders.
 */
export function readDefaults(field: RecipeField | undefined): EntryDefaults | undefined {
  const given = field?.mapping({ optional: FIELDS });
  if (given === undefined) return undefined;
  const { maxAddressLength, maxExamples } = RECIPE_LIMITS;
  const license = given.get('license')?.text();
  const defaults: EntryDefaults = defined({
    publisher: given.get('publisher')?.text(),
    license: license && readLicense(license, given.get('license')!, 'recipe/license'),
    schema: readSchema(given.get('schema')),
    idempotent: given.get('idempotent')?.boolean(),
    usage: given.get('usage')?.text(maxAddressLength),
    examples: given
      .get('examples')
      ?.list(maxExamples)
      ?.flatMap((item) => item.text(maxAddressLength) ?? []),
    registry: given.get('registry')?.text(),
  });
  checkDefaults(defaults, given);
  return defaults;
}

function readSchema(field: RecipeField | undefined): EntryDefaults['schema'] | undefined {
  const schema = field?.mapping({ required: ['openAPIV3Schema'] })?.get('openAPIV3Schema');
  return schema?.entries() && { openAPIV3Schema: schema.value as JsonObject };
}

/** Lints a definition with only the defaults, because an error in them would reject every entry. */
function checkDefaults(defaults: EntryDefaults, field: RecipeField): void {
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
    field.get(name)?.report('recipe/defaults', message);
  }
}
