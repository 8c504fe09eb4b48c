import { z } from '@hono/zod-openapi';
import {
  canonicalRelease,
  GROUP_PATTERN,
  isApiVersionName,
  isDigest,
  isGroup,
  isKind,
  KIND_PATTERN,
  MAX_FILTER_LENGTH,
  MAX_GROUP_LENGTH,
  MAX_SIGNER_LENGTH,
  PROFILES,
  VERSION_PATTERN,
} from '@krmhub/schema';
import { type FacetDescription, mapFacets } from '@krmhub/schema/facets';

/** Limits for requests: the unit and the reason for each. */
export const REQUEST_LIMITS = {
  /** Length of a search query. Real queries are shorter. */
  maxQueryLength: 500,
  /** Length of one filter value: a group has at most 253 characters. */
  maxFilterLength: MAX_FILTER_LENGTH,
  /** Length of a signer name. */
  maxSignerLength: MAX_SIGNER_LENGTH,
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
  /** Largest page of the snapshot history of a catalog. */
  maxSnapshotLimit: 1_000,
  /** Default page of the snapshot history of a catalog. */
  defaultSnapshotLimit: 100,
  /** Functions of one request for the history of a catalog. */
  maxHistoryFunctions: 100,
  /** Releases of one function that such a request compares with newer ones. */
  maxHistoryComparisons: 10,
  /** Length of a text in a comparison, in UTF-16 code units. */
  maxHistoryTextLength: 1_024,
  /** Releases of one function in its response. */
  maxHistoryReleases: 50,
  /** Largest page of users. */
  maxUserLimit: 1_000,
  /** Default page of users. */
  defaultUserLimit: 100,
  /** Releases in a report about a package. Large packages use dozens of functions. */
  maxReportedReleases: 500,
  /** Fields of one of these releases. Large functionConfigs have dozens. */
  maxReportedFields: 200,
  /** Longest time until a new token expires: ten years. A registry can have a lower limit. */
  maxTokenDays: 3_650,
  /** Time until a new token expires, unless the request has another: a quarter. */
  defaultTokenDays: 90,
  /**
   * Groups in the limits of one token, and as many repositories. Every user can create tokens, and each authorization
   * compares all of them.
   */
  maxTokenLimits: 100,
} as const;

const CATALOG_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export const Group = z
  .string()
  .refine(
    isGroup,
    'is not a valid group: use a lower-case DNS name with at least one dot, for example example.com',
  )
  .openapi({ example: 'example.com', pattern: GROUP_PATTERN.source, maxLength: MAX_GROUP_LENGTH });

export const Kind = z
  .string()
  .refine(
    isKind,
    'is not a valid kind: use letters, digits, and hyphens, starting with a letter, for example SetLabels',
  )
  .openapi({ example: 'SetLabels', pattern: KIND_PATTERN.source, description: 'Case-insensitive' });

const NUMBER = '(0|[1-9][0-9]{0,14})';
const IDENTIFIER = '(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)';
/** The releases that canonicalRelease accepts; semver rejects larger numbers. */
const RELEASE_PATTERN = `^v?${NUMBER}([.]${NUMBER}){0,2}(-${IDENTIFIER}([.]${IDENTIFIER})*)?$`;

export const ReleaseName = z
  .string()
  .max(128, 'is longer than 128 characters')
  .refine(
    (text) => canonicalRelease(text) !== undefined,
    'is not a valid release: use a SemVer version without build metadata, for example 1.2.0',
  )
  .transform((text) => canonicalRelease(text) ?? text)
  .openapi({
    type: 'string',
    example: '1.2.0',
    pattern: RELEASE_PATTERN,
    maxLength: 128,
    description: 'SemVer. v1.2 means 1.2.0',
  });

export const ApiVersion = z
  .string()
  .refine(isApiVersionName, 'is not a valid API version: use a name such as v1 or v1beta1')
  .openapi({ example: 'v1', pattern: VERSION_PATTERN.source });

export const CatalogName = z
  .string()
  .regex(
    CATALOG_NAME,
    'is not a valid catalog name: use at most 63 lower-case letters, digits, and inner hyphens',
  )
  .openapi({ example: 'default' });

export const SourceName = z
  .string()
  .regex(
    CATALOG_NAME,
    'is not a valid source name: use at most 63 lower-case letters, digits, and inner hyphens',
  )
  .openapi({ example: 'upstream' });

export const SnapshotReference = z
  .string()
  .refine(
    (text) => isDigest(text) || (/^[1-9]\d{0,14}$/.test(text) && Number.isSafeInteger(Number(text))),
    'is not a serial (1, 2, …) or the sha256:… digest of a catalog.yaml',
  )
  .openapi({
    example: '7',
    pattern: '^([1-9][0-9]{0,14}|sha256:[a-f0-9]{64})$',
    description: 'Serial of the snapshot, or digest of its catalog.yaml',
  });

export const BundleDigest = z
  .string()
  .refine(isDigest, 'is not a sha256:… digest')
  .openapi({ pattern: '^sha256:[a-f0-9]{64}$', description: 'Digest of the bytes of the bundle' });

export const TokenId = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'is not a valid token ID');

/** Returns the parameter for the size of a page. Values outside of the range are clamped, not rejected. */
export function limit(fallback: number, max: number) {
  return z
    .string()
    .regex(/^[+-]?\d+$/, 'is not an integer')
    .transform((text) => Math.min(Math.max(Number(text), 1), max))
    .default(fallback)
    .openapi({
      type: 'integer',
      default: fallback,
      description: `From 1 to ${max}; other values are clamped to this range`,
    });
}

const Flag = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true')
  .default(false)
  .openapi({ type: 'boolean', default: false });

/** A filter of a search, as the table of facets describes it. Repeating one of a few values has no effect. */
function filter({ parameter, values, match, maxLength }: FacetDescription) {
  const list: z.ZodType<string[]> =
    values === undefined
      ? z
          .array(z.string().min(1, 'is empty').max(maxLength, `is longer than ${maxLength} characters`))
          .max(REQUEST_LIMITS.maxFilterValues, `is given more than ${REQUEST_LIMITS.maxFilterValues} times`)
      : z.array(
          z.enum(
            values,
            `must be ${values.length === 2 ? values.join(' or ') : `one of ${values.join(', ')}`}`,
          ),
        );
  return list.optional().openapi({ description: `${parameter}. If repeated: match ${match} of them` });
}

export const SEARCH_ORDERS = ['relevance', 'name', 'newest'] as const;
export type SearchOrder = (typeof SEARCH_ORDERS)[number];

export const SearchParameters = z.object({
  q: z
    .string()
    .max(REQUEST_LIMITS.maxQueryLength, `is longer than ${REQUEST_LIMITS.maxQueryLength} characters`)
    .optional()
    .openapi({
      description:
        'Search words; prefixes of words match. Also `"a phrase"`, `-word`, `kind:WORD`, `is:signed`, filters such as `tag:VALUE`, `GROUP/KIND@RELEASE`, the start of an image reference, or a digest',
    }),
  ...mapFacets((_, facet) => filter(facet)),
  sort: z
    .enum(SEARCH_ORDERS, `must be one of ${SEARCH_ORDERS.join(', ')}`)
    .default('relevance')
    .openapi({
      description:
        '`relevance`: best match first (kind, tags, then other fields), or by group and kind without search words. ' +
        '`name`: by group and kind. ' +
        '`newest`: by publication time of the displayed release. Functions with only yanked releases come last',
    }),
  limit: limit(REQUEST_LIMITS.defaultSearchLimit, REQUEST_LIMITS.maxSearchLimit),
  cursor: z
    .string()
    .max(2_000, 'is too long')
    .optional()
    .openapi({ description: '`next` of the previous page' }),
});

export const EventParameters = z.object({
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'is not an event sequence: use 0, or `next` of the previous page')
    .transform(Number)
    .default(0)
    .openapi({ type: 'integer', minimum: 0, maximum: 999_999_999_999_999, default: 0 }),
  limit: limit(REQUEST_LIMITS.defaultEventLimit, REQUEST_LIMITS.maxEventLimit),
});

const Moment = (which: string) =>
  z.iso
    .datetime({ offset: true, message: 'is not a time such as 2026-01-31T00:00:00Z' })
    .transform((text) => new Date(text).toISOString())
    .optional()
    .openapi({ type: 'string', format: 'date-time', description: which });

const AuditText = (description: string) =>
  z.string().min(1, 'is empty').max(500, 'is longer than 500 characters').optional().openapi({ description });

export const AuditParameters = z.object({
  actor: AuditText('Name of a token, or its ID'),
  action: AuditText('An action such as `token.create`, or its part before the dot'),
  object: AuditText('Beginning of the object, for example `release/example.com/`'),
  outcome: z.enum(['done', 'refused'], 'must be done or refused').optional(),
  since: Moment('Only rows at or after this time'),
  until: Moment('Only rows at or before this time'),
  before: z
    .string()
    .regex(/^\d{1,15}$/, 'is not a sequence: use `next` of the previous page')
    .transform(Number)
    .optional()
    .openapi({ type: 'integer', minimum: 0, maximum: 999_999_999_999_999 }),
  limit: limit(REQUEST_LIMITS.defaultEventLimit, REQUEST_LIMITS.maxEventLimit),
  format: z.enum(['json', 'jsonl'], 'must be json or jsonl').optional().openapi({
    description:
      '`jsonl`, or `Accept: application/x-ndjson`: all rows, one per line, without pages. By default, `json`',
  }),
});

export const RevocationParameters = EventParameters.extend({
  digest: z
    .array(z.string().regex(/^sha256:[a-f0-9]{64}$/, 'is not sha256: and 64 lower-case hexadecimal digits'))
    .max(REQUEST_LIMITS.maxFilterValues, `is given more than ${REQUEST_LIMITS.maxFilterValues} times`)
    .optional()
    .openapi({
      description:
        'Digest of an image, an executable, or a script. Only takedowns that refuse it. If repeated: match any of them',
    }),
});

/** Names of the readiness checks. */
export const READINESS_CHECKS = ['store', 'blobs', 'catalogs', 'search', 'shutdown'] as const;

export const ReadinessParameters = z.object({
  exclude: z
    .array(z.enum(READINESS_CHECKS, `must be one of ${READINESS_CHECKS.join(', ')}`))
    .optional()
    .openapi({ description: 'Check that may fail. Can be repeated' }),
});

export const SnapshotParameters = z.object({
  before: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'is not a serial: use `next` of the previous page')
    .transform(Number)
    .optional()
    .openapi({
      type: 'integer',
      minimum: 1,
      maximum: 999_999_999_999_999,
      description: 'Only snapshots with a smaller serial: `next` of the previous page',
    }),
  limit: limit(REQUEST_LIMITS.defaultSnapshotLimit, REQUEST_LIMITS.maxSnapshotLimit),
});

export const PublishParameters = z.object({
  dryRun: Flag.openapi({ description: 'Validate and report, but store nothing' }),
  allowBreaking: Flag.openapi({
    description: 'Publish a release that breaks files of the previous release',
  }),
  wait: Flag.openapi({
    description: 'Wait until the catalogs contain the release, at most 30 seconds',
  }),
});

/** Parameters of the replacement of a document. */
export const DocumentParameters = z.object({
  replaces: z.string().refine(isDigest, 'is not a sha256:… digest').optional().openapi({
    pattern: '^sha256:[a-f0-9]{64}$',
    description: 'Digest of the `text` that the body replaces. With another text, the response is 409',
  }),
  dryRun: Flag.openapi({ description: 'Report the changes, but store nothing' }),
});

export const PolicyParameters = DocumentParameters.extend({
  remove: Flag.openapi({
    description:
      'Remove the policies that are missing in the body. Without it, the registry rejects such a request',
  }),
});

export const TakedownParameters = z.object({
  dryRun: Flag.openapi({ description: 'Report what would be deleted, but change nothing' }),
});

const CatalogKind = z.enum(['Catalog', 'KRMFunctionCatalog'], 'must be Catalog or KRMFunctionCatalog');
const KIND_DESCRIPTION = 'Value of `kind` in the document';

export const ProfileName = z.enum(PROFILES, `must be one of ${PROFILES.join(', ')}`);

/** JSON has no profiles. */
export const CatalogRenditionParameters = z.object({
  kind: CatalogKind.default('Catalog').openapi({ description: KIND_DESCRIPTION }),
});

export const CatalogProfileParameters = z.object({
  kind: CatalogKind.optional().openapi({
    description: `${KIND_DESCRIPTION}; default Catalog. Cannot be combined with profile`,
  }),
  profile: ProfileName.optional().openapi({
    description: 'The dialect of another tool. The Link header points to the unsupported fields',
  }),
});
