/**
 * A line that is not indented, inside of what is open. go-yaml reads it; YAML 1.2 does not allow it.
 */
export const OUTSIDE_BRACES = 'a line is outside of the open braces';
export const OUTSIDE_BRACKETS = 'a line is outside of the open brackets';
export const OUTSIDE_QUOTES = 'a line is outside of the open quotes';

export function isOutside(reason: string): boolean {
  return [OUTSIDE_BRACES, OUTSIDE_BRACKETS, OUTSIDE_QUOTES].includes(reason);
}
