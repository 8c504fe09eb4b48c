/** Where a GitHub, by the issuer of its tokens, has its pages and its API. */

export const GITHUB_ISSUER = 'https://token.actions.githubusercontent.com';

export function githubSite(issuer: string): string | undefined {
  if (issuer === GITHUB_ISSUER || issuer.startsWith(`${GITHUB_ISSUER}/`)) return 'https://github.com';
  const [, residence] = /^https:\/\/token\.actions\.([a-z0-9-]+\.ghe\.com)$/.exec(issuer) ?? [];
  if (residence !== undefined) return `https://${residence}`;
  return /^(https:\/\/[^/]+)\/_services\/token$/.exec(issuer)?.[1];
}

export function githubApi(issuer: string): string | undefined {
  const site = githubSite(issuer);
  if (issuer.endsWith('/_services/token')) return site && `${site}/api/v3`;
  return site?.replace('://', '://api.');
}
