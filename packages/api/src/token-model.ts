import { z } from '@hono/zod-openapi';
import { TeamRights } from './access-model.js';
import { Time } from './base-model.js';
import * as parameters from './parameters.js';
import { TOKEN_SCOPES } from './token-scopes.js';

/** Tokens. */

export const User = z
  .object({
    id: z.string(),
    issuer: z.string().openapi({ description: 'The identity provider' }),
    subject: z.string().openapi({ description: 'ID of the user there' }),
    name: z.string(),
    email: z.string().optional(),
  })
  .openapi('User', { description: 'A person, as an identity provider knows them' });

export const Token = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.enum(TOKEN_SCOPES)),
    groups: z
      .array(z.string())
      .openapi({ description: 'Globs for groups, for example `*.example.com`; `*` matches every group' }),
    repositories: z.array(z.string()).openapi({
      description:
        'For the scope push: globs for artifact repositories, for example `team/*`; `*` matches every repository',
    }),
    team: z.string().optional().openapi({
      description: 'The team whose rights bound those of the token. Absent for a token without a team',
    }),
    user: User.optional().openapi({ description: 'The user whose rights bound those of a personal token' }),
    createdAt: Time,
    createdBy: z.string(),
    expiresAt: Time.optional(),
    lastUsedAt: Time.optional(),
    revokedAt: Time.optional(),
    revokedBy: z.string().optional(),
    revokedReason: z.string().optional().openapi({ example: 'reported as leaked' }),
  })
  .openapi('Token');

export const Identity = Token.extend({
  teamRights: TeamRights.optional().openapi({
    description: 'What the team may do, within the limits of the token. Absent for a token without a team',
  }),
  ssoGroups: z.array(z.string()).optional().openapi({
    description: 'The groups of the user at the identity provider, as an Access document has them',
  }),
  teams: z
    .array(TeamRights.extend({ team: z.string() }))
    .optional()
    .openapi({ description: 'The teams of the user, and what each may do within the limits of the token' }),
}).openapi('Identity');

export const TokenList = z.object({ tokens: z.array(Token) }).openapi('TokenList');
/** No control characters, and none that reorder or hide text: a name is shown on terminals and in logs. */
export const VISIBLE_TEXT =
  /^[^\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]*$/;

const { maxTokenLimits } = parameters.REQUEST_LIMITS;
const TOO_MANY = `has more than ${maxTokenLimits} entries`;

/** Names of actors without a token. */
const RESERVED_NAMES = ['krmhub', 'anonymous'];

export const CreateTokenRequest = z
  .object({
    name: z
      .string()
      .min(1)
      .max(100)
      .regex(VISIBLE_TEXT, 'contains a control character or an invisible one')
      .refine((name) => !RESERVED_NAMES.includes(name.trim().toLowerCase()), 'is reserved for the registry'),
    scopes: z.array(z.enum(TOKEN_SCOPES)).min(1),
    groups: z
      .array(z.string().min(1).max(253).openapi({ pattern: '^[a-z0-9.*-]+$' }))
      .min(1)
      .max(maxTokenLimits, TOO_MANY)
      .default(['*']),
    repositories: z
      .array(z.string().min(1).max(255).openapi({ pattern: '^[a-z0-9._/*-]+$' }))
      .min(1)
      .max(maxTokenLimits, TOO_MANY)
      .default(['*']),
    team: z.string().min(1).max(63).optional().openapi({ description: 'A team of the Access document' }),
    robot: z.boolean().optional().openapi({
      description:
        'True for a token that is not of the user who asks, which needs the scope admin, as one with a team does. A request with a token that has no user always makes one',
    }),
    expiresInDays: z
      .number()
      .int()
      .min(1)
      .max(parameters.REQUEST_LIMITS.maxTokenDays)
      .optional()
      .openapi({
        description: `At most the limit of the registry. By default ${parameters.REQUEST_LIMITS.defaultTokenDays}, or the limit if it is less`,
      }),
  })
  .openapi('CreateTokenRequest');
export const CreatedToken = Token.extend({
  token: z.string().openapi({ description: 'The secret. It is returned only in this response' }),
}).openapi('CreatedToken');

export const LeakReport = z
  .object({
    token: z
      .string()
      .max(200)
      .openapi({
        pattern: '^krmhub_[a-f0-9]{72}$',
        description: 'The complete token',
        example: `krmhub_${'0'.repeat(72)}`,
      }),
  })
  .openapi('LeakReport');

export type Identity = z.infer<typeof Identity>;
export type Token = z.infer<typeof Token>;
export type TokenList = z.infer<typeof TokenList>;
export type CreateTokenRequest = z.input<typeof CreateTokenRequest>;
export type CreatedToken = z.infer<typeof CreatedToken>;
