import { z } from '@hono/zod-openapi';
import { Time } from './base-model.js';
import * as parameters from './parameters.js';
import { User } from './token-model.js';

/** Users: people who signed in, or whom a directory announced. */

export const UserDetail = User.extend({
  groups: z.array(z.string()).openapi({
    description: 'The groups of the user at the identity provider, as an Access document has them',
  }),
  teams: z.array(z.string()).openapi({ description: 'The teams of the Access document that the user is in' }),
  createdAt: Time,
  confirmedAt: Time.openapi({ description: 'When the identity provider last said who the user is' }),
  signedInAt: Time.optional().openapi({ description: 'The last sign-in' }),
  suspendedAt: Time.optional().openapi({ description: 'Absent unless the user is suspended' }),
  suspendedBy: z.string().optional(),
  directory: z.object({ isActive: z.boolean() }).optional().openapi({
    description:
      'What the directory (SCIM) that manages the user says. Absent if none does, or if its identity provider is not the first one of the registry',
  }),
}).openapi('UserDetail');

const Credentials = z.object({
  sessions: z.number().int().openapi({ description: 'Sessions on the pages of the registry' }),
  tokens: z
    .number()
    .int()
    .openapi({ description: 'Personal tokens that are not revoked and have not expired' }),
});

export const UserPage = z
  .object({
    users: z.array(UserDetail),
    next: z.string().optional().openapi({
      description: 'Pass it as `after` to get the next page. Absent on the last page',
    }),
  })
  .openapi('UserPage', { description: 'Users by ID' });

export const UserReport = UserDetail.extend(Credentials.shape).openapi('UserReport');

export const SuspendResult = z
  .object({
    outcome: z.enum(['suspended', 'unchanged']),
    user: UserDetail,
    ended: Credentials.openapi({
      description: 'The sessions that ended, and the tokens that are refused while the user is suspended',
    }),
  })
  .openapi('SuspendResult');

export const RestoreUserResult = z
  .object({
    outcome: z.enum(['restored', 'unchanged']),
    user: UserDetail,
    tokens: z.number().int().openapi({ description: 'Personal tokens that work again' }),
    problem: z.string().optional().openapi({
      description: 'Why the user can do nothing yet. Absent if nothing prevents it',
    }),
  })
  .openapi('RestoreUserResult');

export const UserParameters = z.object({ id: z.string().uuid('must be the ID of a user, which is a UUID') });

export const UsersQuery = z.object({
  q: z.string().max(200, 'is longer than 200 characters').optional().openapi({
    description: 'Only users with this text in the name or the e-mail address. Case does not matter',
  }),
  after: z
    .string()
    .uuid('is not the ID of a user: use `next` of the previous page')
    .optional()
    .openapi({ description: 'Only users after the one with this ID: `next` of the previous page' }),
  limit: parameters.limit(parameters.REQUEST_LIMITS.defaultUserLimit, parameters.REQUEST_LIMITS.maxUserLimit),
});

export type UserDetail = z.infer<typeof UserDetail>;
export type UserPage = z.infer<typeof UserPage>;
export type UserReport = z.infer<typeof UserReport>;
export type SuspendResult = z.infer<typeof SuspendResult>;
export type RestoreUserResult = z.infer<typeof RestoreUserResult>;
