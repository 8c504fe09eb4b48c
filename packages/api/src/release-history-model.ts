import { z } from '@hono/zod-openapi';
import { CHANGE_KINDS, type ChangeKind } from '@krmhub/schema/documents/change-kinds';
import { DigestText, exactOptional, Takedown } from './base-model.js';
import { ReleaseSummary } from './function-model.js';
import { Group, Kind, REQUEST_LIMITS } from './parameters.js';

/** The JSON of the history of a catalog: which of its snapshots have which releases. */

const Serial = z.number().int();

const comparisonFields = {
  from: z.string().min(1).max(REQUEST_LIMITS.maxHistoryTextLength).openapi({
    description:
      'The release that is used: the digest of its definition, or its image with a tag or a digest',
    example: 'registry.example.com/functions/set-labels:v1.0.0',
  }),
  version: z
    .string()
    .max(REQUEST_LIMITS.maxHistoryTextLength)
    .openapi({ description: 'API version of the functionConfig', example: 'v1' }),
};

export const ReleaseComparison = z
  .object({
    ...comparisonFields,
    range: exactOptional(
      z.string().max(REQUEST_LIMITS.maxHistoryTextLength).openapi({
        description: 'SemVer range. Also compares the newest release in it',
        example: '~1.2',
      }),
    ),
  })
  .openapi('ReleaseComparison', {
    description: 'Compares a release with the newest one, and with that of the newest snapshot',
  });

const KINDS = Object.keys(CHANGE_KINDS) as [ChangeKind, ...ChangeKind[]];

export const ReleaseChanges = z
  .object({
    ...comparisonFields,
    to: z.string().openapi({ description: 'A release', example: '2.0.0' }),
    kinds: z.array(z.enum(KINDS)).openapi({
      description: 'The most important first. Empty if equal',
    }),
  })
  .openapi('ReleaseChanges');

const UpstreamVersion = z
  .object({
    version: z.string().openapi({ description: 'API version of the functionConfig' }),
    source: z.string().openapi({ description: 'Name of the source in the recipe' }),
    definition: DigestText.openapi({ description: 'Digest of the entry in normal form' }),
  })
  .openapi('UpstreamVersion');

export const CatalogReleasesRequest = z
  .object({
    functions: z
      .array(
        z.object({
          group: Group,
          kind: Kind,
          compare: exactOptional(
            z
              .array(ReleaseComparison)
              .max(
                REQUEST_LIMITS.maxHistoryComparisons,
                `has more than ${REQUEST_LIMITS.maxHistoryComparisons} comparisons`,
              ),
          ),
        }),
      )
      .min(1, 'is empty')
      .max(
        REQUEST_LIMITS.maxHistoryFunctions,
        `has more than ${REQUEST_LIMITS.maxHistoryFunctions} functions`,
      ),
  })
  .openapi('CatalogReleasesRequest');

export const CatalogRelease = ReleaseSummary.extend({
  images: exactOptional(
    z.array(z.string()).openapi({
      description: 'What it runs from OCI registries. Absent if the definition is large',
    }),
  ),
  served: z
    .array(
      z.object({
        version: z.string().openapi({ description: 'API version of the functionConfig' }),
        first: Serial.openapi({
          description: 'Serial of the first snapshot that selected the release for it',
        }),
        last: exactOptional(
          Serial.openapi({ description: 'Serial of the last one. Absent if the newest snapshot selects it' }),
        ),
        serial: exactOptional(
          Serial.openapi({
            description:
              'Serial of the newest one that can still be read. Absent if all of them were withdrawn',
          }),
        ),
        signedBy: exactOptional(
          z.string().openapi({ description: 'The signer, if the policy of the recipe trusts it' }),
        ),
      }),
    )
    .openapi({ description: 'The API versions for which the catalog selected it' }),
}).openapi('CatalogRelease');

export const CatalogReleases = z
  .object({
    catalog: z.string(),
    serial: exactOptional(Serial.openapi({ description: 'Of the newest snapshot. Absent before the first' })),
    functions: z
      .array(
        z.object({
          group: z.string(),
          kind: z.string(),
          releases: z.array(CatalogRelease).openapi({
            description: 'Releases of this registry in snapshots, newest first by SemVer precedence',
          }),
          takedowns: exactOptional(
            z.array(Takedown).openapi({ description: 'Releases of the catalog that were taken down' }),
          ),
          upstream: exactOptional(
            z.array(UpstreamVersion).openapi({
              description: 'API versions of upstream catalogs in the newest snapshot',
            }),
          ),
          changes: exactOptional(
            z.array(ReleaseChanges).openapi({
              description: 'Those of known releases that are not too large',
            }),
          ),
          partial: exactOptional(
            z.boolean().openapi({ description: 'Whether older releases or snapshots are omitted' }),
          ),
        }),
      )
      .openapi({ description: 'Those that a snapshot has' }),
  })
  .openapi('CatalogReleases', { description: 'Which snapshots of a catalog have which releases' });

export type CatalogReleasesRequest = z.infer<typeof CatalogReleasesRequest>;
export type CatalogRelease = z.infer<typeof CatalogRelease>;
export type CatalogReleases = z.infer<typeof CatalogReleases>;
export type ReleaseComparison = z.infer<typeof ReleaseComparison>;
export type ReleaseChanges = z.infer<typeof ReleaseChanges>;
