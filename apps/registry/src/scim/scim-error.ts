import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RegistryContext } from '../http/context.js';
import { failureResponse, type ProblemDeps } from '../http/problem-response.js';

export const SCIM_MEDIA_TYPE = 'application/scim+json';
const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** RFC 7644, section 3.12, table 9. */
type ScimType =
  | 'invalidFilter'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';

/** A request that is wrong in a way for which SCIM has a word. */
export class ScimError extends KrmhubError {
  constructor(
    readonly scimType: ScimType,
    message: string,
    hint?: string,
  ) {
    super('invalid-request', message, defined({ hint }));
  }
}

/** Returns any failure as SCIM has it (RFC 7644, section 3.12). */
export function scimErrorResponse(c: RegistryContext, failure: unknown, deps: ProblemDeps): Response {
  const { problem, status, headers } = failureResponse(c, failure, deps);
  const { detail, hint, code } = problem;
  const body = {
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...defined({ scimType: scimType(failure, code) }),
    detail: hint === undefined ? detail : `${detail}. ${hint}`,
  };
  return c.body(JSON.stringify(body), status, { ...headers, 'Content-Type': SCIM_MEDIA_TYPE });
}

function scimType(failure: unknown, code: string): ScimType | undefined {
  if (failure instanceof ScimError) return failure.scimType;
  if (code === 'conflict') return 'uniqueness';
  return code === 'invalid-request' ? 'invalidValue' : undefined;
}
