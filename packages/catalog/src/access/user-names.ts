/** Texts about users, which identity providers and directories send. */

/** Lengths in UTF-16 code units. */
export const USER_LIMITS = {
  /** OpenID Connect Core 1.0, section 2. */
  maxSubjectLength: 255,
  maxNameLength: 100,
  /** RFC 5321. */
  maxEmailLength: 254,
  /** Of the name of a group. */
  maxGroupLength: 256,
} as const;

/** Controls, and what changes the direction of text or cannot be seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Reports whether a text has characters that cannot be seen. */
export function hasUnseen(text: string): boolean {
  return UNSEEN.test(text);
}

/** Reports whether a value is a text that can be seen. */
export function isVisibleText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxLength && !hasUnseen(value);
}

/** Returns the first of several names of a user that has something to see, without the rest. */
export function shownName(names: readonly string[]): string | undefined {
  return names
    .map((text) => text.replaceAll(new RegExp(UNSEEN, 'gu'), ' ').replaceAll(/\s+/gu, ' ').trim())
    .map((text) => [...text].slice(0, USER_LIMITS.maxNameLength).join(''))
    .find((text) => text !== '');
}
