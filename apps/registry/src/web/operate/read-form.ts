import type { z } from '@hono/zod-openapi';
import { KrmhubError } from '@krmhub/schema';
import type { RegistryContext } from '../../http/context.js';
import { checkParameters } from '../../http/endpoint.js';
import { bodyMediaType, readBody } from '../../http/request-body.js';
import { SERVER_LIMITS } from '../../limits.js';

const MEDIA_TYPE = 'application/x-www-form-urlencoded';

/** Reads the fields of a form by name, with the line ends of files. */
export async function readForm(
  c: RegistryContext,
  maxBytes: number = SERVER_LIMITS.maxFormBytes,
): Promise<URLSearchParams> {
  const mediaType = bodyMediaType(c);
  if (mediaType !== MEDIA_TYPE) {
    throw new KrmhubError(
      'unsupported-media-type',
      `unsupported media type of a form: ${mediaType ?? '(none)'}`,
      {
        hint: `Send it as ${MEDIA_TYPE}.`,
      },
    );
  }
  const text = new TextDecoder().decode(await readBody(c, maxBytes));
  const fields = text.split('&', SERVER_LIMITS.maxFormFields + 1).length;
  if (fields > SERVER_LIMITS.maxFormFields) {
    throw new KrmhubError('invalid-request', `the form has more than ${SERVER_LIMITS.maxFormFields} fields`);
  }
  const form = new URLSearchParams();
  // Browsers send every line end of a text area as CR LF.
  for (const [name, value] of new URLSearchParams(text)) form.append(name, value.replaceAll('\r\n', '\n'));
  return form;
}

/** Returns the fields of the schema; throws `invalid-request` with all problems. */
export function checkForm<Schema extends z.ZodObject>(
  form: URLSearchParams,
  schema: Schema,
): z.output<Schema> {
  const problems: string[] = [];
  const values = checkParameters(schema, form, 'field', problems);
  if (problems.length === 0) return values as z.output<Schema>;
  throw new KrmhubError('invalid-request', problems.join('; '), {
    hint: 'Reload the page, and submit the form again.',
  });
}
