import { z } from '@hono/zod-openapi';
import { Time } from './base-model.js';
import { VISIBLE_TEXT } from './token-model.js';

/** How a program gets a token of the user who allows it on a page of the registry (as RFC 8628 does with OAuth). */

/** Characters of a code, without those that look like others (Crockford's Base32): 40 bits. */
export const LOGIN_CODE = /^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/;

const Secret = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'is not the secret of a login request');

export const LoginRequest = z
  .object({
    client: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .regex(VISIBLE_TEXT, 'contains a control character or an invisible one')
      .openapi({
        description: 'What the program says that it is. The page shows it as such',
        example: 'laptop.example.com',
      }),
  })
  .openapi('LoginRequest');

export const PendingLogin = z
  .object({
    code: z.string().openapi({ pattern: LOGIN_CODE.source, example: 'W3KD-8XQ2' }),
    secret: z
      .string()
      .openapi({ description: 'With it, the program asks for the token. It is not a token itself' }),
    page: z.string().openapi({
      description: 'Where the user allows it: a URL, or a path if the registry does not know its URL',
      example: 'https://krm.example.com/login/device?code=W3KD-8XQ2',
    }),
    expiresAt: Time,
    interval: z.number().int().openapi({ description: 'Seconds to wait between two questions', example: 5 }),
    hasUsers: z.boolean().openapi({ description: 'Whether users can sign in without a token' }),
  })
  .openapi('PendingLogin');

export const LoginTokenRequest = z.object({ secret: Secret }).openapi('LoginTokenRequest');

export const LoginResult = z
  .object({
    state: z.enum(['pending', 'approved']),
    token: z.string().optional().openapi({ description: 'The token, once' }),
  })
  .openapi('LoginResult');

export type LoginRequest = z.infer<typeof LoginRequest>;
export type PendingLogin = z.infer<typeof PendingLogin>;
export type LoginTokenRequest = z.infer<typeof LoginTokenRequest>;
export type LoginResult = z.infer<typeof LoginResult>;
