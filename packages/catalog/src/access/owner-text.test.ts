import { describe, expect, it } from 'vitest';
import { type AccessDocument, NO_ACCESS } from './access-document.js';
import { AccessRules } from './access-rules.js';
import { ownerText } from './owner-text.js';

const document: AccessDocument = {
  ...NO_ACCESS,
  teams: [
    { name: 'kpt', displayName: 'kpt project', members: [] },
    { name: 'plain', displayName: '', members: [] },
  ],
  groups: [{ pattern: '*.kpt.example.com', owner: 'kpt', functions: [] }],
};
const rules = new AccessRules(document, [
  { group: 'example.org', team: 'plain', proof: 'dns' },
  { group: 'example.net', team: 'gone', proof: 'https' },
  { group: 'fn.kpt.example.com', team: 'plain', proof: 'dns', missingSince: '2030-01-02T03:04:05.678Z' },
  { group: 'example.edu', team: 'plain', proof: 'dns', missingSince: '2030-01-02T03:04:05.678Z' },
]);

describe('who a function is from', () => {
  it.each([
    ['fn.kpt.example.com', 'kpt project', 'kpt project (verified by an administrator)'],
    [
      'fn.kpt.example.com',
      'Kpt project',
      'kpt project (verified by an administrator), says it is published by Kpt project',
    ],
    ['fn.kpt.example.com', '', 'kpt project (verified by an administrator)'],
    ['example.org', 'plain', 'plain (verified by DNS)'],
    ['example.net', 'kpt project', 'gone (verified by HTTPS), says it is published by kpt project'],
    ['example.edu', 'plain', 'plain (verified by DNS, proof missing since 2030-01-02)'],
    ['evil.example.net', 'kpt project', 'not verified: says it is published by kpt project'],
    ['evil.example.net', '', 'not verified'],
    [
      'evil.example.net',
      'kpt project (verified by DNS)',
      'not verified: says it is published by kpt project (verified by DNS)',
    ],
  ])('%s that says "%s": %s', (group, publisher, text) => {
    expect(ownerText(rules.groupOwner(group), publisher)).toBe(text);
  });
});
