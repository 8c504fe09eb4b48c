import { matchesGlob } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { DNS_LABEL } from '../fields/field.js';
import { readReleaseRange } from '../policy/release-range.js';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { RecipeField } from './codes.js';
import { readDefaults } from './read-defaults.js';
import { formatDuration, readDuration } from './read-duration.js';
import { type CatalogFormat, checkReleases, readFormat } from './read-format.js';
import { readRewrites } from './read-rewrite.js';
import { readSelectors } from './read-selector.js';
import { RECIPE_LIMITS, type RecipeSource, type UpstreamCatalog } from './recipe.js';
import { isInsecure, readUpstreamAddress } from './source-address.js';

/** `policies` are the policies of the recipe: a signed source can use http. */
export function readSource(field: RecipeField, policies: readonly SigningPolicy[]): RecipeSource | undefined {
  const optional = ['functions', 'catalog', 'defaults', 'match', 'exclude', 'rewrite'];
  const source = field.mapping({ required: ['name'], optional });
  if (source === undefined) return undefined;
  const [functions, upstream] = [source.get('functions'), source.get('catalog')];
  if (functions === undefined && upstream === undefined) {
    source.report('recipe/missing-field', '`functions` or `catalog` is missing', {
      hint: 'Use `functions: {}` for the functions of this registry, or `catalog: {url: …}` for an upstream catalog.',
    });
  } else if (functions !== undefined && upstream !== undefined) {
    source.report('recipe/ambiguous-source', '`functions` cannot be combined with `catalog`');
  }
  const name = readName(source.get('name'));
  const release = readFunctions(functions);
  const catalog = readCatalog(upstream);
  const defaults = readDefaults(source.get('defaults'));
  if (upstream === undefined) {
    source
      .get('defaults')
      ?.report('recipe/defaults', '`defaults` does not apply to releases of this registry', {
        hint: 'Remove `defaults`, or move it to a source with `catalog`.',
        target: 'key',
      });
  }
  const match = readSelectors(source.get('match'));
  const exclude = readSelectors(source.get('exclude'));
  const rewrite = readRewrites(source.get('rewrite'));
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
  checkInsecure(read, upstream?.get('url'), policies);
  return read;
}

export function readName(field: RecipeField | undefined): string | undefined {
  const name = field?.text();
  if (name !== undefined && !DNS_LABEL.test(name)) {
    field?.report('recipe/name', `"${name}" is not a DNS label`);
  }
  return name;
}

function readFunctions(field: RecipeField | undefined): string | undefined {
  const release = field?.mapping({ optional: ['release'] })?.get('release');
  const written = release?.text();
  if (written === undefined) return undefined;
  const range = readReleaseRange(written);
  if (range.ok) return range.range;
  release?.report('recipe/release-range', range.reason, { hint: range.hint });
  return undefined;
}

function readCatalog(field: RecipeField | undefined): UpstreamCatalog | undefined {
  if (typeof field?.value === 'string') {
    const hint = 'Use `catalog: {url: …}`.';
    field.report('recipe/wrong-type', 'expected a mapping, found text', { hint });
    return undefined;
  }
  const catalog = field?.mapping({
    required: ['url'],
    optional: ['name', 'format', 'group', 'groups', 'paths', 'releases', 'refresh', 'minimumAge'],
  });
  if (catalog === undefined) return undefined;
  const { minRefreshSeconds, maxRefreshSeconds, defaultRefreshSeconds, maxMinimumAgeSeconds } = RECIPE_LIMITS;
  const format = readFormat(catalog);
  const url = readUrl(catalog, format);
  const refresh = readSeconds(catalog.get('refresh'), minRefreshSeconds, maxRefreshSeconds);
  const minimumAge = readSeconds(catalog.get('minimumAge'), 0, maxMinimumAgeSeconds);
  const name = readName(catalog.get('name'));
  if (url === undefined) return undefined;
  return {
    url,
    ...defined({ name }),
    ...format,
    refreshSeconds: refresh ?? defaultRefreshSeconds,
    ...defined({ minimumAgeSeconds: minimumAge }),
  };
}

function readUrl(catalog: RecipeField, format: CatalogFormat): string | undefined {
  const field = catalog.get('url');
  const url = field?.text(RECIPE_LIMITS.maxAddressLength);
  if (url === undefined) return undefined;
  const read = readUpstreamAddress({ url, ...format });
  if (read.ok) checkReleases(read.address, format, catalog.get('releases'));
  else field?.report('recipe/catalog-url', read.reason, { hint: read.hint });
  return url;
}

function readSeconds(field: RecipeField | undefined, min: number, max: number): number | undefined {
  // A number without a unit is an incomplete duration.
  const text = typeof field?.value === 'number' ? String(field.value) : field?.text();
  if (field === undefined || text === undefined) return undefined;
  const read = readDuration(text);
  if (!read.ok) field.report('recipe/duration', read.reason, { hint: read.hint });
  else if (read.seconds < min) {
    const hint = `Use \`${formatDuration(min)}\` or more.`;
    field.report('recipe/duration', `"${text}" is less than ${formatDuration(min)}`, { hint });
  } else if (read.seconds > max) {
    const message = `the duration is ${read.seconds} seconds; the limit is ${max}`;
    field.report('recipe/limit', message, { hint: `Use \`${formatDuration(max)}\` or less.` });
  } else return read.seconds;
  return undefined;
}

function checkInsecure(
  { catalog, match }: RecipeSource,
  url: RecipeField | undefined,
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
  url?.report('recipe/insecure-catalog', message);
}
