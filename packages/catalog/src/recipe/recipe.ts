/**
 * Recipes: the sources of a catalog, what it selects from them, and its policy.
 *
 * @module
 */

import type { ConvertSource, EntryDefaults, FunctionName, RuntimeKind } from '@krmhub/schema';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { DefinitionFacts } from '../ports/release-parts.js';

export const RECIPE_API_VERSION = 'krmhub.dev/v1alpha1';
export const RECIPE_KIND = 'CatalogRecipe';

/** Limits on recipes, with their units. */
export const RECIPE_LIMITS = {
  /** Size of one recipe. */
  maxBytes: 262_144,
  /** Sources of one recipe. */
  maxSources: 100,
  /** Selectors in one `match` or `exclude`. */
  maxSelectors: 1_000,
  /** Tags in one selector. */
  maxTags: 50,
  /** Labels of one catalog. */
  maxLabels: 50,
  /** Length of the description of a catalog, in UTF-16 code units. */
  maxDescriptionLength: 500,
  /** Length of a selector value or a release range, in UTF-16 code units. */
  maxValueLength: 253,
  /** Length of a catalog URL or a reference prefix, in UTF-16 code units. */
  maxAddressLength: 2_048,
  /** Rewrite rules of one source. */
  maxRewrites: 100,
  /** Groups that one source replaces. */
  maxGroups: 100,
  /** Folders that one source lists: each is one more list of git. */
  maxPaths: 50,
  /** Examples in the defaults of one source. */
  maxExamples: 50,
  /** Rules in each list of the recipe policy: signatures, licenses, deny list. */
  maxRules: 500,
  /** Shortest interval between two syncs of a source. */
  minRefreshSeconds: 60,
  /** Longest interval between two syncs of a source. */
  maxRefreshSeconds: 2_592_000,
  /** Default interval between two syncs of a source. */
  defaultRefreshSeconds: 3_600,
  /** Largest minimum age that a recipe can require of an entry. */
  maxMinimumAgeSeconds: 31_536_000,
} as const;

/** What a catalog is made of. */
export interface CatalogSources {
  /** A DNS label: the name of the catalog. */
  name: string;
  /** The sources in order. The first source with an API version of a function provides it. */
  sources: RecipeSource[];
}

/** The definition of a catalog. */
export interface Recipe extends CatalogSources {
  labels?: Record<string, string>;
  /** What the catalog is for. Pages and commands show it; snapshots do not contain it. */
  description?: string;
  /** The policy for all entries of the catalog. */
  policy?: RecipePolicy;
}

/** A source: functions of this registry, or of an upstream catalog. */
export interface RecipeSource {
  /** A DNS label, unique in the recipe. */
  name: string;
  /** For functions of this registry: an npm semver range. Absent for every release. */
  release?: string;
  /** The upstream catalog. Absent for functions of this registry. */
  catalog?: UpstreamCatalog;
  /** A release or entry must match one of these selectors. Absent to match all. */
  match?: Selector[];
  /** A release or entry must match none of these selectors. */
  exclude: Selector[];
  /** Rewrite rules. The first matching rule applies. */
  rewrite?: RewriteRule[];
}

/** An upstream catalog. */
export interface UpstreamCatalog {
  /** The URL, as `readSourceAddress` reads it. */
  url: string;
  /** Name of the catalog in its signature, if the URL does not contain it: a key can sign several catalogs. */
  name?: string;
  /** Seconds between two syncs. */
  refreshSeconds: number;
  /** The time in seconds that an entry must be unchanged before the catalog includes it. */
  minimumAgeSeconds?: number;
  /** The format of the files, if the source is not a catalog. */
  format?: ConvertSource;
  /** The group for formats without groups. Absent to derive it. */
  group?: string;
  /** Groups that replace derived groups. */
  groups?: Readonly<Record<string, string>>;
  /** Folders below the URL to read. Absent for all of it. */
  paths?: readonly string[];
  /**
   * `tags`: the newest release tag of the repository sets the files and their release. Default: folders are releases.
   */
  releases?: 'folders' | 'tags';
  /** Default values for incomplete entries. Absent to reject these entries. */
  defaults?: EntryDefaults;
}

/** Replaces the prefix `from` of references with `to`. Both end with a slash. Digests stay. */
export interface RewriteRule {
  from: string;
  to: string;
}

export interface RecipePolicy {
  /**
   * Required signatures: a trusted signer must sign what these policies cover. The signature of a catalog applies to
   * its entries.
   */
  requireSignature?: SigningPolicy[];
  /** Instead of `requireSignature`: the signing policies of this registry when the catalog is built. */
  requireRegistryPolicies?: true;
  /** Rejects images and scripts without a digest. */
  requireDigest?: boolean;
  /** False rejects functions that require network access. */
  allowNetwork?: boolean;
  /** False rejects functions that require storage mounts. */
  allowStorage?: boolean;
  /** Allowed SPDX expressions, compared literally. Absent for every license. */
  licenses?: string[];
  /** Denied functions. */
  deny?: DenyRule[];
}

/** Reports whether a catalog depends on the signing policies of the registry. */
export function followsRegistryPolicies({ policy }: Recipe): boolean {
  return policy?.requireRegistryPolicies === true;
}

/** Reports whether a catalog has functions of upstream catalogs. */
export function hasUpstreams({ sources }: Recipe): boolean {
  return sources.some((source) => source.catalog !== undefined);
}

/** Returns the signature policies of a recipe. `ofRegistry` are the signing policies of the registry. */
export function requiredSignatures(
  recipe: Recipe,
  ofRegistry: readonly SigningPolicy[],
): readonly SigningPolicy[] {
  return followsRegistryPolicies(recipe) ? ofRegistry : (recipe.policy?.requireSignature ?? []);
}

export interface DenyRule extends Selector {
  /** The reason in reports. */
  reason?: string;
}

/** A selector. All set fields must match. */
export interface Selector {
  group?: string;
  kind?: string;
  /** A function must have all of these tags. */
  tags?: string[];
  publisher?: string;
  runtime?: RuntimeKind;
  license?: string;
}

/** The recipe of the built-in catalog. */
export const DEFAULT_RECIPE_TEXT = `apiVersion: ${RECIPE_API_VERSION}
kind: ${RECIPE_KIND}
metadata:
  name: default
spec:
  sources:
  - name: registry
    functions: {}
`;

/** The facts for selectors, in addition to the name. */
export type SelectableFields = Omit<DefinitionFacts, 'versions'>;

/** Reports whether the selectors of a source match. Does not check release ranges and yanks. */
export function sourceMatches(
  { match, exclude }: RecipeSource,
  name: FunctionName,
  what: SelectableFields,
): boolean {
  return (
    (match === undefined || match.some((selector) => matchesSelector(selector, name, what))) &&
    !exclude.some((selector) => excludes(selector, name, what))
  );
}

/** Matches exclusions: kinds that differ only in case are one function, so that spelling cannot bypass them. */
export function excludes(selector: Selector, { group, kind }: FunctionName, what: SelectableFields): boolean {
  const isMeant = selector.kind?.toLowerCase() === kind.toLowerCase();
  return matchesSelector(selector, { group, kind: isMeant ? selector.kind! : kind }, what);
}

export function matchesSelector(selector: Selector, name: FunctionName, what: SelectableFields): boolean {
  const { group, kind, tags, publisher, runtime, license } = selector;
  return (
    (group === undefined || group === name.group) &&
    (kind === undefined || kind === name.kind) &&
    (tags === undefined || tags.every((tag) => hasTag(what, tag))) &&
    (publisher === undefined || publisher === what.publisher) &&
    (runtime === undefined || what.runtimes.includes(runtime)) &&
    (license === undefined || what.licenses.includes(license))
  );
}

/** Compares tags without case. */
function hasTag({ tags }: SelectableFields, tag: string): boolean {
  return tags.some((own) => own.toLowerCase() === tag.toLowerCase());
}
