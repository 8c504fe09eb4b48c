/** What the header `Authorization` of a request has. */
export type Credentials = 'none' | 'malformed' | { secret: string } | { token: string };

/**
 * Reads the header `Authorization`: a registry token as password or as bearer, or a token of `/v2/token`. Empty Basic
 * credentials count as none.
 */
export function readCredentials(header: string | undefined): Credentials {
  if (header === undefined) return 'none';
  const [, scheme = '', value = ''] = /^(\w+) +(\S+) *$/.exec(header) ?? [];
  if (/^bearer$/i.test(scheme)) return value.startsWith('krmhub_') ? { secret: value } : { token: value };
  if (!/^basic$/i.test(scheme)) return 'malformed';
  const text = Buffer.from(value, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon < 0) return 'malformed';
  const password = text.slice(colon + 1);
  return password === '' && colon === 0 ? 'none' : { secret: password };
}
