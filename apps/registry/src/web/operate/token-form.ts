import { z } from '@hono/zod-openapi';
import { CreateTokenRequest } from '@krmhub/api/model';
import { isLimitedBy } from '@krmhub/api/token-scopes';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { InvalidTokenRequest } from '../../http/auth/issue-token.js';
import type { FieldProblems } from './field.js';

/** Values of the form, as typed. */
export interface TokenInput {
  name: string;
  scopes: readonly string[];
  groups: string;
  repositories: string;
  team: string;
  expiresInDays: string;
  /** Whether it is not a token of the signed-in user. */
  isRobot: boolean;
}
export type TokenField = Exclude<keyof TokenInput, 'isRobot'>;

/** Returns the narrowest token: no scope, no group, no repository. */
export function emptyToken(days: number): TokenInput {
  return {
    name: '',
    scopes: [],
    groups: '',
    repositories: '',
    team: '',
    expiresInDays: String(days),
    isRobot: false,
  };
}

export const TokenForm = z.object({
  name: z.string('is missing'),
  scopes: z.array(z.string()).optional(),
  groups: z.string('is missing'),
  repositories: z.string('is missing'),
  team: z.string('is missing').default(''),
  expiresInDays: z.string('is missing'),
  robot: z.literal('on', 'is not on').optional(),
});

type TokenProblems = FieldProblems<TokenField>;

const MESSAGES: Partial<Record<TokenField, string>> = {
  scopes: 'choose at least one scope',
  groups: 'enter the groups of the functions, or `*` for every group',
  repositories: 'enter the repositories, or `*` for every repository',
  expiresInDays: 'enter a whole number from 1 to 3650',
};

/** Returns the request to the HTTP API, or what is wrong with each field. */
export function wantedToken(
  typed: TokenInput,
): { wanted: z.output<typeof CreateTokenRequest> } | { problems: TokenProblems } {
  const { name, scopes } = typed;
  // The rights of the team bound those of the token.
  const team = typed.team.trim() || undefined;
  const result = CreateTokenRequest.safeParse({
    name: name.trim(),
    scopes,
    groups: globs(typed.groups, team === undefined && isLimitedBy(scopes, 'groups')),
    repositories: globs(typed.repositories, team === undefined && isLimitedBy(scopes, 'repositories')),
    ...defined({ team, robot: typed.isRobot || undefined }),
    expiresInDays: /^\d{1,9}$/.test(typed.expiresInDays.trim()) ? Number(typed.expiresInDays) : Number.NaN,
  });
  if (result.success) return { wanted: result.data };
  const problems: TokenProblems = {};
  for (const issue of result.error.issues) {
    const { path, message } = issue;
    const field = path[0] as TokenField;
    const isLong = issue.code === 'too_big' && issue.origin === 'array';
    const usual = isLong ? message : MESSAGES[field];
    problems[field] ??= { message: usual ?? (name.trim() === '' ? 'enter a name' : message) };
  }
  return { problems };
}

/** An empty field means every name if no chosen scope uses it, as in the HTTP API. */
function globs(text: string, isUsed: boolean): string[] {
  const given = text.split(/[\s,]+/).filter(Boolean);
  return given.length === 0 && !isUsed ? ['*'] : given;
}

/** Returns the problem of the field that the registry refused; throws any other error. */
export function refusedField(error: unknown): TokenProblems {
  if (error instanceof InvalidTokenRequest)
    return { [error.field]: { message: error.message, hint: error.hint } };
  if (error instanceof KrmhubError && error.code === 'invalid-request')
    return { name: { message: error.message, hint: error.hint } };
  throw error;
}
