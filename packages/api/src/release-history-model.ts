import { z } from '@hono/zod-openapi';
import { exactOptional, Takedown } from './base-model.js';
import { ReleaseSummary } from './function-model.js';
import { Group, Kind, REQUEST_LIMITS } from './parameters.js';

/** The JSON of the history of a catalog: which of its snapshots have which releases. */

const Serial = z.number().int();

export const CatalogReleasesRequest = z
  .object({
    functions: z
      .array(z.object({ group: Group, kind: Kind }))
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
      description:
        'What it runs from OCI registries, as the definition names it. Absent if the definition is large',
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
            description:
              'Releases of this registry that a snapshot of the catalog has, newest first, by SemVer precedence',
          }),
          takedowns: exactOptional(
            z.array(Takedown).openapi({ description: 'Releases of the catalog that were taken down' }),
          ),
          partial: exactOptional(
            z.boolean().openapi({ description: 'Whether older releases or snapshots are omitted' }),
          ),
        }),
      )
      .openapi({ description: 'Of the requested functions, those that a snapshot of the catalog has' }),
  })
  .openapi('CatalogReleases', { description: 'Which snapshots of a catalog have which releases' });

export type CatalogReleasesRequest = z.infer<typeof CatalogReleasesRequest>;
export type CatalogRelease = z.infer<typeof CatalogRelease>;
export type CatalogReleases = z.infer<typeof CatalogReleases>;
