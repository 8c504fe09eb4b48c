import { z } from '@hono/zod-openapi';
import { Problem } from './model.js';
import { HTTP_STATUS, PROBLEM_MEDIA_TYPE } from './problem.js';

const DESCRIPTIONS = {
  'invalid-request': 'A parameter, a header, or the body is invalid',
  'invalid-document':
    'The document has errors (see `diagnostics`). With the code `untrusted`: a signature is missing or not trusted',
  unauthorized: 'The token is missing, malformed, unknown, revoked, or expired',
  forbidden: 'The token lacks the scope or the group',
  'not-found': 'No object with this name exists',
  gone: 'The object was taken down. `takedowns` says when, by whom, and why',
  conflict: 'Another object already uses this name',
  'too-large': 'The body is larger than the limit',
  'unsupported-media-type': 'The media type of the body is not supported',
  'rate-limited': 'Too many requests. Retry after the number of seconds in Retry-After',
  unavailable: 'Temporarily unavailable. Retry after the number of seconds in Retry-After',
} as const;

type ErrorResponseCode = keyof typeof DESCRIPTIONS;

const problemContent = { [PROBLEM_MEDIA_TYPE]: { schema: Problem } };

/** Returns the documented error responses of an operation. `default` covers all others. */
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

/** Returns the documented error responses of a write, which needs a token. */
export const writeErrors = (...codes: ErrorResponseCode[]) =>
  errorResponses('invalid-request', 'unauthorized', 'forbidden', 'unavailable', ...codes);

export const json = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { 'application/json': { schema } },
});
export const text = (description: string, ...mediaTypes: string[]) => ({
  description,
  content: Object.fromEntries(
    // JSON and YAML documents have schemas of their own; here they are plain objects.
    mediaTypes.map((mediaType) => [
      mediaType,
      { schema: mediaType.startsWith('text/') ? z.string() : z.looseObject({}) },
    ]),
  ),
});

export const bearer = { security: [{ bearer: [] }] };
export const notModified = { 304: { description: 'Not modified (If-None-Match)' } };
