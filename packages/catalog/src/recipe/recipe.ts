import type { ConvertSource, EntryDefaults, FunctionName, RuntimeKind } from '@krmhub/schema';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { ReleaseSummary } from '../ports/records.js';

export const RECIPE_API_VERSION = 'krmhub.dev/v1alpha1';
export const RECIPE_KIND = 'CatalogRecipe';

/** Limits on recipes: each with its unit. */
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
  /** Length of a selector value or a release range, in UTF-16 code units. */
  maxValueLength: 253,
  /** Length of a catalog URL or a reference prefix, in UTF-16 code units. */
  maxAddressLength: 2_048,
  /** Rewrite rules of one source. */
  maxRewrites: 100,
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

/** What a catalog is made from. */
export interface Recipe {
  /** A DNS label. */
  name: string;
  labels?: Record<string, string>;
  /** In order: the first source that provides an API version of a function provides it. */
  sources: RecipeSource[];
  /** What must hold of everything that the catalog takes, from wherever it comes. */
  policy?: RecipePolicy;
}

/** Functions of this registry, or of an upstream catalog. */
export interface RecipeSource {
  /** A DNS label, unique in the recipe. */
  name: string;
  /** Of this registry's functions: a range that npm's semver reads; absent for every release. */
  release?: string;
  /** The upstream catalog; absent for the functions of this registry. */
  catalog?: UpstreamCatalog;
  /** A release or entry must match one of them; absent for every one. */
  match?: Selector[];
  /** A release or entry must match none of them. */
  exclude: Selector[];
  /** The first that fits a reference rewrites it. */
  rewrite?: RewriteRule[];
}

/** A catalog that another party serves. */
export interface UpstreamCatalog {
  /** As `readSourceAddress` reads it. */
  url: string;
  /** Seconds between two looks. */
  refreshSeconds: number;
  /** Seconds for which an entry must have been known, with these bytes, before it is taken. */
  minimumAgeSeconds?: number;
  /** What the bytes are, if not a catalog: files that are converted. */
  format?: ConvertSource;
  /** Group of the functions of a format without groups; absent for the one that the converter chooses. */
  group?: string;
  /** `tags`: the newest release tag of the repository names the files and their release. Default: folders name releases. */
  releases?: 'folders' | 'tags';
  /** Completes entries that lack something; absent to refuse them. */
  defaults?: EntryDefaults;
}

/** References that begin with `from` begin with `to` instead; both end with a slash. Digests stay. */
export interface RewriteRule {
  from: string;
  to: string;
}

export interface RecipePolicy {
  /** What these policies cover must be signed by one whom they name; a catalog's signature is that of its entries. */
  requireSignature?: SigningPolicy[];
  /** In place of `requireSignature`: the signing policies of this registry, as they are when the catalog is built. */
  requireRegistryPolicies?: true;
  /** Images and scripts are named by digest, or not taken. */
  requireDigest?: boolean;
  /** False: functions that need the network are not taken. */
  allowNetwork?: boolean;
  /** False: functions that need storage mounts are not taken. */
  allowStorage?: boolean;
  /** SPDX expressions, compared as they are written; absent for every license. */
  licenses?: string[];
  /** What is never taken. */
  deny?: DenyRule[];
}

/** Reports whether a catalog depends on the signing policies of the registry. */
export function followsRegistryPolicies({ policy }: Pick<Recipe, 'policy'>): boolean {
  return policy?.requireRegistryPolicies === true;
}

/** The policies that say whose signatures a recipe requires. `ofRegistry` are the signing policies of the registry. */
export function requiredSignatures(
  recipe: Pick<Recipe, 'policy'>,
  ofRegistry: readonly SigningPolicy[],
): readonly SigningPolicy[] {
  return followsRegistryPolicies(recipe) ? ofRegistry : (recipe.policy?.requireSignature ?? []);
}

export interface DenyRule extends Selector {
  /** Shown in reports. */
  reason?: string;
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

/** What selectors look at, beside the name. */
export type SelectableFields = Pick<ReleaseSummary, 'tags' | 'publisher' | 'runtimes' | 'licenses'>;

/** Reports whether the selectors of a source let something pass; says nothing of release ranges and yanks. */
export function sourceMatches(
  { match, exclude }: Pick<RecipeSource, 'match' | 'exclude'>,
  name: FunctionName,
  what: SelectableFields,
): boolean {
  return (
    (match === undefined || match.some((selector) => matchesSelector(selector, name, what))) &&
    !exclude.some((selector) => excludes(selector, name, what))
  );
}

/** For what is kept out: kinds that differ by case only are one function, and none is let in by its spelling. */
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

/** Tags that differ by case are one tag. */
function hasTag({ tags }: SelectableFields, tag: string): boolean {
  return tags.some((own) => own.toLowerCase() === tag.toLowerCase());
}
