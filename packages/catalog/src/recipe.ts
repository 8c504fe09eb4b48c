import type { FunctionName, RuntimeKind } from '@krmhub/schema';
import semver from 'semver';
import type { ReleaseSummary } from './records.js';

export const RECIPE_API_VERSION = 'krmhub.dev/v1alpha1';
export const RECIPE_KIND = 'CatalogRecipe';

/** Limits on recipes: each with its unit. */
export const RECIPE_LIMITS = {
  /** Bytes of a recipe. */
  maxBytes: 262_144,
  /** Sources of a recipe. */
  maxSources: 100,
  /** Selectors in one `match` or `exclude`. */
  maxSelectors: 1_000,
  /** Tags in one selector. */
  maxTags: 50,
  /** Labels of a catalog. */
  maxLabels: 50,
  /** UTF-16 code units of a selector's value and of a release range. */
  maxValueLength: 253,
} as const;

/** What a catalog is made from. */
export interface Recipe {
  /** A DNS label. */
  name: string;
  labels?: Record<string, string>;
  /** In order: the first source that provides an API version of a function provides it. */
  sources: RecipeSource[];
}

/** Functions of this registry. */
export interface RecipeSource {
  /** A DNS label, unique in the recipe. */
  name: string;
  /** A range that npm's semver reads; absent for every release. */
  release?: string;
  /** A release must match one of them; absent for every release. */
  match?: Selector[];
  /** A release must match none of them. */
  exclude: Selector[];
}

/** Everything that is set must hold. */
export interface Selector {
  group?: string;
  kind?: string;
  /** All of them. */
  tags?: string[];
  publisher?: string;
  runtime?: RuntimeKind;
  license?: string;
}

/** The recipe of the catalog that every registry has. */
export const DEFAULT_RECIPE_TEXT = `apiVersion: ${RECIPE_API_VERSION}
kind: ${RECIPE_KIND}
metadata:
  name: default
spec:
  sources:
  - name: registry
    functions: {}
`;

/** Whether a source takes a release of a function; says nothing of yanks. */
export function sourceTakes(source: RecipeSource, name: FunctionName, release: ReleaseSummary): boolean {
  const matches = (selector: Selector) => matchesSelector(selector, name, release);
  if (source.match !== undefined && !source.match.some(matches)) return false;
  if (source.exclude.some(matches)) return false;
  return source.release === undefined || semver.satisfies(release.release, source.release);
}

export function matchesSelector(selector: Selector, name: FunctionName, release: ReleaseSummary): boolean {
  const { group, kind, tags, publisher, runtime, license } = selector;
  return (
    (group === undefined || group === name.group) &&
    (kind === undefined || kind === name.kind) &&
    (tags === undefined || tags.every((tag) => hasTag(release, tag))) &&
    (publisher === undefined || publisher === release.publisher) &&
    (runtime === undefined || release.runtimes.includes(runtime)) &&
    (license === undefined || release.licenses.includes(license))
  );
}

/** Tags that differ by case are one tag. */
function hasTag(release: ReleaseSummary, tag: string): boolean {
  return release.tags.some((own) => own.toLowerCase() === tag.toLowerCase());
}
