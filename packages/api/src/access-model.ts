import { z } from '@hono/zod-openapi';
import { Diagnostic, exactOptional, Time } from './base-model.js';
import { TOKEN_SCOPES } from './token-scopes.js';

/** Who may see and do what. */

const GrantedAction = z.enum(['read', 'publish', 'yank', 'own', 'audit', 'admin']);

export const AccessDetail = z
  .object({
    text: z.string().openapi({ description: 'The exact YAML text. Empty if no document was ever applied' }),
    revision: z.number().int().openapi({ description: '0 if no document was ever applied' }),
    appliedAt: Time.optional(),
    appliedBy: z.string().optional(),
  })
  .openapi('AccessDetail', { description: 'The Access document of the registry' });

export const AccessChange = z
  .object({
    change: z.enum(['gains', 'loses']),
    actions: z.array(GrantedAction),
    actors: z
      .array(
        z.object({
          is: z.enum(['anonymous', 'internal', 'team', 'token', 'user']).openapi({
            description: '`internal`: every token, and clients in the networks of KRMHUB_INTERNAL_ADDRESSES',
          }),
          name: exactOptional(z.string().openapi({ description: 'Name of the team, token, or user' })),
          id: exactOptional(z.string().openapi({ description: 'ID of the token or user' })),
        }),
      )
      .openapi({ description: 'The first of them' }),
    actorCount: z.number().int(),
    objects: z.array(z.string()).openapi({
      description:
        'The first of the groups, functions (GROUP/KIND), catalogs (catalog:NAME), and repositories ' +
        '(repository:NAME). A pattern is for names that do not exist yet',
    }),
    objectCount: z.number().int(),
    newOwner: exactOptional(
      z.string().openapi({ description: 'The team that owns these groups now, and did not before' }),
    ),
  })
  .openapi('AccessChange', {
    description: 'What some actors can do that they could not do before, or no longer',
  });

export const ExposedFunction = z
  .object({
    catalog: z.string(),
    group: z.string(),
    kind: z.string(),
    from: z.number().int().openapi({ description: 'The first snapshot that contains the function' }),
    to: z.number().int().openapi({ description: 'The last one' }),
  })
  .openapi('ExposedFunction', {
    description:
      'A function that snapshots of a catalog contain, and that not all readers of the catalog can read now',
  });

export const TeamEnd = z
  .object({
    is: z.enum(['token', 'trusted-publisher', 'claim']),
    id: exactOptional(z.string().openapi({ description: 'ID of the token or trusted publisher' })),
    name: z.string().openapi({
      description: 'Name of the token, GROUP or GROUP/KIND of the trusted publisher, or the claimed group',
    }),
    team: z.string(),
  })
  .openapi('TeamEnd', {
    description:
      'What belongs to a team that the document no longer has, or to an earlier team with the name of a new one. ' +
      'The token is revoked, the trusted publisher is removed, and the claim ends',
  });

export const AccessResult = z
  .object({
    outcome: z.enum(['changed', 'unchanged']),
    dryRun: z.boolean(),
    diagnostics: z.array(Diagnostic),
    changes: z.array(AccessChange).openapi({ description: 'The first changes. Losses are first' }),
    count: z.number().int().openapi({ description: 'Number of all changes' }),
    exposed: z.array(ExposedFunction).openapi({ description: 'The first of them' }),
    exposedCount: z.number().int(),
    ended: z.array(TeamEnd).openapi({ description: 'The first of them' }),
    endedCount: z.number().int(),
    behind: exactOptional(
      z.array(z.string()).openapi({
        description:
          'The first catalogs that are not built yet since the document was applied, also because their builds fail: ' +
          'they may still have what is hidden now. The registry goes on building them, and the answer for the same ' +
          'document says whether they follow. Absent for a dry run, and if the registry cannot find out',
      }),
    ),
    behindCount: exactOptional(z.number().int()),
  })
  .openapi('AccessResult');

/** What an access check can ask for. */
export const CHECKED_ACTIONS = [...TOKEN_SCOPES, 'own'] as const;

export const AccessCheck = z
  .object({
    actor: z.string().min(1).max(100).openapi({
      description: '`anonymous`, `internal`, `team:NAME`, `user:ID`, or the ID or name of a token',
      example: 'ci',
    }),
    action: z.enum(CHECKED_ACTIONS),
    object: z.string().min(1).max(520).openapi({
      description: '`GROUP`, `GROUP/KIND`, `catalog:NAME`, `repository:NAME`, or `registry`',
      example: 'example.com',
    }),
  })
  .openapi('AccessCheck');

export const AccessDecision = AccessCheck.extend({
  allowed: z.boolean(),
  reason: z.string().openapi({ description: 'What gives the right, or what is missing' }),
  token: z.string().optional().openapi({ description: 'ID of the token, if the actor is one' }),
  teams: z.array(z.string()).optional().openapi({ description: 'The teams of the actor' }),
}).openapi('AccessDecision');

const Patterns = z.object({
  group: z.string().optional(),
  catalog: z.string().optional(),
  repository: z.string().optional(),
});

export const TeamRights = z
  .object({
    owns: z
      .array(z.string())
      .openapi({ description: 'Groups and patterns of groups that the team owns: the first 1,000' }),
    grants: z
      .array(
        z.object({
          may: z.array(GrantedAction),
          in: Patterns.openapi({ description: 'One of them, as a pattern' }),
        }),
      )
      .openapi({ description: 'The first 1,000' }),
  })
  .openapi('TeamRights', { description: 'What a team may do, bounded by the scopes and groups of a token' });

export type AccessDetail = z.infer<typeof AccessDetail>;
export type AccessResult = z.infer<typeof AccessResult>;
export type AccessCheck = z.infer<typeof AccessCheck>;
export type AccessDecision = z.infer<typeof AccessDecision>;
