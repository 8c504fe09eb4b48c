import { loadRe2 } from '@krmhub/schema/libraries/lazy-libraries';
import type { ResourceIdentity } from '../resource-list/identity.js';

/** Fields of one entry of `selectors` or `exclude`. All of them must match (kpt, "Selectors"). */
export interface Selector {
  readonly apiVersion?: string;
  /** Group of the apiVersion, from the design of `exclude`; `""` has no meaning, as with the other fields. */
  readonly group?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** RE2, with a match anywhere in the path of the file in the root package. */
  readonly resourceFileRegexp?: string;
}

/**
 * Returns what a function gets of a package: each resource that a selector matches, or all without selectors, unless an
 * entry of `exclude` matches it. Undefined if that is every resource.
 */
export function resourceFilter(
  selectors: readonly Selector[],
  exclude: readonly Selector[],
): ResourceFilter | undefined {
  if (selectors.length === 0 && exclude.length === 0) return undefined;
  const matchers = selectors.map(matcher);
  const excluding = exclude.filter((selector) => !isEmpty(selector)).map(matcher);
  return (resource, file) =>
    (matchers.length === 0 || matchers.some((matches) => matches(resource, file))) &&
    !excluding.some((matches) => matches(resource, file));
}

/**
 * Reports whether a function gets a resource of a file; `file` is its path in the root package, with `/`. Texts are
 * compared exactly, as in kpt.
 */
export type ResourceFilter = (resource: ResourceIdentity, file?: string) => boolean;

/** Returns what reports whether a path has a match of a regular expression (RE2). Throws for one that is not valid. */
export function fileMatcher(expression: string): (file: string) => boolean {
  const compiled = loadRe2().RE2JS.compile(expression);
  return (file) => compiled.matcher(file).find();
}

/** Reports whether a selector says nothing: it selects everything, and excludes nothing. */
export function isEmpty({ labels = {}, annotations = {}, ...texts }: Selector): boolean {
  return (
    Object.values(texts).every((text) => text === undefined || text === '') &&
    Object.keys(labels).length === 0 &&
    Object.keys(annotations).length === 0
  );
}

function matcher(selector: Selector): ResourceFilter {
  const { labels = {}, annotations = {}, resourceFileRegexp } = selector;
  const isFile = resourceFileRegexp === undefined ? () => true : fileMatcher(resourceFileRegexp);
  return (resource, file = '') =>
    isFile(file) &&
    isWanted(selector.apiVersion, resource.apiVersion) &&
    isWanted(selector.group, apiGroup(resource.apiVersion)) &&
    isWanted(selector.kind, resource.kind) &&
    isWanted(selector.name, resource.name) &&
    isWanted(selector.namespace, resource.namespace) &&
    hasAll(resource.labels, labels) &&
    hasAll(resource.annotations, annotations);
}

function isWanted(wanted: string | undefined, found: string): boolean {
  return wanted === undefined || wanted === '' || wanted === found;
}

function hasAll(found: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(found, key) && found[key] === value);
}

function apiGroup(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash === -1 ? '' : apiVersion.slice(0, slash);
}
