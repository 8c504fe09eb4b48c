import { z } from '@hono/zod-openapi';
import { SOURCE_PROBLEMS } from '@krmhub/schema';
import { DigestText, Time } from './base-model.js';

/** Catalogs elsewhere that recipes take from. */

const SourceCopy = z.object({
  digest: DigestText.openapi({ description: 'Digest of its exact bytes' }),
  size: z.number().int().openapi({ description: 'Bytes' }),
  fetchedAt: Time,
  formerUrl: z.string().optional().openapi({
    description:
      'From where it was fetched, where the recipe has named another address since that did not answer yet',
  }),
  entries: z.number().int().openapi({ description: 'Number of entries that can be used' }),
  invalid: z
    .array(
      z.object({
        entry: z.number().int().openapi({ description: 'Its number in the catalog, from 0' }),
        group: z.string().optional(),
        kind: z.string().optional(),
        message: z.string(),
      }),
    )
    .openapi({ description: 'The first entries that cannot be used' }),
  invalidEntries: z.number().int().openapi({ description: 'How many cannot be used' }),
  serial: z.number().int().optional().openapi({ description: 'Of a signed snapshot' }),
  expires: Time.optional().openapi({ description: 'Until when it was signed as the newest snapshot' }),
  signedBy: z.array(z.string()).openapi({
    description:
      'Whose signatures of it hold; whether they are trusted is what the policy of the recipe says',
  }),
});

export const Source = z
  .object({
    catalog: z.string(),
    source: z.string().openapi({ description: "Name of the source in the catalog's recipe" }),
    url: z.string().openapi({ description: 'As the recipe has it' }),
    state: z.enum(['current', 'stale', 'missing']).openapi({
      description:
        '`current`: the last look succeeded; `stale`: it did not, and an older copy is used; `missing`: there is none',
    }),
    nextAt: Time.openapi({ description: 'When it is asked next' }),
    checkedAt: Time.optional().openapi({
      description: 'When it was last asked; absent until it was once since the recipe was applied',
    }),
    problem: z.enum(SOURCE_PROBLEMS).optional().openapi({ description: 'Why the last look did not succeed' }),
    message: z.string().optional().openapi({ description: 'The same in words' }),
    failingSince: Time.optional(),
    copy: SourceCopy.optional().openapi({ description: 'The last good copy' }),
  })
  .openapi('Source', { description: 'A catalog elsewhere that a recipe takes from' });

export const SourceList = z.object({ sources: z.array(Source) }).openapi('SourceList');

export type Source = z.infer<typeof Source>;
export type SourceList = z.infer<typeof SourceList>;
