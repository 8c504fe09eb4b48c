import { z } from '@hono/zod-openapi';
import { Problem } from './model.js';
import { HTTP_STATUS, PROBLEM_MEDIA_TYPE } from './problem.js';

const DESCRIPTIONS = {
  'invalid-request': 'A parameter, a header or the body is not as described',
  'invalid-document':
    'The document has errors, which `diagnostics` names; with the code `untrusted`, signatures are not what they have to be',
  unauthorized: 'The token is missing, malformed, unknown, revoked or expired',
  forbidden: 'The token lacks the scope or the group',
  'not-found': 'There is nothing of this name',
  gone: 'It was taken down; `takedowns` says when, by whom and why',
  conflict: 'The same name is taken by something else',
  'too-large': 'The body is larger than the limit',
  'unsupported-media-type': 'The body is of another media type',
  'rate-limited': 'Too many requests; try again after the seconds that Retry-After names',
  unavailable: 'Try again after the seconds that Retry-After names',
} as const;

type ErrorResponseCode = keyof typeof DESCRIPTIONS;

const problemContent = { [PROBLEM_MEDIA_TYPE]: { schema: Problem } };

/** The error answers that an operation is known for; each may also fail in other ways. */
export function errorResponses(...codes: ErrorResponseCode[]) {
  const all = { ...DESCRIPTIONS };
  return {
    ...Object.fromEntries(
      [...codes, 'rate-limited' as const].map((code) => [
        HTTP_STATUS[code],
        { description: all[code], content: problemContent },
      ]),
    ),
    default: { description: 'Any other failure', content: problemContent },
  };
}

export const json = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { 'application/json': { schema } },
});
export const text = (description: string, ...mediaTypes: string[]) => ({
  description,
  content: Object.fromEntries(
    // Of YAML and JSON a client's schema judges what the text says.
    mediaTypes.map((mediaType) => [
      mediaType,
      { schema: mediaType.startsWith('text/') ? z.string() : z.looseObject({}) },
    ]),
  ),
});

export const bearer = { security: [{ bearer: [] }] };
export const notModified = { 304: { description: 'The client has it already (If-None-Match)' } };
