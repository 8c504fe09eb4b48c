/** What a selector compares: kpt compares text exactly, and so does krmhub. */
export interface ResourceIdentity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

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
}

/**
 * Returns what a function gets of a package: each resource that a selector matches, or all without selectors, unless an
 * entry of `exclude` matches it. Undefined if that is every resource.
 */
export function resourceFilter(
  selectors: readonly Selector[],
  exclude: readonly Selector[],
): ((resource: ResourceIdentity) => boolean) | undefined {
  const excluding = exclude.filter((selector) => !isEmpty(selector));
  if (selectors.length === 0 && exclude.length === 0) return undefined;
  return (resource) =>
    (selectors.length === 0 || selectors.some((selector) => matches(resource, selector))) &&
    !excluding.some((selector) => matches(resource, selector));
}

/** Reports whether a selector says nothing: it selects everything, and excludes nothing. */
export function isEmpty({ labels = {}, annotations = {}, ...texts }: Selector): boolean {
  return (
    Object.values(texts).every((text) => text === undefined || text === '') &&
    Object.keys(labels).length === 0 &&
    Object.keys(annotations).length === 0
  );
}

function matches(resource: ResourceIdentity, selector: Selector): boolean {
  const { labels = {}, annotations = {} } = selector;
  return (
    isWanted(selector.apiVersion, resource.apiVersion) &&
    isWanted(selector.group, groupOf(resource.apiVersion)) &&
    isWanted(selector.kind, resource.kind) &&
    isWanted(selector.name, resource.name) &&
    isWanted(selector.namespace, resource.namespace) &&
    hasAll(resource.labels, labels) &&
    hasAll(resource.annotations, annotations)
  );
}

function isWanted(wanted: string | undefined, found: string): boolean {
  return wanted === undefined || wanted === '' || wanted === found;
}

function hasAll(found: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(found, key) && found[key] === value);
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash === -1 ? '' : apiVersion.slice(0, slash);
}
