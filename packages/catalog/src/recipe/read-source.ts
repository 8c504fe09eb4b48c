import { type JsonValue, matchesGlob, type Path } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { DNS_LABEL } from '../policy/document-fields.js';
import { readReleaseRange } from '../policy/release-range.js';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { RecipeFields } from './fields.js';
import { readDefaults } from './read-defaults.js';
import { formatDuration, readDuration } from './read-duration.js';
import { checkReleases, readFormat } from './read-format.js';
import { readRewrites } from './read-rewrite.js';
import { readSelectors } from './read-selector.js';
import { RECIPE_LIMITS, type RecipeSource, type UpstreamCatalog } from './recipe.js';
import { isInsecure, readUpstreamAddress } from './source-address.js';

/** `policies` are the policies of the recipe: a signed source can use http. */
export function readSource(
  value: JsonValue,
  at: Path,
  fields: RecipeFields,
  policies: readonly SigningPolicy[],
): RecipeSource | undefined {
  const source = fields.mapping(value, at, {
    required: ['name'],
    optional: ['functions', 'catalog', 'defaults', 'match', 'exclude', 'rewrite'],
  });
  if (source === undefined) return undefined;
  if (source.functions === undefined && source.catalog === undefined) {
    fields.report('recipe/missing-field', at, '`functions` or `catalog` is missing', {
      hint: 'Use `functions: {}` for the functions of this registry, or `catalog: {url: …}` for an upstream catalog.',
    });
  } else if (source.functions !== undefined && source.catalog !== undefined) {
    fields.report('recipe/ambiguous-source', at, '`functions` cannot be combined with `catalog`');
  }
  const name = source.name === undefined ? undefined : readName(source.name, [...at, 'name'], fields);
  const release = readFunctions(source.functions, [...at, 'functions'], fields);
  const catalog = readCatalog(source.catalog, [...at, 'catalog'], fields);
  const defaults = readDefaults(source.defaults, [...at, 'defaults'], fields);
  if (source.defaults !== undefined && source.catalog === undefined) {
    fields.report(
      'recipe/defaults',
      [...at, 'defaults'],
      '`defaults` does not apply to releases of this registry',
      {
        hint: 'Remove `defaults`, or move it to a source with `catalog`.',
        target: 'key',
      },
    );
  }
  const match = readSelectors(source.match, [...at, 'match'], fields);
  const exclude = readSelectors(source.exclude, [...at, 'exclude'], fields);
  const rewrite = readRewrites(source.rewrite, [...at, 'rewrite'], fields);
  if (name === undefined) return undefined;
  const read: RecipeSource = {
    name,
    ...defined({
      release,
      catalog: catalog === undefined ? undefined : { ...catalog, ...defined({ defaults }) },
      match,
    }),
    exclude: exclude ?? [],
    ...defined({ rewrite }),
  };
  checkInsecure(read, at, fields, policies);
  return read;
}

export function readName(value: JsonValue | undefined, at: Path, fields: RecipeFields): string | undefined {
  const name = fields.text(value, at);
  if (name !== undefined && !DNS_LABEL.test(name))
    fields.report('recipe/name', at, `"${name}" is not a DNS label`);
  return name;
}

function readFunctions(value: JsonValue | undefined, at: Path, fields: RecipeFields): string | undefined {
  if (value === undefined) return undefined;
  const functions = fields.mapping(value, at, { optional: ['release'] });
  if (functions?.release === undefined) return undefined;
  const written = fields.text(functions.release, [...at, 'release']);
  if (written === undefined) return undefined;
  const range = readReleaseRange(written);
  if (range.ok) return range.range;
  fields.report('recipe/release-range', [...at, 'release'], range.reason, hintOption(range));
  return undefined;
}

function readCatalog(
  value: JsonValue | undefined,
  at: Path,
  fields: RecipeFields,
): UpstreamCatalog | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string') {
    const hint = 'Use `catalog: {url: …}`.';
    fields.report('recipe/wrong-type', at, 'expected a mapping, found text', { hint });
    return undefined;
  }
  const catalog = fields.mapping(value, at, {
    required: ['url'],
    optional: ['name', 'format', 'group', 'groups', 'paths', 'releases', 'refresh', 'minimumAge'],
  });
  if (catalog === undefined) return undefined;
  const { minRefreshSeconds, maxRefreshSeconds, defaultRefreshSeconds, maxMinimumAgeSeconds } = RECIPE_LIMITS;
  const format = readFormat(catalog, at, fields);
  const url = readUrl(catalog.url, at, format, fields);
  const refresh = readSeconds(catalog.refresh, [...at, 'refresh'], fields, {
    min: minRefreshSeconds,
    max: maxRefreshSeconds,
  });
  const minimumAge = readSeconds(catalog.minimumAge, [...at, 'minimumAge'], fields, {
    min: 0,
    max: maxMinimumAgeSeconds,
  });
  const name = catalog.name === undefined ? undefined : readName(catalog.name, [...at, 'name'], fields);
  if (url === undefined) return undefined;
  return {
    url,
    ...defined({ name }),
    ...format,
    refreshSeconds: refresh ?? defaultRefreshSeconds,
    ...defined({ minimumAgeSeconds: minimumAge }),
  };
}

function readUrl(
  value: JsonValue | undefined,
  at: Path,
  format: Pick<UpstreamCatalog, 'format' | 'releases'>,
  fields: RecipeFields,
): string | undefined {
  const path = [...at, 'url'];
  const url = value === undefined ? undefined : fields.text(value, path, RECIPE_LIMITS.maxAddressLength);
  if (url === undefined) return undefined;
  const read = readUpstreamAddress({ url, ...format });
  if (read.ok) checkReleases(read.address, format, at, fields);
  else fields.report('recipe/catalog-url', path, read.reason, hintOption(read));
  return url;
}

function readSeconds(
  value: JsonValue | undefined,
  at: Path,
  fields: RecipeFields,
  { min, max }: { min: number; max: number },
): number | undefined {
  if (value === undefined) return undefined;
  // A number without a unit is an incomplete duration.
  const text = typeof value === 'number' ? String(value) : fields.text(value, at);
  if (text === undefined) return undefined;
  const read = readDuration(text);
  if (!read.ok) fields.report('recipe/duration', at, read.reason, hintOption(read));
  else if (read.seconds < min) {
    const hint = `Use \`${formatDuration(min)}\` or more.`;
    fields.report('recipe/duration', at, `"${text}" is less than ${formatDuration(min)}`, { hint });
  } else if (read.seconds > max) {
    const message = `the duration is ${read.seconds} seconds; the limit is ${max}`;
    fields.report('recipe/limit', at, message, { hint: `Use \`${formatDuration(max)}\` or less.` });
  } else return read.seconds;
  return undefined;
}

function checkInsecure(
  { catalog, match }: RecipeSource,
  at: Path,
  fields: RecipeFields,
  policies: readonly SigningPolicy[],
): void {
  if (catalog === undefined) return;
  const read = readUpstreamAddress(catalog);
  if (!read.ok || !isInsecure(read.address)) return;
  const globs = policies.flatMap(({ groups }) => groups);
  const isSigned =
    match === undefined
      ? globs.includes('*')
      : match.every(({ group }) =>
          globs.some((glob) => glob === '*' || (group !== undefined && matchesGlob(glob, group))),
        );
  if (isSigned) return;
  const message = 'http:// is not encrypted: an attacker on the network can change the catalog';
  fields.report('recipe/insecure-catalog', [...at, 'catalog', 'url'], message);
}

function hintOption({ hint }: { hint?: string }): { hint?: string } {
  return hint === undefined ? {} : { hint };
}
