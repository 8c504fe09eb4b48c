/**
 * Parses a URL; undefined if it is not valid. Replaces `URL.canParse`: in Node.js 20 that returns false for every URL with
 * characters outside of ASCII after some thousand calls.
 */
export function parseUrl(text: string, base?: URL | string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
