import { describe, expect, it } from 'vitest';
import { readUserClaims } from './read-user-claims.js';

const PROVIDER = {
  name: 'Test',
  issuer: 'https://sso.example.com',
  groupsClaim: 'groups',
  subjectClaim: 'sub',
};

const read = (claims: object, more: Partial<typeof PROVIDER> = {}) =>
  readUserClaims(JSON.parse(JSON.stringify(claims)), { ...PROVIDER, ...more });

function refusal(claims: object, more: Partial<typeof PROVIDER> = {}): string {
  try {
    read(claims, more);
  } catch (error) {
    const { code, message, hint } = error as { code: string; message: string; hint: string };
    return `${code}: ${message}. ${hint}`;
  }
  throw new Error('accepted');
}

describe('the subject', () => {
  it('is the claim that the operator chose, and nothing else', () => {
    const claims = { sub: 'pairwise', oid: 'object', email: 'a@example.com', preferred_username: 'alice' };
    expect(read(claims).subject).toBe('pairwise');
    expect(read(claims, { subjectClaim: 'oid' }).subject).toBe('object');
    expect(refusal(claims, { subjectClaim: 'uid' })).toMatch(
      /the claim "uid".* is missing.*KRMHUB_OIDC_SUBJECT_CLAIM/,
    );
  });

  it.each([
    [7, 'is of the type number'],
    [null, 'is null'],
    [{ id: 'x' }, 'is of the type object'],
    [['x'], 'is a list'],
    ['', 'is empty'],
    ['x'.repeat(256), 'has 256 characters'],
    ['alice\n', 'has control characters'],
    ['alice\u0000', 'has control characters'],
    ['a\u202elice', 'has control characters'],
    ['a\u200blice', 'has control characters'],
    ['\ud800', 'has control characters'],
  ])('is not %j', (sub, message) => {
    expect(refusal({ sub })).toContain(message);
  });

  it.each(['constructor', '__proto__', 'toString'])('is no inherited property: %s', (subjectClaim) => {
    expect(refusal({ sub: 'alice' }, { subjectClaim })).toContain('is missing');
  });
});

describe('the name', () => {
  it.each([
    [{ name: 'Alice Example', email: 'a@example.com' }, 'Alice Example'],
    [{ name: '', preferred_username: 'alice' }, 'alice'],
    [{ name: 7, email: 'a@example.com' }, 'a@example.com'],
    [{ name: '\u202e\u0000' }, 'sub-1'],
    [{ name: ' Alice\r\n\u202eExample ' }, 'Alice Example'],
    [{ name: 'x'.repeat(5_000) }, 'x'.repeat(100)],
    [{ name: '😀'.repeat(200) }, '😀'.repeat(100)],
    [{}, 'sub-1'],
  ])('of %j can be shown', (claims, name) => {
    expect(read({ sub: 'sub-1', ...claims }).name).toBe(name);
  });

  it.each([7, '', 'a'.repeat(255), 'a@example.com\nBcc: x', ['a@example.com']])(
    'has no e-mail address %j',
    (email) => {
      expect(read({ sub: 'x', email }).email).toBeUndefined();
    },
  );
});

describe('groups', () => {
  it.each([
    [{}, []],
    [{ groups: null }, []],
    [{ groups: [] }, []],
    [{ groups: 'admins' }, ['admins']],
    [{ groups: 'admins,others' }, ['admins,others']],
    [{ groups: ['b', 'a', 'b'] }, ['a', 'b']],
    [{ groups: ['Grüße an alle'] }, ['Grüße an alle']],
    // It is about another claim.
    [{ groups: ['a'], _claim_names: { roles: 'src1' } }, ['a']],
  ])('of %j are read', (claims, groups) => {
    expect(read({ sub: 'x', ...claims }).groups).toEqual(groups);
  });

  it.each([
    [7, 'is of the type number'],
    [{ admins: true }, 'is of the type object'],
    ['', 'has a value 1 that is empty'],
    [[7], 'has a value 1 that is of the type number'],
    [['a', { name: 'b' }], 'has a value 2 that is of the type object'],
    [['a', ''], 'has a value 2 that is empty'],
    [['a\nb'], 'has control characters'],
    [['x'.repeat(257)], 'has 257 characters'],
    [Array.from({ length: 1_001 }, (_, index) => `g${index}`), 'has 1001 groups; the limit is 1000'],
  ])('%j are refused', (groups, message) => {
    expect(refusal({ sub: 'x', groups })).toContain(message);
    expect(refusal({ sub: 'x', groups })).toContain('KRMHUB_OIDC_GROUPS_CLAIM');
  });

  it.each([{ _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } }, { hasgroups: true }])(
    'that did not fit are an error, not none: %j',
    (claims) => {
      const said = refusal({ sub: 'x', ...claims });
      expect(said).toMatch(/^unauthorized: .*so many groups.*assigned to this application.*roles/);
      expect(read({ sub: 'x', roles: ['r'], ...claims }, { groupsClaim: 'roles' }).groups).toEqual(['r']);
    },
  );

  it('have the claim with a URL as its name', () => {
    const groupsClaim = 'https://example.com/groups';
    expect(read({ sub: 'x', [groupsClaim]: ['a'] }, { groupsClaim }).groups).toEqual(['a']);
  });
});
