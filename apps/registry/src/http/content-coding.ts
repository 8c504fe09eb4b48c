/** Content codings in which catalogs are stored, in order of preference. */
export const CODINGS = ['br', 'gzip', 'identity'] as const;
export type Coding = (typeof CODINGS)[number];

/**
 * Returns the coding of `available` that Accept-Encoding prefers (RFC 9110, "Accept-Encoding"); of equals, the
 * smallest. Returns identity if none is acceptable: a readable response is better than an error. The package negotiator
 * prefers the first of equals that the client names, and does not know x-gzip.
 */
export function negotiateCoding(
  acceptEncoding: string | undefined,
  available: readonly Coding[] = CODINGS,
): Coding {
  if (acceptEncoding === undefined) return 'identity';
  const weights = new Map<string, number>();
  for (const item of acceptEncoding.split(',', 50)) {
    const match = /^\s*([\w*-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/i.exec(item);
    if (match === null) continue;
    const name = match[1]!.toLowerCase();
    weights.set(name === 'x-gzip' ? 'gzip' : name, Math.min(Number(match[2] ?? 1), 1));
  }
  const weight = (coding: Coding): number =>
    weights.get(coding) ?? weights.get('*') ?? (coding === 'identity' ? Number.MIN_VALUE : 0);
  const best = available.reduce((a, b) => (weight(b) > weight(a) ? b : a));
  return weight(best) === 0 ? 'identity' : best;
}
