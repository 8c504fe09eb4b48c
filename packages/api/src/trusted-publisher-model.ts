import { z } from '@hono/zod-openapi';
import { CI_PROVIDERS } from '@krmhub/schema';
import { Time } from './base-model.js';
import * as parameters from './parameters.js';

/** Workflows that may publish, and the tokens that they get. */

const Values = z.record(z.string().max(63), z.string().min(1).max(300));

const publisherFields = {
  group: parameters.Group,
  kind: parameters.Kind.optional().openapi({
    description: 'The only function that it may publish. Absent for every function of the group',
    example: 'SetLabels',
  }),
  provider: z.enum(CI_PROVIDERS),
  issuer: z.string().min(1).max(300).optional().openapi({
    description: 'Issuer of its tokens. Absent for the usual one of the provider',
    example: 'https://token.actions.githubusercontent.com',
  }),
  settings: Values.openapi({
    description: 'What names the workflow, by the settings of the provider',
    example: { repository: 'example/functions', workflow: 'release.yml' },
  }),
  pins: Values.optional().openapi({
    description:
      'IDs that never belong to anything else. Those that are missing are taken from its first token',
    example: { repositoryId: '1296269' },
  }),
};

export const AddPublisherRequest = z
  .object({
    ...publisherFields,
    keys: z.string().max(65_536).optional().openapi({
      description: 'JSON Web Key Set of the issuer, for one that the registry cannot reach',
    }),
  })
  .openapi('AddPublisherRequest');

export const TrustedPublisher = z
  .object({
    id: z.string(),
    ...publisherFields,
    group: z.string(),
    issuer: z.string(),
    pins: Values,
    hasKeys: z.boolean().openapi({ description: 'Whether the keys of the issuer were given' }),
    team: z.string().optional().openapi({ description: 'The team whose rights bound its own' }),
    createdAt: Time,
    createdBy: z.string(),
    pendingUntil: Time.optional().openapi({
      description: 'It ends then, unless it is used before. Absent after its first use',
    }),
    lastUsedAt: Time.optional(),
  })
  .openapi('TrustedPublisher');

export const TrustedPublisherList = z
  .object({ publishers: z.array(TrustedPublisher) })
  .openapi('TrustedPublisherList');

export const CheckPublishersRequest = z
  .object({
    group: parameters.Group,
    claims: z.record(z.string(), z.unknown()).openapi({
      description: 'The claims of a token, decoded. Nothing is verified',
      example: { iss: 'https://token.actions.githubusercontent.com', repository: 'example/functions' },
    }),
  })
  .openapi('CheckPublishersRequest');

export const CheckedPublishers = z
  .object({
    publishers: z.array(
      z.object({
        id: z.string(),
        target: z.string().openapi({ description: '`GROUP` or `GROUP/KIND`' }),
        problems: z.array(
          z.object({
            claim: z.string(),
            expected: z.string(),
            found: z
              .string()
              .optional()
              .openapi({ description: 'Absent if the token does not have the claim' }),
            why: z.string().optional(),
          }),
        ),
      }),
    ),
  })
  .openapi('CheckedPublishers');

export const OidcAudience = z
  .object({ audience: z.string().openapi({ example: 'https://krm.example.com' }) })
  .openapi('OidcAudience');

export const ExchangeRequest = z
  .object({
    token: z
      .string()
      .min(1)
      .max(16_384)
      .openapi({ description: 'The token that the provider signed for the run' }),
    groups: z
      .array(parameters.Group)
      .min(1)
      .max(1_000)
      .optional()
      .openapi({
        description:
          'What it will publish. Absent for all groups that it may publish, if one team owns them. Name at most 16 groups if publishers have keys of their own: a token is checked with the newest keys of the first 16 groups only. If one of those accepts it, the keys of the first 50 groups count',
        example: ['example.com'],
      }),
  })
  .openapi('ExchangeRequest');

export const ExchangedToken = z
  .object({
    token: z.string().openapi({ description: 'A token of the registry for some minutes' }),
    expiresAt: Time,
    publishes: z.array(z.string()).openapi({
      description: 'What it may publish, each as `GROUP` or `GROUP/KIND`',
      example: ['example.com'],
    }),
  })
  .openapi('ExchangedToken');

export const PublisherParameters = z.object({ id: z.string().uuid() });
export const PublishersQuery = z.object({ group: parameters.Group.optional() });

export type AddPublisherRequest = z.input<typeof AddPublisherRequest>;
export type TrustedPublisher = z.infer<typeof TrustedPublisher>;
export type TrustedPublisherList = z.infer<typeof TrustedPublisherList>;
export type CheckPublishersRequest = z.input<typeof CheckPublishersRequest>;
export type CheckedPublishers = z.infer<typeof CheckedPublishers>;
export type OidcAudience = z.infer<typeof OidcAudience>;
export type ExchangeRequest = z.input<typeof ExchangeRequest>;
export type ExchangedToken = z.infer<typeof ExchangedToken>;
