import { z } from '@hono/zod-openapi';
import { SOURCE_PROBLEMS } from '@krmhub/schema';
import { DigestText, Time } from './base-model.js';

/** Upstream catalogs that recipes use as sources. */

const SourceCopy = z.object({
  digest: DigestText.openapi({ description: 'Digest of its exact bytes' }),
  size: z.number().int().openapi({ description: 'Bytes' }),
  fetchedAt: Time,
  formerUrl: z.string().optional().openapi({
    description: 'The URL of the copy, if the recipe has a new URL that was not fetched yet',
  }),
  entries: z.number().int().openapi({ description: 'Number of valid entries' }),
  invalid: z
    .array(
      z.object({
        entry: z.number().int().openapi({ description: 'Index in the catalog, from 0' }),
        group: z.string().optional(),
        kind: z.string().optional(),
        message: z.string(),
      }),
    )
    .openapi({ description: 'The first invalid entries' }),
  invalidEntries: z.number().int().openapi({ description: 'Number of invalid entries' }),
  completed: z
    .array(
      z.object({
        entry: z.number().int().openapi({ description: 'Index in the catalog, from 0' }),
        group: z.string(),
        kind: z.string(),
        fields: z.array(z.string()).openapi({ description: 'Fields that were filled in or omitted' }),
      }),
    )
    .optional()
    .openapi({
      description: 'The first entries that the `defaults` of the recipe completed. Absent if there are none',
    }),
  completedEntries: z
    .number()
    .int()
    .optional()
    .openapi({ description: 'Number of completed entries. Absent if there are none' }),
  serial: z.number().int().optional().openapi({ description: 'Serial of a signed snapshot' }),
  expires: Time.optional().openapi({ description: 'When the signature of the snapshot expires' }),
  signedBy: z.array(z.string()).openapi({
    description: 'Signers of valid signatures. The policy of the recipe decides whether to trust them',
  }),
});

export const Source = z
  .object({
    catalog: z.string(),
    source: z.string().openapi({ description: 'Name of the source in the recipe of the catalog' }),
    url: z.string().openapi({ description: 'URL in the recipe' }),
    state: z.enum(['current', 'stale', 'missing']).openapi({
      description:
        '`current`: the last sync succeeded. `stale`: the last sync failed, and an older copy is used. `missing`: there is no copy',
    }),
    nextAt: Time.openapi({ description: 'Time of the next sync' }),
    checkedAt: Time.optional().openapi({
      description: 'Time of the last sync. Absent before the first sync after the recipe was applied',
    }),
    problem: z.enum(SOURCE_PROBLEMS).optional().openapi({ description: 'Why the last sync failed' }),
    message: z.string().optional().openapi({ description: 'Error message of the last sync' }),
    failingSince: Time.optional(),
    copy: SourceCopy.optional().openapi({ description: 'The last good copy' }),
  })
  .openapi('Source', { description: 'An upstream catalog that a recipe uses as a source' });

export const SourceList = z.object({ sources: z.array(Source) }).openapi('SourceList');

export type Source = z.infer<typeof Source>;
export type SourceList = z.infer<typeof SourceList>;
