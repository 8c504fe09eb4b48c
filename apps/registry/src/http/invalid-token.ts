/**
 * Returns the challenge (RFC 6750, section 3) of a response to a read whose token counts as none: with another one, the
 * response could have more (RFC 9110, section 11.6.1). A token that may count again in a minute is not invalid: clients
 * keep what they have for it.
 */
export function invalidToken(problem: string, { isAway = false }: { isAway?: boolean } = {}): string {
  const description = problem.replaceAll('"', "'").replaceAll(/[^\x20-\x5b\x5d-\x7e]/g, '?');
  const error = isAway ? 'temporarily_unavailable' : 'invalid_token';
  return `Bearer error="${error}", error_description="${description}"`;
}
