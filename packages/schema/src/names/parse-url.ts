/**
 * Parses a URL; undefined if it is not valid. Replaces `URL.canParse`, which in Node.js 20 returns false for all URLs
 * with non-ASCII characters after some thousand calls.
 */
export function parseUrl(text: string, base?: URL | string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
