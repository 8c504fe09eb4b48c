import { describe, expect, it } from 'vitest';
import { compareTrust } from './compare-policies.js';
import { groupDangers, patternDangers, rangeDangers } from './dangers.js';
import { readSigningPolicies } from './read-signing-policies.js';
import { compilePattern, type SigningPolicy, type TrustedSigner } from './signing-policy.js';

const warnings = (pattern: string) => {
  const compiled = compilePattern(pattern);
  return patternDangers(pattern, (subject) => compiled.matches(subject));
};

const WORKFLOW = '\\.github/workflows/release\\.yaml';
const REPOSITORY = `^https://github\\.com/example/functions/${WORKFLOW}`;

describe('a subject pattern', () => {
  it.each([
    ['^.*$', 'every subject of its issuer, for example https://github.com/attacker/functions/'],
    ['^(?i:.+)$', 'every subject of its issuer'],
    ['^(?:ci@example\\.com|.*)$', 'every subject of its issuer'],
    ['^https://github\\.com.*$', 'every subject of its issuer'],
    [
      '^https://github\\.com/example.*$',
      'repositories of other owners, for example https://github.com/exampleattacker/',
    ],
    [
      `^https://github\\.com/[^/]+/functions/${WORKFLOW}@refs/tags/v1$`,
      'https://github.com/attacker/functions/',
    ],
    [
      `^https://github\\.com/[a-z-]{1,20}/functions/${WORKFLOW}@refs/tags/v1$`,
      'repositories of other owners',
    ],
    [`^https://[^/]+/example/functions/${WORKFLOW}@refs/tags/v1$`, 'subjects on other hosts'],
    ['^https://github\\.com/example/.*$', 'other repositories of the owner'],
    [
      `^https://github\\.com/example/functions.*/${WORKFLOW}@refs/tags/v1$`,
      'https://github.com/example/functionsattacker/',
    ],
    [
      `${REPOSITORY}@.*$`,
      'other branches and pull requests, for example https://github.com/example/functions/',
    ],
    [`${REPOSITORY}@refs/(?:tags|heads)/.*$`, '@refs/heads/attacker'],
    [`${REPOSITORY}@refs/heads/[a-z]+$`, '@refs/heads/attacker'],
    [`${REPOSITORY}@refs/pull/.*$`, '@refs/pull/1/merge'],
    // A branch can be named `attacker@refs/heads/main`.
    ['^https://github\\.com/example/functions/.*@refs/heads/main$', '@refs/heads/attacker@refs/heads/main'],
    [
      '^[^@]+@refs/heads/main$',
      'repositories of other owners, for example https://github.com/attacker/functions/',
    ],
    ['^.*@refs/tags/.*$', 'https://github.com/attacker/functions/'],
    ['^[^@]+@refs/tags/v[0-9.]+$', '.github/workflows/release.yaml@refs/tags/v'],
    ['^[^@]+@refs/(?:heads/main|tags/.*)$', 'repositories of other owners'],
    [
      '^https://[^@]+@refs/tags/v\\d+\\.\\d+$',
      'subjects on other hosts, for example https://attacker.example/',
    ],
    ['^https://github\\.com/[^@]+@refs/heads/main$', 'https://github.com/attacker/functions/'],
    ['^https://github\\.com/[^@]+@refs/tags/.*$', 'https://github.com/attacker/functions/'],
    ['^https://gitlab\\.com/[^@]+@refs/tags/.*$', 'https://gitlab.com/attacker/functions/'],
    ['^[^@]+/release\\.yaml@refs/tags/v1$', 'https://github.com/attacker/functions/'],
    [
      '^https://github\\.com/example/[^@]+@refs/heads/main$',
      'other repositories of the owner, for example https://github.com/example/attacker/',
    ],
    ['^https://github\\.com/example/[^@]+@refs/tags/.*$', 'https://github.com/example/attacker/'],
    ['^[^@]+@[^@]+\\.iam\\.gserviceaccount\\.com$', '@attacker.iam.gserviceaccount.com'],
    ['^ci@example.*$', 'addresses in other domains, for example ci@example'],
    ['^.*example\\.com$', 'attacker@attacker-example.com'],
    ['^ci@[[:alpha:].]+$', 'addresses in other domains'],
    [
      '^https://github\\.com/example/functions(/\\.github/workflows/.*)?.*$',
      'other repositories of the owner',
    ],
    [
      '^https://github\\.com/example/functions(?:/.*){0,1}[^@]*@refs/heads/main$',
      'example/functionsattacker/',
    ],
    ['^https://github\\.com/example(/functions/.*)*.*$', 'repositories of other owners'],
    ['^\\w+@gmail\\.com$', 'addresses that everyone can register, for example attacker@gmail.com'],
    ['^ci-.*@(?:example\\.com|outlook\\.com)$', 'ci-attacker@outlook.com'],
    ['^[a-z.]+@yahoo\\.co\\.uk$', 'attacker@yahoo.co.uk'],
    ['^[^@]+@[^@]+\\.co\\.uk$', 'addresses in other domains'],
    ['^ci@[a-z]+\\.com\\.au$', 'ci@attacker.com.au'],
    [`^https://[^/]+\\.github\\.io/team/functions/${WORKFLOW}@refs/tags/v1$`, 'subjects on other hosts'],
  ])('%s is warned of, with what else it trusts', (pattern, text) => {
    const [danger] = warnings(pattern);
    expect(danger).toMatchObject({ code: 'policy/broad-pattern' });
    expect(danger!.message).toContain(text);
    const example = danger!.message.split('for example ')[1]!;
    expect(compilePattern(pattern).matches(example)).toBe(true);
  });

  it.each([
    [`^https://github.com/example/functions/${WORKFLOW}@refs/heads/main$`, 'https://github-com/example/'],
    ['^ci@mail.example\\.com$', 'ci@mail-example.com'],
    ['^(?:a@example\\.com|ci@mail.example\\.com)$', 'ci@mail-example.com'],
  ])('%s is warned of its dot without a backslash', (pattern, example) => {
    expect(warnings(pattern)).toMatchObject([
      { code: 'policy/unescaped-dot', message: expect.stringContaining(example) },
    ]);
  });

  it.each([
    `${REPOSITORY}@refs/heads/main$`,
    `${REPOSITORY}@refs/tags/v[0-9.]+$`,
    `${REPOSITORY}@refs/tags/.*$`,
    `${REPOSITORY}@refs/heads/(?:main|release-.*)$`,
    '^https://gitlab\\.com/group/project//\\.gitlab-ci\\.yml@refs/tags/v\\d+$',
    '^https://[^/]+\\.example\\.com/team/functions/release\\.yaml@refs/tags/v1$',
    `^https://github\\.com/example/functions/[^@]+@refs/heads/main$`,
    '^[^@]+@example\\.com$',
    '^[^@]+@example\\.co\\.uk$',
    '^jane\\.doe@gmail\\.com$',
    '^[^@]+@gmail\\.example\\.com$',
    `^https://github\\.com/example/functions(?:-next)?/${WORKFLOW}@refs/tags/v[0-9.]+$`,
    '^ci@project\\.iam\\.gserviceaccount\\.com$',
    '^[^@]+@project\\.iam\\.gserviceaccount\\.com$',
    '^.*@example\\.com$',
    '^ci-[0-9]+$',
    '^[.]$',
    '^\\Qa.b\\E$',
    '^\\pL{2}$',
    '^a{2,3}[^]]b{,1}$',
  ])('%s is not warned of', (pattern) => {
    expect(warnings(pattern)).toEqual([]);
  });

  it('that is hostile is checked in bounded time', () => {
    const begun = process.cpuUsage();
    for (const pattern of [
      `^${'(a|b|.*)'.repeat(30)}$`,
      `^${'(?:'.repeat(60)}.*${')*'.repeat(60)}$`,
      `^${'(.{1,9}|'.repeat(20)}x${')'.repeat(20)}$`,
      `^((((a{1,9}){1,9}){1,9})|.*){1,2}$`,
    ]) {
      patternDangers(pattern, () => false);
    }
    expect(process.cpuUsage(begun).user).toBeLessThan(10_000_000);
  });
});

describe('a policy', () => {
  const read = (spec: string) =>
    readSigningPolicies(
      new TextEncoder().encode(
        `apiVersion: krmhub.dev/v1alpha1\nkind: SigningPolicy\nmetadata: {name: team}\nspec:\n  ${spec}\n`,
      ),
      'policies.yaml',
    );
  const signed = (signer: string, rest = '') => read(`{groups: [a.b], signers: [${signer}]${rest}}`);
  const issuer = 'issuer: "https://token.example.com"';

  it.each([
    ['policy/broad-pattern', signed(`{${issuer}, subjectPattern: "^.*$"}`)],
    ['policy/unescaped-dot', signed(`{${issuer}, subjectPattern: "^ci@example.com$"}`)],
    ['policy/literal-wildcard', signed('{issuer: "*", subject: a}')],
    ['policy/literal-wildcard', signed(`{${issuer}, subject: "https://github.com/example/*"}`)],
    ['policy/issuer-url', signed('{issuer: token.example.com, subject: a}')],
    ['policy/issuer-url', signed('{issuer: "https:", subject: a}')],
    ['policy/issuer-url', signed('{issuer: accounts, subject: a}')],
    ['policy/insecure-issuer', signed('{issuer: "http://token.example.com", subject: a}')],
    ['policy/empty-range', signed(`{${issuer}, subject: a}`, ', releases: ">=2.0.0 <1.0.0"')],
    ['policy/broad-group', read(`{groups: ["*example.com"], signers: [{${issuer}, subject: a}]}`)],
  ])('that is dangerous is read with the warning %s', (code, { policies, diagnostics }) => {
    expect(policies).toHaveLength(1);
    expect(diagnostics).toMatchObject([{ code, severity: 'warning' }]);
    expect([diagnostics[0]!.hint, diagnostics[0]!.range]).not.toContain(undefined);
  });

  it('can revoke with a broad pattern without a warning', () => {
    expect(signed(`{${issuer}, subjectPattern: "^.*$", revoked: moved}`).diagnostics).toEqual([]);
  });

  it.each([
    ['neither `key` nor `issuer`', '{validUntil: "2030-01-01T00:00:00Z"}'],
    ['`subject` requires `issuer`', '{subject: a}'],
    ['`subjectPattern` requires `issuer`', '{subjectPattern: ^a$}'],
    ['`issuer` requires `subject`', '{issuer: a}'],
    ['`subject` cannot be combined with `subjectPattern`', '{issuer: a, subject: b, subjectPattern: ^a$}'],
    ['`key` cannot be combined with `issuer`', '{key: x, issuer: a}'],
    ['`key` cannot be combined with `subject`', '{key: x, subject: a}'],
    ['expected text, found empty', '{key: }'],
  ])('without one signer says: %s', (message, signer) => {
    const { policies, diagnostics } = signed(signer);
    expect(policies).toBeUndefined();
    expect(diagnostics.map((one) => one.message).join()).toContain(message);
  });
});

it.each([
  ['*example.com', 'attackerexample.com'],
  ['example*', 'exampleattacker'],
  ['fn.example.*', 'fn.example.attacker'],
  ['*.com', 'attacker.com'],
  ['fn-*.com', 'fn-attacker.com'],
  ['*.*.io', 'attacker.attacker.io'],
  ['*.co.uk', 'attacker.co.uk'],
  ['*.fn.*.com.au', 'attacker.fn.attacker.com.au'],
  ['*.github.io', 'attacker.github.io'],
  ['*.internal', 'attacker.internal'],
])('the group %s is warned of, since it covers %s', (glob, other) => {
  expect(groupDangers(glob)).toMatchObject([{ message: expect.stringContaining(other) }]);
});

it.each(['*', 'example.com', '*.example.com', 'fn-*.example.com', '*.example.co.uk', 'team.github.io'])(
  'the group %s is not warned of',
  (glob) => {
    expect(groupDangers(glob)).toEqual([]);
  },
);

it.each(['>2.0.0 <1.0.0', '<0.0.0-0', '>=1.0.0 <1.0.0', '^1.2.0 <1.0.0'])('no release is in %s', (range) => {
  expect(rangeDangers(range)).toMatchObject([{ code: 'policy/empty-range' }]);
});

it.each([
  '*',
  '>1.0.0 <1.0.1',
  '1.x',
  '>2.0.0 <1.0.0 || 3',
  '<0.0.0',
  '1.0.0-rc.1',
  '>1.0.0-rc.1 <1.0.0-rc.2',
])('a release is in %s', (range) => {
  expect(rangeDangers(range)).toEqual([]);
});

describe('two sets of policies', () => {
  const policy = (
    groups: string[],
    signers: TrustedSigner[],
    more: Partial<SigningPolicy> = {},
  ): SigningPolicy => ({
    name: 'team',
    groups,
    signers,
    ...more,
  });
  const [issuer, CI, OTHER] = ['https://i', 'ci@a.b (https://i)', 'other@a.b (https://i)'];
  const ci: TrustedSigner = { issuer, subject: 'ci@a.b' };
  const other: TrustedSigner = { issuer, subject: 'other@a.b' };

  it.each<[string, SigningPolicy[], SigningPolicy[], object[]]>([
    ['are equal', [policy(['a.b'], [ci])], [policy(['a.b'], [ci], { name: 'renamed' })], []],
    [
      'cover a group for the first time',
      [],
      [policy(['a.b'], [ci])],
      [{ group: 'a.b', signatures: 'needed', trusted: [CI], distrusted: [] }],
    ],
    [
      'leave a group',
      [policy(['a.b'], [ci])],
      [],
      [{ group: 'a.b', signatures: 'not needed', trusted: [], distrusted: [CI] }],
    ],
    [
      'exchange a signer',
      [policy(['a.b', 'c.d'], [ci])],
      [policy(['a.b'], [other]), policy(['c.d'], [ci])],
      [{ group: 'a.b', trusted: [OTHER], distrusted: [CI] }],
    ],
    [
      'trust a signer in fewer groups',
      [policy(['*.b'], [ci])],
      [policy(['a.b'], [ci])],
      [{ group: '*.b', signatures: 'not needed', trusted: [], distrusted: [CI] }],
    ],
    [
      'trust a signer in more groups',
      [policy(['a.b'], [ci])],
      [policy(['*.b'], [ci])],
      [{ group: '*.b', signatures: 'needed', trusted: [CI], distrusted: [] }],
    ],
    [
      'limit a signer',
      [policy(['a.b'], [ci])],
      [policy(['a.b'], [{ ...ci, validUntil: '2030-01-01T00:00:00.000Z' }], { releases: '<2.0.0' })],
      [
        {
          group: 'a.b',
          trusted: [`${CI}, releases <2.0.0, until 2030-01-01T00:00:00.000Z`],
          distrusted: [CI],
        },
      ],
    ],
    [
      'revoke a signer in another group',
      [policy(['a.b'], [ci, other])],
      [policy(['a.b'], [ci, other]), policy(['c.d'], [{ ...ci, revoked: 'stolen' }, other])],
      [
        { group: 'a.b', trusted: [], distrusted: [CI] },
        { group: 'c.d', signatures: 'needed', trusted: [OTHER], distrusted: [] },
      ],
    ],
    [
      'let another signer report tests only',
      [policy(['a.b'], [ci])],
      [policy(['a.b'], [ci], { testers: [other, { ...other, subject: 'c', revoked: 'stolen' }] })],
      [{ group: 'a.b', trusted: [`${OTHER}, for test reports only`], distrusted: [] }],
    ],
    [
      'revoke one subject of a pattern',
      [policy(['a.b'], [{ issuer, subjectPattern: '^[a-z]+@a\\.b$' }])],
      [
        policy(
          ['a.b'],
          [
            { issuer, subjectPattern: '^[a-z]+@a\\.b$' },
            { ...ci, revoked: 'stolen' },
          ],
        ),
      ],
      [{ group: 'a.b', trusted: [], distrusted: [CI] }],
    ],
  ])('that %s list the added and removed signers', (_, before, after, expected) => {
    expect(compareTrust(before, after)).toEqual(expected);
  });
});
