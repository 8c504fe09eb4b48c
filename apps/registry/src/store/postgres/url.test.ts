import { expect, it } from 'vitest';
import { isPostgresUrl, urlsOfHosts } from './url.js';

it.each<[string, string[]]>([
  ['postgres://u@a/db', ['postgres://u@a/db']],
  ['postgres://u@/db?host=/run/a', ['postgres://u@/db?host=/run/a']],
  [
    'postgres://u:p%40@a,b:5433,[::1]:5434/db?sslmode=verify-full&target_session_attrs=read-write',
    ['a', 'b:5433', '[::1]:5434'].map(
      (host) => `postgres://u:p%40@${host}/db?sslmode=verify-full&target_session_attrs=read-write`,
    ),
  ],
  ['postgresql://a,b/db', ['postgresql://a/db', 'postgresql://b/db']],
  ['postgres://u@/db?host=a,b', ['postgres://u@/db?host=a', 'postgres://u@/db?host=b']],
  [
    'postgres://u@/db?host=%2Fa,%2Fb&port=1,2',
    ['postgres://u@/db?host=%2Fa&port=1', 'postgres://u@/db?host=%2Fb&port=2'],
  ],
])('%s has one URL for each host', (url, urls) => {
  expect(urlsOfHosts(url)).toEqual(urls);
  expect(isPostgresUrl(url)).toBe(true);
});

it('refuses a server that cannot be written, and one wrong host of several', () => {
  expect(() => urlsOfHosts('postgres://a,b/db?target_session_attrs=any')).toThrow('target_session_attrs=any');
  expect(isPostgresUrl('postgres://a,b:port/db')).toBe(false);
});
