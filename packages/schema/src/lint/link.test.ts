import { describe, expect, it } from 'vitest';
import { checkLink, checkPossibleLink } from './link.js';
import type { Report } from './rule.js';

function codes(check: typeof checkLink, text: string): string[] {
  const found: string[] = [];
  const report: Report = (code) => found.push(code);
  check(text, [], report);
  return found;
}

describe('links', () => {
  it.each([
    'https://acme.example/v1/README.md',
    'http://acme.example',
    'oci://ghcr.io/acme/docs:v1.2.3',
    'git::https://github.com/acme/fn.git//docs?ref=v1.2.3',
    'ssh://git@github.com/acme/fn.git',
    'https://github.com/acme/fn/tree/v1.2.3/examples',
    'https://github.com/acme/main/blob/0123abc/maintenance.md',
    'https://github.com/acme/fn/tree/mainline/x',
    'https://acme.example/a@b',
  ])('%s is good', (text) => expect(codes(checkLink, text)).toEqual([]));

  it.each([
    ['acme.example/README.md', 'link/form'],
    ['localhost:8080/x', 'link/form'],
    ['./README.md', 'link/form'],
    ['https:acme.example', 'link/form'],
    ['https://', 'link/form'],
    ['https://a b', 'link/form'],
    ['git@github.com:acme/fn.git', 'link/form'],
    ['javascript:alert(1)', 'link/scheme'],
    ['JaVaScRiPt://x%0aalert(1)', 'link/scheme'],
    [' java\tscript:alert(1)', 'link/scheme'],
    ['data:text/html,x', 'link/scheme'],
    ['file:///etc/passwd', 'link/scheme'],
    ['ftp://acme.example/x', 'link/scheme'],
    ['https://user:secret@acme.example/', 'link/credentials'],
    ['https://token@acme.example/', 'link/credentials'],
    ['https://github.com/acme/fn/tree/main', 'link/moving-branch'],
    ['https://github.com/acme/fn/blob/master/README.md', 'link/moving-branch'],
    ['https://gitlab.com/acme/fn/-/blob/main/README.md', 'link/moving-branch'],
    ['https://raw.githubusercontent.com/acme/fn/main/README.md', 'link/moving-branch'],
    ['https://raw.githubusercontent.com/acme/fn/refs/heads/next/README.md', 'link/moving-branch'],
    ['git::https://github.com/acme/fn.git?ref=main', 'link/moving-branch'],
  ])('%s is %s', (text, code) => expect(codes(checkLink, text)).toEqual([code]));

  it('accepts any publisher and maintainer except harmful links', () => {
    for (const text of [
      'Acme',
      'Data: Acme',
      'me@acme.example',
      'https://acme.example/tree/main',
      'About: us',
    ]) {
      expect(codes(checkPossibleLink, text), text).toEqual([]);
    }
    for (const text of [
      'javascript:alert(1)',
      'data:text/html,<b>',
      'java\nscript:x',
      'https://a:b@acme.example',
    ]) {
      expect(codes(checkPossibleLink, text), text).toHaveLength(1);
    }
  });
});
