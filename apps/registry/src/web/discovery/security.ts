import type { Site } from '../site.js';

export const SECURITY_TXT = '/.well-known/security.txt';
const DAY_MILLISECONDS = 86_400_000;
/** RFC 9116 recommends less than a year. A registry that runs has contacts that its operator confirms. */
const VALID_DAYS = 90;

/** Returns security.txt (RFC 9116). It changes once a day. */
export function securityText(
  { publicUrl, whole }: Site,
  { contacts, now }: { contacts: readonly string[]; now: Date },
): string {
  const day = now.getTime() - (now.getTime() % DAY_MILLISECONDS);
  return [
    ...contacts.map((uri) => `Contact: ${uri}\n`),
    `Expires: ${new Date(day + VALID_DAYS * DAY_MILLISECONDS).toISOString()}\n`,
    publicUrl?.startsWith('https:') ? `Canonical: ${whole(SECURITY_TXT)}\n` : '',
  ].join('');
}
