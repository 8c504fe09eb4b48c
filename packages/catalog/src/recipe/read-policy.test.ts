import { generateKeyPairSync } from 'node:crypto';
import { readPublicKey } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { evaluateSignatures } from '../policy/evaluate-signatures.js';
import { POLICY_LIMITS } from '../policy/signing-policy.js';
import { readRecipe } from './read-recipe.js';
import { RECIPE_LIMITS, type Recipe } from './recipe.js';
import { rewriteReference } from './rewrite.js';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PEM = String(publicKey.export({ type: 'spki', format: 'pem' }));
const FINGERPRINT = readPublicKey(PEM, 'it').fingerprint;
const INLINE = JSON.stringify(PEM);

const HEAD = 'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: platform}\n';
const read = (text: string) => readRecipe(new TextEncoder().encode(text), 'recipe.yaml');
/** The text of the policy begins at line 6, column 11. */
const withPolicy = (policy: string) =>
  `${HEAD}spec:\n  sources: [{name: ours, functions: {}}]\n  policy: ${policy}\n`;
/** The text of the item begins at line 6, column 30. */
const withSignature = (item: string) => withPolicy(`{requireSignature: [${item}]}`);
/** The text of the source begins at line 6, column 5. */
const withSource = (source: string, rest = '') => `${HEAD}spec:\n  sources:\n  - ${source}\n${rest}`;

function parseRecipe(text: string): Recipe {
  const { recipe, diagnostics } = read(text);
  expect(diagnostics).toEqual([]);
  return recipe!;
}

/** `code path line:column` of every diagnostic. */
function problems(text: string): string[] {
  const { recipe, diagnostics } = read(text);
  expect(recipe === undefined).toBe(diagnostics.some(({ severity }) => severity === 'error'));
  for (const { hint } of diagnostics) expect(hint).toBeTruthy();
  return diagnostics.map(
    ({ code, path, range }) => `${code} ${path} ${range?.start.line}:${range?.start.column}`,
  );
}
const listHints = (text: string) =>
  read(text)
    .diagnostics.map(({ hint }) => hint)
    .join('\n');

describe('requireSignature with policies', () => {
  it('replaces the signers', () => {
    const { policy } = parseRecipe(withPolicy('{requireSignature: {policies: true}}'));
    expect(policy).toEqual({ requireRegistryPolicies: true });
  });

  it.each([
    ['{}', 'recipe/missing-field'],
    ['{policies: false}', 'recipe/missing-field'],
    ['{policies: "true"}', 'recipe/wrong-type'],
    ['{policies: [team]}', 'recipe/wrong-type'],
    [`{policies: true, key: ${INLINE}}`, 'recipe/unknown-field'],
  ])('is refused as %s', (required, code) => {
    expect(problems(withPolicy(`{requireSignature: ${required}}`)).join()).toContain(code);
  });
});

describe('a recipe with upstream catalogs', () => {
  it('is read completely', () => {
    const text = `${HEAD}spec:
  sources:
  - name: ours
    functions: {release: ">=1.0.0 <2.0.0"}
    rewrite: [{from: https://example.com/releases/, to: https://mirror.example.com/}]
  - name: banana
    catalog: {url: https://banana.co/catalog.yaml, refresh: 90m, minimumAge: 72h}
    match: [{group: banana.co}]
    rewrite:
    - {from: banana.gcr.io/, to: mirror.example.com/banana/}
    - {from: localhost:5000/a/, to: mirror.example.com/}
  - name: pinned
    catalog: {url: "git::https://host.example/r.git//catalog.yaml?ref=v1"}
  policy:
    requireSignature:
    - groups: ["banana.co"]
      key: |
${PEM.trimEnd().replace(/^/gm, '        ')}
    - groups: ["*.example.com", example.org]
      signers:
      - {issuer: https://issuer.example, subject: ci@example.com, validFrom: 2026-01-01T00:00:00Z}
      - {key: ${INLINE}, revoked: lost}
    - {groups: ["*"], issuer: https://issuer.example, subjectPattern: "^ci-[0-9]+@example\\\\.com$"}
    requireDigest: true
    allowNetwork: false
    allowStorage: true
    licenses: [apache 2.0, MIT, Apache-2.0 OR MIT, LicenseRef-Ours]
    deny:
    - {group: banana.co, kind: Peel, reason: leaks secrets}
    - {tags: [beta], license: gpl-3.0-only}
`;
    expect(parseRecipe(text)).toEqual({
      name: 'platform',
      sources: [
        {
          name: 'ours',
          release: '>=1.0.0 <2.0.0',
          exclude: [],
          rewrite: [{ from: 'https://example.com/releases/', to: 'https://mirror.example.com/' }],
        },
        {
          name: 'banana',
          catalog: {
            url: 'https://banana.co/catalog.yaml',
            refreshSeconds: 5_400,
            minimumAgeSeconds: 259_200,
          },
          match: [{ group: 'banana.co' }],
          exclude: [],
          rewrite: [
            { from: 'banana.gcr.io/', to: 'mirror.example.com/banana/' },
            { from: 'localhost:5000/a/', to: 'mirror.example.com/' },
          ],
        },
        {
          name: 'pinned',
          catalog: {
            url: 'git::https://host.example/r.git//catalog.yaml?ref=v1',
            refreshSeconds: RECIPE_LIMITS.defaultRefreshSeconds,
          },
          exclude: [],
        },
      ],
      policy: {
        requireSignature: [
          {
            name: 'requireSignature[0]',
            groups: ['banana.co'],
            signers: [{ key: PEM, fingerprint: FINGERPRINT }],
          },
          {
            name: 'requireSignature[1]',
            groups: ['*.example.com', 'example.org'],
            signers: [
              {
                issuer: 'https://issuer.example',
                subject: 'ci@example.com',
                validFrom: '2026-01-01T00:00:00.000Z',
              },
              { key: PEM, fingerprint: FINGERPRINT, revoked: 'lost' },
            ],
          },
          {
            name: 'requireSignature[2]',
            groups: ['*'],
            signers: [{ issuer: 'https://issuer.example', subjectPattern: '^ci-[0-9]+@example\\.com$' }],
          },
        ],
        requireDigest: true,
        allowNetwork: false,
        allowStorage: true,
        licenses: ['Apache-2.0', 'MIT', 'Apache-2.0 OR MIT', 'LicenseRef-Ours'],
        deny: [
          { group: 'banana.co', kind: 'Peel', reason: 'leaks secrets' },
          { tags: ['beta'], license: 'GPL-3.0-only' },
        ],
      },
    });
  });

  it('has policies with positions in their verdicts', () => {
    const { policy } = parseRecipe(withSignature(`{groups: [banana.co], key: ${INLINE}}`));
    const name = { group: 'banana.co', kind: 'Peel', release: '' };
    expect(evaluateSignatures(policy!.requireSignature!, name, [])).toMatchObject({
      trusted: false,
      reason: `it is not signed, but the policy requireSignature[0] requires a signature by the key ${FINGERPRINT}`,
    });
  });

  it('can have an empty policy', () => {
    expect(parseRecipe(withPolicy('{}')).policy).toEqual({});
  });
});

describe('the catalog of a source', () => {
  const of = (catalog: string) => withSource(`{name: a, catalog: ${catalog}}`);

  it.each([
    ['{url: ftp://a.example/c}', 'recipe/catalog-url spec.sources[0].catalog.url 6:30'],
    ['{url: "https://u:p@a.example/c"}', 'recipe/catalog-url spec.sources[0].catalog.url 6:30'],
    ['{url: https://a.example/, refresh: soon}', 'recipe/duration spec.sources[0].catalog.refresh 6:59'],
    ['{url: https://a.example/, refresh: 3600}', 'recipe/duration spec.sources[0].catalog.refresh 6:59'],
    ['{url: https://a.example/, refresh: 59s}', 'recipe/duration spec.sources[0].catalog.refresh 6:59'],
    ['{url: https://a.example/, refresh: true}', 'recipe/wrong-type spec.sources[0].catalog.refresh 6:59'],
    ['{url: https://a.example/, minimumAge: -1h}', 'recipe/duration spec.sources[0].catalog.minimumAge 6:62'],
    ['{url: https://a.example/, refresh: 31d}', 'recipe/limit spec.sources[0].catalog.refresh 6:59'],
    ['{url: https://a.example/, minimumAge: 366d}', 'recipe/limit spec.sources[0].catalog.minimumAge 6:62'],
    ['{url: http://a.example/}', 'recipe/insecure-catalog spec.sources[0].catalog.url 6:30'],
    ['{url: "git::http://a.example/r//c"}', 'recipe/insecure-catalog spec.sources[0].catalog.url 6:30'],
  ])('%s: %s', (catalog, problem) => {
    expect(problems(of(catalog))).toEqual([problem]);
  });

  it('warns about a selector with an invalid license', () => {
    const source = '{name: a, functions: {}, match: [{license: Apche-2.0}]}';
    expect(problems(withSource(source))).toEqual([
      'recipe/selector-license spec.sources[0].match[0].license 6:48',
    ]);
    expect(listHints(withSource(source))).toContain('`Apache-2.0`');
  });

  it('accepts the shortest and longest intervals', () => {
    const { sources } = parseRecipe(of('{url: https://a.example/, refresh: 30d, minimumAge: 0s}'));
    expect(sources[0]!.catalog).toMatchObject({ refreshSeconds: 2_592_000, minimumAgeSeconds: 0 });
  });

  it('reports both fields if a source has functions and a catalog', () => {
    expect(problems(withSource('{name: a, functions: {}, catalog: {url: https://a.example/}}'))).toEqual([
      'recipe/ambiguous-source spec.sources[0] 6:5',
    ]);
    expect(listHints(withSource('{name: a}'))).toContain('`functions: {}`');
    expect(listHints(withSource('{name: a, catalog: https://a.example/}'))).toContain('{url: …}');
  });

  it('can use http without a warning if a signature is required for all groups', () => {
    const policy = (...globs: string[]) =>
      `  policy: {requireSignature: [${globs.map((glob) => `{groups: ["${glob}"], issuer: https://a, subject: b}`).join()}]}\n`;
    const from = (match: string, rest: string) =>
      problems(withSource(`{name: a, catalog: {url: http://a.example/}${match}}`, rest)).length;
    expect(from('', policy('*'))).toBe(0);
    expect(from(', match: [{group: a.co}, {group: x.b.co}]', policy('a.co', '*.b.co'))).toBe(0);
    expect(from(', match: [{tags: [x]}]', policy('*'))).toBe(0);
    expect(from('', policy('a.co'))).toBe(1);
    expect(from(', match: [{group: a.co}, {group: b.co}]', policy('a.co'))).toBe(1);
    expect(from(', match: [{group: a.co}, {tags: [x]}]', policy('a.co'))).toBe(1);
  });
});

describe('rules that rewrite references', () => {
  const of = (rules: string) => withSource(`{name: a, functions: {}, rewrite: ${rules}}`);

  it.each([
    ['[]', 'recipe/rewrite spec.sources[0].rewrite 6:39', 'remove `rewrite`'],
    ['[{from: a.co/}]', 'recipe/missing-field spec.sources[0].rewrite[0] 6:40', ''],
    ['[{from: a.co, to: b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].from 6:47', '`a.co/`'],
    ['[{from: a.co/, to: b.co/x}]', 'recipe/rewrite spec.sources[0].rewrite[0].to 6:58', '`b.co/x/`'],
    ['[{from: library/, to: b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].from 6:47', 'docker.io'],
    ['[{from: /, to: b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].from 6:47', ''],
    ['[{from: a.co//, to: b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].from 6:47', ''],
    ['[{from: a.co/X/, to: b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].from 6:47', ''],
    ['[{from: a.co/, to: u:p@b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].to 6:58', ''],
    ['[{from: a.co/, to: a.co/../}]', 'recipe/rewrite spec.sources[0].rewrite[0].to 6:58', ''],
    ['[{from: a.co/, to: https://b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].to 6:58', 'both'],
    ['[{from: https://a.co/, to: b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].to 6:66', 'both'],
    ['[{from: oci://a.co/, to: b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].to 6:64', 'both'],
    ['[{from: oci://a.co, to: oci://b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].from 6:47', ''],
    [
      '[{from: "git::https://u:p@a.co/", to: "git::https://b.co/"}]',
      'recipe/rewrite spec.sources[0].rewrite[0].from 6:47',
      '',
    ],
    [
      '[{from: https://A.co/x/../, to: https://b.co/}]',
      'recipe/rewrite spec.sources[0].rewrite[0].from 6:47',
      '`https://a.co/`',
    ],
    [
      '[{from: "https://u:p@a.co/", to: https://b.co/}]',
      'recipe/rewrite spec.sources[0].rewrite[0].from 6:47',
      '',
    ],
    [
      '[{from: "https://a.co/?x/", to: https://b.co/}]',
      'recipe/rewrite spec.sources[0].rewrite[0].from 6:47',
      '',
    ],
    ['[{from: "a.co/ /", to: b.co/}]', 'recipe/rewrite spec.sources[0].rewrite[0].from 6:47', ''],
    [
      '[{from: a.co/, to: b.co/}, {from: a.co/, to: c.co/}]',
      'recipe/rewrite spec.sources[0].rewrite[1].from 6:73',
      'Remove',
    ],
    [
      '[{from: a.co/, to: b.co/}, {from: a.co/x/, to: c.co/}]',
      'recipe/shadowed-rewrite spec.sources[0].rewrite[1].from 6:73',
      'before',
    ],
  ])('%s: %s', (rules, problem, hint) => {
    expect(problems(of(rules))).toEqual([problem]);
    expect(listHints(of(rules))).toContain(hint);
    expect(JSON.stringify(read(of(rules)))).not.toContain('u:p@');
  });

  it('can have OCI and git prefixes', () => {
    const rules =
      '[{from: oci://a.co/x/, to: oci://b.co/}, {from: "git::https://a.co/", to: "git::https://b.co/"}]';
    expect(problems(of(rules))).toEqual([]);
    const { rewrite } = read(of(rules)).recipe!.sources[0]!;
    expect(rewriteReference(rewrite!, 'oci://a.co/x/fn:v1')).toBe('oci://b.co/fn:v1');
    expect(rewriteReference(rewrite!, 'git::https://a.co/r.git//fn.star?ref=v1')).toBe(
      'git::https://b.co/r.git//fn.star?ref=v1',
    );
  });

  it('can exclude a prefix from a later rule', () => {
    const rules = '[{from: a.co/x/, to: a.co/x/}, {from: a.co/, to: b.co/}]';
    expect(parseRecipe(of(rules)).sources[0]!.rewrite).toHaveLength(2);
  });
});

describe('the policy of a recipe', () => {
  const PRIVATE = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  it.each([
    ['[]', 'recipe/wrong-type spec.policy 6:11'],
    ['{requireSignatures: []}', 'recipe/unknown-field spec.policy.requireSignatures 6:12'],
    ['{requireSignature: []}', 'recipe/missing-field spec.policy.requireSignature 6:30'],
    ['{requireDigest: "true"}', 'recipe/wrong-type spec.policy.requireDigest 6:27'],
    ['{allowNetwork: 0}', 'recipe/wrong-type spec.policy.allowNetwork 6:26'],
    ['{allowStorage: }', 'recipe/wrong-type spec.policy.allowStorage 6:26'],
    ['{licenses: []}', 'recipe/missing-field spec.policy.licenses 6:22'],
    ['{licenses: [Apche-2.0]}', 'recipe/license spec.policy.licenses[0] 6:23'],
    ['{licenses: MIT}', 'recipe/wrong-type spec.policy.licenses 6:22'],
    ['{deny: []}', 'recipe/empty-selector spec.policy.deny 6:18'],
    ['{deny: [{}]}', 'recipe/empty-selector spec.policy.deny[0] 6:19'],
    ['{deny: [{reason: because}]}', 'recipe/empty-selector spec.policy.deny[0] 6:19'],
    ['{deny: [{group: nodots}]}', 'recipe/selector-value spec.policy.deny[0].group 6:27'],
    ['{deny: [{license: Mine}]}', 'recipe/license spec.policy.deny[0].license 6:29'],
    ['{deny: [{constructor: x, group: a.co}]}', 'recipe/unknown-field spec.policy.deny[0].constructor 6:20'],
  ])('%s: %s', (policy, problem) => {
    expect(problems(withPolicy(policy))).toEqual([problem]);
  });

  it.each([
    ['{key: x}', ['policy/missing-field [0] 6:31', 'policy/key [0].key 6:37']],
    ['{groups: [], issuer: https://a, subject: b}', ['policy/missing-field [0].groups 6:40']],
    ['{groups: [A.co], issuer: https://a, subject: b}', ['policy/group [0].groups[0] 6:41']],
    ['{groups: [a.co]}', ['policy/signer [0] 6:31']],
    ['{groups: [a.co], issuer: https://a}', ['policy/signer [0] 6:31']],
    [`{groups: [a.co], key: ${INLINE}, issuer: https://a}`, ['policy/signer [0] 6:31']],
    ['{groups: [a.co], issuer: https://a, subjectPattern: x.*}', ['policy/pattern [0].subjectPattern 6:83']],
    [
      '{groups: [a.co], issuer: https://a, subject: b, validFrom: "2026"}',
      ['policy/time [0].validFrom 6:90'],
    ],
    ['{groups: [a.co], signers: []}', ['policy/missing-field [0].signers 6:57']],
    ['{groups: [a.co], signers: [{issuer: https://a, subject: b}], key: x}', ['policy/signer [0].key 6:92']],
    [
      '{groups: [a.co], issuer: https://a, subject: b, releases: ">=1"}',
      ['policy/unknown-field [0].releases 6:79'],
    ],
    ['{groups: [a.co], issuer: https://a, subject: b, name: c}', ['policy/unknown-field [0].name 6:79']],
    ['{groups: [a.co], key: banana.pub}', ['policy/key [0].key 6:53']],
    [`{groups: [a.co], key: ${JSON.stringify(PRIVATE)}}`, ['policy/key [0].key 6:53']],
  ])('requires a signature with %s: %j', (item, expected) => {
    const found = problems(withSignature(item)).map((one) => one.replace('spec.policy.requireSignature', ''));
    expect(found).toEqual(expected);
  });

  it('reports that a key cannot be a path', () => {
    expect(listHints(withSignature('{groups: [a.co], key: banana.pub}'))).toContain('krmhub catalog apply');
    expect(listHints(withSignature('{groups: [a.co], signers: [{key: banana.pub}]}'))).toContain(
      'which reads key files',
    );
    const folded = PEM.replaceAll('\n', ' ').trim();
    expect(
      read(withSignature(`{groups: [a.co], key: "${folded.slice(0, 60)}"}`)).diagnostics[0]!.hint,
    ).toContain('key: |');
  });

  it('rejects a private key without repeating it', () => {
    const { diagnostics } = read(withSignature(`{groups: [a.co], key: ${JSON.stringify(PRIVATE)}}`));
    expect(diagnostics[0]!.message).toContain('private key');
    expect(JSON.stringify(diagnostics)).not.toContain(PRIVATE.split('\n')[1]);
  });

  it.each([
    ['a rule named as a prototype', '{deny: [{__proto__: {group: a.co}}]}', 'yaml/prototype-key'],
    ['a policy named as a method', '{toString: 1, hasOwnProperty: {}}', 'recipe/unknown-field'],
    [
      'a signer named as a method',
      '{requireSignature: [{groups: ["*"], issuer: https://a, subject: b, valueOf: x}]}',
      'policy/unknown-field',
    ],
    ['501 rules', `{deny: [${'{kind: A}, '.repeat(501)}]}`, 'recipe/limit'],
    ['501 signatures', `{requireSignature: [${'{}, '.repeat(501)}]}`, 'recipe/limit'],
    ['20,000 licenses', `{licenses: [${'MIT, '.repeat(20_000)}]}`, 'recipe/limit'],
    ['500 unknown licenses', `{licenses: [${'Apche-2.0, '.repeat(500)}]}`, 'recipe/license'],
    [
      '101 signers',
      `{requireSignature: [{groups: ["*"], signers: [${'{}, '.repeat(101)}]}]}`,
      'policy/limit',
    ],
    [
      '10,000 bad signers',
      `{requireSignature: [${`{groups: ["*"], signers: [${'1, '.repeat(50)}]}, `.repeat(200)}]}`,
      'policy/wrong-type',
    ],
    ['a deep rule', `{deny: ${'['.repeat(50)}${']'.repeat(50)}}`, 'recipe/wrong-type'],
    ['a license of brackets', `{licenses: ["${'('.repeat(250)}MIT"]}`, 'recipe/license'],
    [
      'a key of 100,000 characters',
      `{requireSignature: [{groups: ["*"], key: "${'a'.repeat(100_000)}"}]}`,
      'policy/limit',
    ],
  ])('refuses %s, soon and without thousands of diagnostics', (_, policy, code) => {
    const begun = process.cpuUsage();
    const { recipe, diagnostics } = read(withPolicy(policy));
    expect(process.cpuUsage(begun).user).toBeLessThan(10_000_000);
    expect([recipe, diagnostics[0]?.code]).toEqual([undefined, code]);
    expect(diagnostics.length).toBeLessThanOrEqual(201);
  });

  it('limits the number of patterns', () => {
    const items = (count: number) =>
      Array.from(
        { length: count },
        () => '{groups: ["*"], issuer: https://a, subjectPattern: "^((a{1,30}){1,30})$"}',
      ).join();
    expect(problems(withSignature(items(POLICY_LIMITS.maxPatterns)))).toEqual([]);
    const begun = process.cpuUsage();
    expect(problems(withSignature(items(POLICY_LIMITS.maxPatterns + 1)))).toEqual([
      'policy/limit spec.policy.requireSignature 6:30',
    ]);
    expect(process.cpuUsage(begun).user).toBeLessThan(5_000_000);
  });
});
