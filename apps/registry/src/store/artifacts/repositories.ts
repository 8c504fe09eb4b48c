import { isGroup } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';

export { functionRepository } from '@krmhub/oci/function-repository';

/**
 * What a repository is: of a function, whose tags are its releases; of a catalog, whose tags are the serials of its
 * snapshots; or of users who may push to it.
 */
export type RepositoryKind =
  | { of: 'function'; group: string; kindFolded: string }
  | { of: 'catalog'; catalog: string }
  /**
   * `scriptsOf` is the group whose publishers may push scripts to it: `scripts/GROUP/NAME`. `follows` is what it is as
   * visible as: everything below `scripts/GROUP` follows the group.
   */
  | { of: 'anything'; scriptsOf?: string; follows?: { group: string; kind?: string } }
  /** Below a name that is ours, and neither a function's nor a catalog's. */
  | { of: 'nothing'; why: string };

export function catalogRepository(catalog: string): string {
  return `catalogs/${catalog}`;
}

export function repositoryKind(name: string): RepositoryKind {
  const [first, second, third, ...more] = name.split('/');
  if (first === 'functions') {
    if (second === undefined || third === undefined || more.length > 0) {
      return {
        of: 'nothing',
        why: 'the repository of a function is functions/GROUP/KIND, with the kind in lower case',
      };
    }
    return { of: 'function', group: second, kindFolded: third };
  }
  if (first === 'scripts' && second !== undefined && isGroup(second)) {
    const follows = { group: second, ...defined({ kind: third }) };
    const isOfFunction = third !== undefined && more.length === 0;
    return { of: 'anything', follows, ...defined({ scriptsOf: isOfFunction ? second : undefined }) };
  }
  if (first !== 'catalogs') return { of: 'anything' };
  if (second === undefined || third !== undefined) {
    return { of: 'nothing', why: 'the repository of a catalog is catalogs/NAME' };
  }
  return { of: 'catalog', catalog: second };
}

/**
 * Tags by which clients find what speaks of a manifest where a registry cannot tell: `sha256-…` of distribution-spec,
 * and cosign's with `.sig`, `.att` and `.sbom` behind.
 */
export function isFallbackTag(tag: string): boolean {
  return /^sha(?:256-[a-f0-9]{64}|512-[a-f0-9]{128})(?:\.[a-z]{1,10})?$/.test(tag);
}
