/**
 * The facets of functions: what a search filters by and counts. Everything that has a part for each facet is made from
 * this table: the parameters and responses of the API, the options of `krmhub search`, the words of a search box, and
 * the filters of the search page. Where a facet's values come from is in the registry's search columns.
 */

import { RUNTIME_KINDS } from './documents/definition.js';
import { MAX_FILTER_LENGTH, MAX_SIGNER_LENGTH } from './documents/limits.js';

export interface FacetDescription {
  /** Heading on pages. */
  title: string;
  /** Placeholder of the command line option, for example `tag` in `--tag <tag>`. */
  placeholder: string;
  /** Help text of the command line option. */
  help: string;
  /** Description of the API parameter. */
  parameter: string;
  /** Description of the counts in a search response. */
  counts?: string;
  /** The only valid values. */
  values?: readonly string[];
  /** Whether a function must have any or all values of a repeated filter. */
  match: 'any' | 'all';
  /** Maximum characters of a value. */
  maxLength: number;
  /** Other spellings in a search box. */
  aliases?: readonly string[];
  /** Whether values that differ only in case are the same. */
  ignoresCase?: boolean;
  /** Which values the search page offers. Default: the most frequent ones. */
  offered?: 'of-several-functions' | 'none';
}

const BOOLEAN = ['true', 'false'] as const;

/** Value of the facet `owner` for functions whose group has no owner. The name of a team has no space. */
export const NOT_VERIFIED = 'not verified';

const text = { match: 'any', maxLength: MAX_FILTER_LENGTH } as const;
const fact = { ...text, placeholder: 'boolean', values: BOOLEAN } as const;

export const FACETS = {
  tag: {
    ...text,
    title: 'Tag',
    placeholder: 'tag',
    help: 'Functions with this tag. All filters are repeatable.',
    parameter: 'Tag, in any case',
    match: 'all',
    ignoresCase: true,
  },
  kind: {
    ...text,
    title: 'Kind',
    placeholder: 'kind',
    help: 'Functions of this kind.',
    parameter: 'Kind of the functionConfig',
    ignoresCase: true,
    // Most kinds exist in one group only.
    offered: 'of-several-functions',
  },
  group: {
    ...text,
    title: 'Group',
    placeholder: 'group',
    help: 'Functions of this group.',
    parameter: 'Group',
  },
  owner: {
    ...text,
    title: 'Owner',
    placeholder: 'team',
    help: `Functions of groups that this team owns, or "${NOT_VERIFIED}".`,
    parameter: `Name of the team that owns the group, or \`${NOT_VERIFIED}\``,
    counts: `Teams that own the groups. \`${NOT_VERIFIED}\` is last: functions of groups without an owner`,
  },
  publisher: {
    ...text,
    title: 'Says it is published by',
    placeholder: 'name',
    help: 'Functions that say they are published by this name.',
    parameter: 'Text of the field `publisher`, which nothing verifies',
    counts: 'Texts of the field `publisher`, which nothing verifies',
    // Useful in links only.
    offered: 'none',
  },
  runtime: {
    ...text,
    title: 'Runtime',
    placeholder: 'kind',
    help: 'Functions with this runtime.',
    parameter: 'Runtime',
    values: RUNTIME_KINDS,
  },
  license: {
    ...text,
    title: 'License',
    placeholder: 'license',
    help: 'Functions with this license (SPDX).',
    parameter: 'SPDX license expression',
    aliases: ['licence'],
  },
  apiVersion: {
    ...text,
    title: 'API version',
    placeholder: 'version',
    help: 'Functions with this apiVersion, as GROUP/VERSION.',
    parameter: 'apiVersion of the functionConfig, as GROUP/VERSION',
    // Useful in links only.
    offered: 'none',
  },
  signed: {
    ...fact,
    title: 'Signed',
    help: 'Functions with a valid signature that no policy rejects, or without one.',
    parameter: 'Whether a signature of the displayed release is valid, and no policy rejects it',
  },
  pinned: {
    ...fact,
    title: 'Pinned by digest',
    help: 'Functions whose code is pinned by digest, or is not.',
    parameter: 'Whether a digest pins everything that the displayed release runs',
  },
  network: {
    ...fact,
    title: 'May use the network',
    help: 'Functions that may use the network, or may not.',
    parameter: 'Whether the displayed release may access the network',
  },
  storage: {
    ...fact,
    title: 'May access files',
    help: 'Functions that may use your files, or may not.',
    parameter: 'Whether the displayed release may access files',
  },
  deprecated: {
    ...fact,
    title: 'Deprecated',
    help: 'Functions whose displayed release is deprecated, or is not.',
    parameter: 'Whether the displayed release is deprecated',
  },
  signedBy: {
    ...text,
    title: 'Signed by',
    placeholder: 'signer',
    help: 'Functions that this key or identity signed.',
    parameter:
      'Signer of the displayed release, as in the facet `signedBy`. A policy may trust the signer or not',
    counts: 'Signers of the displayed release, whether a policy trusts them or not',
    maxLength: MAX_SIGNER_LENGTH,
  },
  catalog: {
    ...text,
    title: 'Catalog',
    placeholder: 'name',
    help: 'Functions in this catalog.',
    parameter: 'Catalog whose newest snapshot contains the function',
  },
} as const satisfies Record<string, FacetDescription>;

export type FacetName = keyof typeof FACETS;

/** In the order of the API and of `krmhub search --help`. */
export const FACET_NAMES = Object.keys(FACETS) as readonly FacetName[];

/** Filters of a search: the values of each facet. */
export type FacetFilters = Partial<Record<FacetName, readonly string[]>>;

export function describeFacet(name: FacetName): FacetDescription {
  return FACETS[name];
}

/** Makes a record with a value for each facet. */
export function mapFacets<Value>(
  make: (name: FacetName, facet: FacetDescription) => Value,
): Record<FacetName, Value> {
  return Object.fromEntries(
    FACET_NAMES.map((name): [FacetName, Value] => [name, make(name, FACETS[name])]),
  ) as Record<FacetName, Value>;
}

/** Reports whether the values of a facet are `true` and `false`. */
export function isYesOrNo(name: FacetName): boolean {
  return describeFacet(name).values === BOOLEAN;
}
