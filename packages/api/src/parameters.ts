import { z } from '@hono/zod-openapi';
import {
  canonicalRelease,
  GROUP_PATTERN,
  isApiVersionName,
  isDigest,
  isGroup,
  isKind,
  KIND_PATTERN,
  MAX_GROUP_LENGTH,
  PROFILES,
  RUNTIME_KINDS,
  VERSION_PATTERN,
} from '@krmhub/schema';

/** Limits on what a request may ask for: each with its unit, and why. */
export const REQUEST_LIMITS = {
  /** Length of a search query. Real queries are shorter; the search splits them into words. */
  maxQueryLength: 500,
  /** Length of one filter value: a group has at most 253 characters. */
  maxFilterLength: 253,
  /** Length of a signer name: the subject and the issuer of a certificate, which are URLs. */
  maxSignerLength: 2_000,
  /** Values of one repeated filter. */
  maxFilterValues: 20,
  /** Largest page of search results. */
  maxSearchLimit: 100,
  /** Default page of search results. */
  defaultSearchLimit: 20,
  /** Largest page of events. */
  maxEventLimit: 1_000,
  /** Default page of events. */
  defaultEventLimit: 100,
  /** Largest page of a catalog's snapshot history. */
  maxSnapshotLimit: 1_000,
  /** Default page of a catalog's snapshot history. */
  defaultSnapshotLimit: 100,
} as const;

const CATALOG_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export const Group = z
  .string()
  .refine(isGroup, 'is no group: lower-case DNS names with at least one dot, such as example.com')
  .openapi({ example: 'example.com', pattern: GROUP_PATTERN.source, maxLength: MAX_GROUP_LENGTH });

export const Kind = z
  .string()
  .refine(isKind, 'is no kind: letters, digits and hyphens, beginning with a letter, such as SetLabels')
  .openapi({ example: 'SetLabels', pattern: KIND_PATTERN.source, description: 'Found whatever its case' });

const NUMBER = '(0|[1-9][0-9]{0,14})';
const IDENTIFIER = '(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)';
/** What canonicalRelease takes, for clients: it judges by npm's semver, which refuses larger numbers. */
const RELEASE_PATTERN = `^v?${NUMBER}([.]${NUMBER}){0,2}(-${IDENTIFIER}([.]${IDENTIFIER})*)?$`;

export const ReleaseName = z
  .string()
  .max(128, 'is longer than 128 characters')
  .refine(
    (text) => canonicalRelease(text) !== undefined,
    'is no release: a SemVer version without build metadata, such as 1.2.0',
  )
  .transform((text) => canonicalRelease(text) ?? text)
  .openapi({
    type: 'string',
    example: '1.2.0',
    pattern: RELEASE_PATTERN,
    maxLength: 128,
    description: 'SemVer; v1.2 is taken as 1.2.0',
  });

export const ApiVersion = z
  .string()
  .refine(isApiVersionName, 'is no API version, such as v1 or v1beta1')
  .openapi({ example: 'v1', pattern: VERSION_PATTERN.source });

export const CatalogName = z
  .string()
  .regex(CATALOG_NAME, 'is no catalog name: at most 63 lower-case letters, digits and inner hyphens')
  .openapi({ example: 'default' });

export const SourceName = z
  .string()
  .regex(CATALOG_NAME, 'is no name of a source: at most 63 lower-case letters, digits and inner hyphens')
  .openapi({ example: 'upstream' });

export const SnapshotReference = z
  .string()
  .refine(
    (text) => isDigest(text) || (/^[1-9]\d{0,14}$/.test(text) && Number.isSafeInteger(Number(text))),
    'is neither a serial (1, 2, …) nor the sha256:… digest of a catalog.yaml',
  )
  .openapi({
    example: '7',
    pattern: '^([1-9][0-9]{0,14}|sha256:[a-f0-9]{64})$',
    description: 'Serial, or digest of catalog.yaml',
  });

export const BundleDigest = z
  .string()
  .refine(isDigest, 'is no sha256:… digest')
  .openapi({ pattern: '^sha256:[a-f0-9]{64}$', description: 'Digest of the bytes of the bundle' });

export const TokenId = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'is no token ID');

/** A count that is brought into its range rather than refused. */
function limit(fallback: number, max: number) {
  return z
    .string()
    .regex(/^[+-]?\d+$/, 'is no whole number')
    .transform((text) => Math.min(Math.max(Number(text), 1), max))
    .default(fallback)
    .openapi({
      type: 'integer',
      default: fallback,
      description: `From 1 to ${max}; what is less or more is taken as the nearest of them`,
    });
}

const Flag = z
  .enum(['true', 'false'], 'is neither true nor false')
  .transform((text) => text === 'true')
  .default(false)
  .openapi({ type: 'boolean', default: false });

const filterValue = z
  .string()
  .min(1, 'is empty')
  .max(REQUEST_LIMITS.maxFilterLength, `is longer than ${REQUEST_LIMITS.maxFilterLength} characters`);

const signerName = z
  .string()
  .min(1, 'is empty')
  .max(REQUEST_LIMITS.maxSignerLength, `is longer than ${REQUEST_LIMITS.maxSignerLength} characters`);

function filter(description: string, repeated: 'any' | 'all' = 'any', value = filterValue) {
  return z
    .array(value)
    .max(REQUEST_LIMITS.maxFilterValues, `is given more than ${REQUEST_LIMITS.maxFilterValues} times`)
    .optional()
    .openapi({ description: `${description}. Repeated: ${repeated} of them` });
}

export const SEARCH_ORDERS = ['relevance', 'name', 'newest'] as const;
export type SearchOrder = (typeof SEARCH_ORDERS)[number];

export const SearchParameters = z.object({
  q: z
    .string()
    .max(REQUEST_LIMITS.maxQueryLength, `is longer than ${REQUEST_LIMITS.maxQueryLength} characters`)
    .optional()
    .openapi({ description: 'Words; each may be the beginning of one' }),
  tag: filter('Tag', 'all'),
  kind: filter('Kind of the functionConfig'),
  group: filter('Group'),
  publisher: filter('Publisher'),
  runtime: z
    .array(z.enum(RUNTIME_KINDS, `is none of ${RUNTIME_KINDS.join(', ')}`))
    .optional()
    .openapi({ description: 'Runtime. Repeated: any of them' }),
  license: filter('SPDX licence expression'),
  signedBy: filter(
    'Who signed the release that is shown, as the facet of this name has it; a policy need not trust them',
    'any',
    signerName,
  ),
  catalog: filter('Catalog whose newest snapshot has the function'),
  sort: z
    .enum(SEARCH_ORDERS, `is none of ${SEARCH_ORDERS.join(', ')}`)
    .default('relevance')
    .openapi({
      description:
        'By how well the text fits, or by group and kind where there is none; by group and kind; or by when the ' +
        'release that is shown was published. What is wholly yanked comes last',
    }),
  limit: limit(REQUEST_LIMITS.defaultSearchLimit, REQUEST_LIMITS.maxSearchLimit),
  cursor: z
    .string()
    .max(2_000, 'is too long')
    .optional()
    .openapi({ description: '`next` of the page before' }),
});

export const EventParameters = z.object({
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'is no event sequence: 0, or `next` of the page before')
    .transform(Number)
    .default(0)
    .openapi({ type: 'integer', minimum: 0, maximum: 999_999_999_999_999, default: 0 }),
  limit: limit(REQUEST_LIMITS.defaultEventLimit, REQUEST_LIMITS.maxEventLimit),
});

export const SnapshotParameters = z.object({
  limit: limit(REQUEST_LIMITS.defaultSnapshotLimit, REQUEST_LIMITS.maxSnapshotLimit),
});

export const PublishParameters = z.object({
  dryRun: Flag.openapi({ description: 'Plan and report, store nothing' }),
  allowBreaking: Flag.openapi({
    description: 'Publish what breaks files that were written for the release before',
  }),
  wait: Flag.openapi({
    description: 'Answer when the catalogs have been cut, after 30 seconds at the latest',
  }),
});

export const PolicyParameters = z.object({
  dryRun: Flag.openapi({ description: 'Tell what would change, store nothing' }),
  remove: Flag.openapi({ description: 'Remove policies that are not among these; it is refused otherwise' }),
});

export const TakedownParameters = z.object({
  dryRun: Flag.openapi({ description: 'Tell what would go, change nothing' }),
});

const CatalogKind = z.enum(['Catalog', 'KRMFunctionCatalog'], 'is neither Catalog nor KRMFunctionCatalog');
const KIND_DESCRIPTION = 'The kind that the document says it is';

export const ProfileName = z.enum(PROFILES, `is none of ${PROFILES.join(', ')}`);

/** Of JSON, which has no profiles. */
export const CatalogRenditionParameters = z.object({
  kind: CatalogKind.default('Catalog').openapi({ description: KIND_DESCRIPTION }),
});

export const CatalogProfileParameters = z.object({
  kind: CatalogKind.optional().openapi({
    description: `${KIND_DESCRIPTION}; Catalog where it is absent. Not together with profile`,
  }),
  profile: ProfileName.optional().openapi({
    description: 'The dialect of another tool; the Link header names what it does not say',
  }),
});
