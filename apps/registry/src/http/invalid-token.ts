/**
 * Returns the challenge (RFC 6750, section 3) of a response to a read whose token counts as none: with another one, the
 * response could have more (RFC 9110, section 11.6.1).
 */
export function invalidToken(problem: string): string {
  const description = problem.replaceAll('"', "'").replaceAll(/[^\x20-\x5b\x5d-\x7e]/g, '?');
  return `Bearer error="invalid_token", error_description="${description}"`;
}
