import { type Digest, type FunctionDefinition, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { ReleaseRecord, ReleaseSummary, Selection, Signer } from '../ports/records.js';
import type { UpstreamEntry } from '../ports/source-records.js';
import type { Recipe, RecipePolicy, RecipeSource } from '../recipe/recipe.js';
import { renderEntry } from '../render/render.js';
import { functionDefinition, functionVersion, lifecycleRecord, releaseRecord } from '../testing/records.js';
import { versionFacts } from '../upstream/read-upstream.js';
import { entryDefinition } from './entry.js';
import {
  type FunctionCandidates,
  needsFacts,
  type SelectionContext,
  selectFunction,
} from './select-function.js';

/** Recipes over upstream catalogs: who provides what, and what is said of everything that lost. */

const NOON = '2030-01-02T12:00:00.000Z';
const HOUR = 3_600;

const upstream = (name: string, more: Partial<RecipeSource> = {}): RecipeSource => ({
  name,
  catalog: { url: `https://${name}.example/catalog.yaml`, refreshSeconds: HOUR },
  exclude: [],
  ...more,
});
const ours = (name = 'ours', more: Partial<RecipeSource> = {}): RecipeSource => ({
  name,
  exclude: [],
  ...more,
});
const recipe = (sources: RecipeSource[], policy?: RecipePolicy): Recipe => ({
  name: 'platform',
  sources,
  ...(policy === undefined ? {} : { policy }),
});

const definition = (overrides: Partial<FunctionDefinition> = {}, image?: string): FunctionDefinition =>
  functionDefinition({
    group: 'banana.co',
    names: { kind: 'Split' },
    ...(image === undefined
      ? {}
      : { versions: [functionVersion('v1', { runtime: { container: { image } } })] }),
    ...overrides,
  });

function entry(of: FunctionDefinition, firstSeen = '2030-01-01T00:00:00.000Z'): UpstreamEntry {
  return {
    group: of.group,
    kind: of.names.kind,
    definition: renderEntry(of).digest,
    versions: versionFacts(of),
    tags: of.tags ?? [],
    publisher: of.publisher,
    runtimes: ['container'],
    licenses: of.versions.map(({ license }) => license),
    firstSeen,
  };
}

interface Known {
  upstream?: Record<string, UpstreamEntry | UpstreamEntry[]>;
  releases?: ReleaseRecord[];
  kind?: string;
  group?: string;
  context?: Partial<SelectionContext>;
}

function select(
  of: Recipe,
  { upstream = {}, releases = [], kind = 'Split', group = 'banana.co', context }: Known,
): Selection {
  const offers: FunctionCandidates = {
    group,
    kind,
    releases: releases as ReleaseSummary[],
    facts: new Map(releases.map((one) => [one.release, versionFacts(one.definition)])),
    upstream: new Map(
      Object.entries(upstream).map(([name, one]) => [name, Array.isArray(one) ? one : [one]]),
    ),
  };
  return selectFunction(of, offers, {
    clock: NOON,
    ownsGroup: () => releases.length > 0,
    signatures: new Map(),
    ...context,
  });
}

const refusals = (selection: Selection): string[] =>
  (selection.refused ?? []).flatMap(({ version, source, reasons }) =>
    reasons.map(({ code }) => `${source} ${version} ${code}`),
  );

describe('precedence', () => {
  it('takes an API version from the first source, and reports the shadowed entries', () => {
    const first = entry(definition({ description: 'first' }));
    const second = entry(
      definition({ description: 'second', versions: [functionVersion('v1'), functionVersion('v1beta1')] }),
    );
    const selection = select(recipe([upstream('a'), upstream('b')]), { upstream: { a: first, b: second } });
    expect(selection.versions).toEqual([
      { name: 'v1', source: 'a', definition: first.definition },
      { name: 'v1beta1', source: 'b', definition: second.definition },
    ]);
    expect(selection.shadowed).toEqual([{ version: 'v1', source: 'b', by: { source: 'a' } }]);
    expect(selection.refused).toBeUndefined();
  });

  it('applies selectors to entries as to releases', () => {
    const one = entry(definition({ tags: ['Mutator', 'split'] }));
    const taken = (more: Partial<RecipeSource>) =>
      select(recipe([upstream('a', more)]), { upstream: { a: one } }).versions.length === 1;
    expect(taken({ match: [{ group: 'melon.co' }, { tags: ['mutator'], publisher: 'Example Co' }] })).toBe(
      true,
    );
    expect(taken({ match: [{ group: 'banana.co', kind: 'Peel' }] })).toBe(false);
    expect(taken({ match: [{ runtime: 'exec' }] })).toBe(false);
    expect(taken({ match: [{ license: 'Apache-2.0' }], exclude: [{ kind: 'Split' }] })).toBe(false);
  });

  it('treats kinds that differ in case as one function, and rejects the second spelling', () => {
    const [one, other] = [entry(definition()), entry(definition({ names: { kind: 'SPLIT' } }))];
    const wider = { ...other, versions: [...other.versions, { ...other.versions[0]!, name: 'v2' }] };
    const selection = select(recipe([upstream('a'), upstream('b')]), { upstream: { a: one, b: wider } });
    expect(selection.kind).toBe('Split');
    expect(selection.versions.map(({ name }) => name)).toEqual(['v1']);
    expect(refusals(selection)).toEqual(['b v2 kind-case', 'b v1 kind-case']);
  });

  it('depends only on the order in the recipe', () => {
    const [a, b] = [entry(definition({ description: 'a' })), entry(definition({ description: 'b' }))];
    const of = recipe([upstream('b'), upstream('a')]);
    expect(select(of, { upstream: { a, b } })).toEqual(select(of, { upstream: { b, a } }));
  });
});

describe('a group', () => {
  const release = releaseRecord('1.0.0', definition());
  const theirs = entry(definition({ description: 'theirs' }));

  it('belongs to the source that lists it in match, and entries of other sources are claims', () => {
    const of = recipe([ours(), upstream('melon'), upstream('banana', { match: [{ group: 'banana.co' }] })]);
    const selection = select(of, {
      upstream: { banana: theirs, melon: entry(definition()) },
      releases: [release],
    });
    expect(selection.versions).toEqual([{ name: 'v1', source: 'banana', definition: theirs.definition }]);
    expect(refusals(selection)).toEqual(['ours v1 claim', 'melon v1 claim']);
    expect(selection.refused![1]!.reasons[0]!.message).toBe(
      'the group banana.co belongs to the source banana, which lists it',
    );
  });

  it('cannot be claimed by another source, even if its owner lacks the function', () => {
    const of = recipe([upstream('banana', { match: [{ group: 'banana.co' }] }), upstream('melon')]);
    const selection = select(of, { upstream: { melon: theirs } });
    expect(selection.versions).toEqual([]);
    expect(refusals(selection)).toEqual(['melon v1 claim']);
  });

  it('belongs to this registry if no match names it and the registry has a release of it', () => {
    const of = recipe([upstream('banana'), ours()]);
    const selection = select(of, { upstream: { banana: theirs }, releases: [release] });
    expect(selection.versions).toMatchObject([{ source: 'ours', release: '1.0.0' }]);
    expect(refusals(selection)).toEqual(['banana v1 claim']);
    const unheld = select(of, { upstream: { banana: theirs } });
    expect(unheld.versions).toMatchObject([{ source: 'banana' }]);
  });

  it('belongs to every source whose match names it', () => {
    const match = [{ group: 'banana.co' }];
    const of = recipe([upstream('mirror', { match }), upstream('banana', { match })]);
    expect(select(of, { upstream: { banana: theirs } }).versions).toMatchObject([{ source: 'banana' }]);
  });
});

describe('a minimum age', () => {
  const of = (minimumAgeSeconds: number) =>
    recipe([
      upstream('a', {
        catalog: { url: 'https://a.example/c.yaml', refreshSeconds: HOUR, minimumAgeSeconds },
      }),
    ]);
  const fresh = entry(definition({ description: 'fresh' }), '2030-01-02T11:00:00.000Z');
  const old = {
    ...entry(definition({ description: 'old' }), '2030-01-01T00:00:00.000Z'),
    goneAt: fresh.firstSeen,
  };

  it('refuses a new entry, and reports when it reaches the minimum age', () => {
    const selection = select(of(2 * HOUR), { upstream: { a: fresh } });
    expect(selection.versions).toEqual([]);
    expect(selection.refused).toEqual([
      {
        version: 'v1',
        source: 'a',
        reasons: [
          {
            code: 'minimum-age',
            message: 'it has not reached the minimum age; it is available from 2030-01-02T13:00:00.000Z',
          },
        ],
      },
    ]);
    expect(select(of(HOUR), { upstream: { a: fresh } }).versions).toHaveLength(1);
  });

  it('serves the previous entry until then', () => {
    const selection = select(of(2 * HOUR), { upstream: { a: [fresh, old] } });
    expect(selection.versions).toEqual([{ name: 'v1', source: 'a', definition: old.definition }]);
    expect(refusals(selection)).toEqual(['a v1 minimum-age']);
    expect(select(of(HOUR), { upstream: { a: [fresh, old] } }).versions).toMatchObject([
      { definition: fresh.definition },
    ]);
  });

  it('never serves an entry that was replaced before it reached the minimum age', () => {
    const wrong = {
      ...entry(definition({ description: 'wrong' }), '2030-01-02T09:30:00.000Z'),
      goneAt: fresh.firstSeen,
    };
    const replaced = { ...old, goneAt: wrong.firstSeen };
    const selection = select(of(2 * HOUR), { upstream: { a: [fresh, wrong, replaced] } });
    expect(selection.versions).toMatchObject([{ definition: old.definition }]);
    expect(select(of(2 * HOUR), { upstream: { a: [fresh, wrong] } }).versions).toEqual([]);
  });
});

describe('a policy', () => {
  const digest = 'a'.repeat(64);
  const pinned = definition({}, `banana.gcr.io/split@sha256:${digest}`);
  const policed = (policy: RecipePolicy, of = pinned, context: Partial<SelectionContext> = {}) =>
    select(recipe([upstream('a')], policy), { upstream: { a: entry(of) }, context });

  it('requires digests of images and scripts, in the reference or a separate field', () => {
    const policy = { requireDigest: true };
    expect(policed(policy).versions).toHaveLength(1);
    expect(refusals(policed(policy, definition({}, 'banana.gcr.io/split:v1.0.0')))).toEqual(['a v1 digest']);
    const beside = definition({
      versions: [
        functionVersion('v1', {
          runtime: { container: { image: 'banana.gcr.io/split:v1', sha256: digest } },
        }),
      ],
    });
    expect(policed(policy, beside).versions).toHaveLength(1);
    const script = definition({
      versions: [functionVersion('v1', { runtime: { starlark: 'https://banana.co/split.star' } })],
    });
    expect(refusals(policed(policy, script))).toEqual(['a v1 digest']);
  });

  const platform = {
    bin: 'split',
    os: 'linux' as const,
    arch: 'amd64' as const,
    uri: 'https://banana.co/split',
  };
  const digits = 'a'.repeat(64);
  it.each([
    ['a word', { container: { image: 'banana.gcr.io/split:v1', sha256: 'none' } }],
    ['capitals', { container: { image: 'banana.gcr.io/split:v1', sha256: digits.toUpperCase() } }],
    ['zeros', { container: { image: `banana.gcr.io/split@sha256:${'0'.repeat(64)}` } }],
    ['a tag', { container: { image: `banana.gcr.io/split:sha256-${digits}` } }],
    ['a word for a binary', { exec: { platforms: [{ ...platform, sha256: 'none' }] } }],
    ['a query', { starlark: `https://banana.co/split.star?v=@sha256:${digits}` }],
    ['a fragment', { starlark: `https://banana.co/split.star#@sha256:${digits}` }],
  ])('takes %s for no digest', (_, runtime) => {
    const version = functionVersion('v1', { runtime });
    expect(refusals(policed({ requireDigest: true }, definition({ versions: [version] })))).toEqual([
      'a v1 digest',
    ]);
  });

  it('refuses functions that need the network or storage', () => {
    const needy = definition({
      versions: [
        functionVersion('v1', {
          runtime: {
            container: { image: 'banana.gcr.io/split:v1', requireNetwork: true, requireStorageMount: true },
          },
        }),
      ],
    });
    expect(refusals(policed({ allowNetwork: false, allowStorage: false }, needy))).toEqual([
      'a v1 network',
      'a v1 storage',
    ]);
    expect(policed({ allowNetwork: true }, needy).versions).toHaveLength(1);
  });

  it('allows licenses, and one of the alternatives is enough', () => {
    const licensed = (license: string) => definition({ versions: [functionVersion('v1', { license })] });
    const allowed = { licenses: ['MIT', 'Apache-2.0'] };
    expect(policed(allowed, licensed('GPL-3.0-only OR MIT')).versions).toHaveLength(1);
    expect(refusals(policed(allowed, licensed('GPL-3.0-only AND MIT')))).toEqual(['a v1 license']);
    expect(refusals(policed(allowed, licensed('no license')))).toEqual(['a v1 license']);
  });

  it('denies listed functions with the reason', () => {
    const deny = [{ group: 'banana.co', kind: 'Split', reason: 'leaks secrets' }];
    expect(policed({ deny }).refused![0]!.reasons).toEqual([
      { code: 'denied', message: 'the recipe denies it: leaks secrets' },
    ]);
    expect(policed({ deny: [{ group: 'banana.co', kind: 'Peel' }] }).versions).toHaveLength(1);
  });

  it('shortens upstream text in messages', () => {
    const long = (at: number) => `https://banana.co/${at}${'x'.repeat(9_000)}`;
    const platforms = Array.from({ length: 6 }, (_, at) => ({ ...platform, uri: long(at), sha256: 'none' }));
    const version = functionVersion('v1', { license: 'L'.repeat(9_000), runtime: { exec: { platforms } } });
    const policy = { requireDigest: true, licenses: ['MIT'] };
    const { refused } = policed(policy, definition({ versions: [version] }));
    const [digest, license] = refused![0]!.reasons.map(({ message }) => message);
    expect(digest).toMatch(/^not pinned by digest: (?:https:\S+…,? ){3}and 3 more$/);
    expect(license).toMatch(/^its license L+… is not allowed$/);
    expect(`${digest}${license}`.length).toBeLessThan(1_000);
  });

  it('cannot be bypassed with another spelling of the kind', () => {
    const spelt = entry(definition({ names: { kind: 'SPLIT' } }));
    const known = { kind: 'SPLIT', upstream: { a: spelt } };
    const denied = select(recipe([upstream('a')], { deny: [{ kind: 'Split' }] }), known);
    expect(refusals(denied)).toEqual(['a v1 denied']);
    const excluded = select(recipe([upstream('a', { exclude: [{ kind: 'Split' }] })]), known);
    expect(excluded.versions).toEqual([]);
    const matched = select(recipe([upstream('a', { match: [{ kind: 'Split' }] })]), known);
    expect(matched.versions).toEqual([]);
  });

  it('requires a signature by a named signer, of the catalog or the release', () => {
    const [good, bad] = [sha256('good'), sha256('bad')];
    const wanted: SigningPolicy[] = [
      { name: 'banana', groups: ['banana.*'], signers: [{ key: 'PEM', fingerprint: good }] },
    ];
    const signed = (fingerprint: Digest): Partial<SelectionContext> => {
      const signer: Signer = { type: 'key', fingerprint };
      return { signatures: new Map([['a', [{ signer, receivedAt: NOON }]]]) };
    };
    expect(policed({ requireSignature: wanted }, pinned, signed(good)).versions).toMatchObject([
      { signedBy: `the key ${good}` },
    ]);
    expect(refusals(policed({ requireSignature: wanted }, pinned, signed(bad)))).toEqual(['a v1 signature']);
    expect(refusals(policed({ requireSignature: wanted }))).toEqual(['a v1 signature']);
    expect(
      policed({ requireSignature: [{ ...wanted[0]!, groups: ['melon.co'] }] }).versions[0],
    ).not.toHaveProperty('signedBy');
    const bundle = {
      digest: sha256('bundle'),
      size: 1,
      manifest: '',
      claim: 'signature' as const,
      predicateType: '',
      signer: { type: 'key' as const, fingerprint: good },
      receivedAt: NOON,
      receivedBy: 'x',
    };
    const releases = [releaseRecord('1.0.0', pinned, { bundles: [bundle] }), releaseRecord('1.1.0', pinned)];
    const selection = select(recipe([ours()], { requireSignature: wanted }), { releases });
    expect(selection.versions).toMatchObject([{ release: '1.0.0', signedBy: `the key ${good}` }]);
    expect(selection.refused).toMatchObject([{ release: '1.1.0', reasons: [{ code: 'signature' }] }]);
  });

  it('requires what the registry policies require, and drops releases whose signer is no longer trusted', () => {
    const [good, other] = [sha256('good'), sha256('other')];
    const follows = recipe([ours()], { requireRegistryPolicies: true });
    const signedRelease = (name: string, fingerprint: Digest) =>
      releaseRecord(name, pinned, {
        bundles: [
          {
            digest: sha256(name),
            size: 1,
            manifest: '',
            claim: 'signature',
            predicateType: '',
            signer: { type: 'key', fingerprint },
            receivedAt: NOON,
            receivedBy: 'x',
          },
        ],
      });
    const releases = [signedRelease('1.0.0', other), signedRelease('1.1.0', good)];
    const chosen = (groups: string[], revoked: Digest[] = []) => {
      const signers = [good, other].map((fingerprint) => ({
        key: 'PEM',
        fingerprint,
        ...(revoked.includes(fingerprint) ? { revoked: 'stolen' } : {}),
      }));
      const policies: SigningPolicy[] = [{ name: 'team', groups, signers }];
      const { versions, refused } = select(follows, { releases, context: { policies } });
      return [versions[0]?.release, refused?.[0]?.reasons[0]?.message];
    };
    expect(chosen(['banana.co'])).toEqual(['1.1.0', undefined]);
    const stolen = `it is signed by the key ${good}, and the policy team revokes this signer: stolen`;
    expect(chosen(['banana.co'], [good])).toEqual(['1.0.0', stolen]);
    expect(chosen(['banana.co'], [good, other])[0]).toBeUndefined();
    // No policy covers the group, and one revokes the signer all the same.
    expect(chosen(['melon.co'], [good])).toEqual(['1.0.0', stolen]);
    const unsigned = { releases: [releaseRecord('1.0.0', pinned)], context: { policies: [] } };
    expect(select(follows, unsigned).versions).toHaveLength(1);
    expect(() => select(follows, { releases })).toThrow(RangeError);
  });

  it('requires a signature for entries if a registry policy covers any release', () => {
    const good = sha256('good');
    const team: SigningPolicy = {
      name: 'team',
      groups: ['banana.co'],
      releases: '>=1.0.0',
      signers: [{ key: 'PEM', fingerprint: good }],
    };
    const selected = (fingerprint?: Digest) =>
      select(recipe([upstream('a')], { requireRegistryPolicies: true }), {
        upstream: { a: entry(pinned) },
        context: {
          policies: [team],
          signatures: new Map([
            [
              'a',
              fingerprint === undefined
                ? []
                : [{ signer: { type: 'key' as const, fingerprint }, receivedAt: NOON }],
            ],
          ]),
        },
      });
    expect(refusals(selected())).toEqual(['a v1 signature']);
    expect(refusals(selected(sha256('other')))).toEqual(['a v1 signature']);
    expect(selected(good).versions).toMatchObject([{ signedBy: `the key ${good}` }]);
  });

  it('reports every refusal of an API version, and lets a later source provide it', () => {
    const of = recipe([upstream('a'), upstream('b')], {
      requireDigest: true,
      deny: [{ publisher: 'Mallory' }],
    });
    const worst = entry(definition({ publisher: 'Mallory' }, 'banana.gcr.io/split:v1'));
    const selection = select(of, { upstream: { a: worst, b: entry(pinned) } });
    expect(refusals(selection)).toEqual(['a v1 denied', 'a v1 digest']);
    expect(selection.versions).toMatchObject([{ source: 'b' }]);
  });

  it('skips a yanked release without evaluating it', () => {
    const releases = [releaseRecord('1.0.0', pinned, { yanked: lifecycleRecord('bad') })];
    const selection = select(recipe([ours()], { requireDigest: true }), { releases });
    expect(selection).toMatchObject({ versions: [], yanked: [{ release: '1.0.0', source: 'ours' }] });
    expect(selection.refused).toBeUndefined();
  });

  it('throws if the facts of releases are missing', () => {
    const of = recipe([ours()], { requireDigest: true });
    expect([
      needsFacts(of),
      needsFacts(recipe([ours()])),
      needsFacts(recipe([upstream('a', { rewrite: [] })])),
    ]).toEqual([true, false, false]);
    const releases = [releaseRecord('1.0.0', pinned)];
    const context: SelectionContext = { clock: NOON, ownsGroup: () => true, signatures: new Map() };
    expect(() => selectFunction(of, { group: 'banana.co', kind: 'Split', releases }, context)).toThrow(
      RangeError,
    );
  });
});

describe('rewriting', () => {
  const rewrite = [
    { from: 'banana.gcr.io/', to: 'mirror.example.com/banana/' },
    { from: 'https://banana.co/bin/', to: 'https://mirror.example.com/bin/' },
  ];
  const exec = { bin: 'split', os: 'linux' as const, arch: 'amd64' as const, sha256: 'b'.repeat(64) };
  const of = definition({
    versions: [
      functionVersion('v1', {
        runtime: {
          container: {
            image: `banana.gcr.io/fn/split:v1.0.0@sha256:${'a'.repeat(64)}`,
            sha256: 'a'.repeat(64),
          },
        },
      }),
      functionVersion('v1beta1', {
        runtime: { exec: { platforms: [{ ...exec, uri: 'https://banana.co/bin/split.tar.gz' }] } },
      }),
      functionVersion('v1alpha1', {
        runtime: { container: { image: 'banana.gcr.io.evil.example/split:v1' } },
      }),
    ],
  });

  it('replaces the prefix, keeps digests, and marks the entry as rewritten', () => {
    const rules = recipe([upstream('a', { rewrite })]);
    const one = entry(of);
    const selection = select(rules, { upstream: { a: one } });
    expect(selection.versions.map(({ name, rewritten }) => [name, rewritten])).toEqual([
      ['v1', true],
      ['v1beta1', true],
      ['v1alpha1', undefined],
    ]);
    const made = entryDefinition(selection, new Map([[one.definition, of]]), rules);
    expect(made.versions.map(({ runtime }) => runtime)).toEqual([
      {
        container: {
          image: `mirror.example.com/banana/fn/split:v1.0.0@sha256:${'a'.repeat(64)}`,
          sha256: 'a'.repeat(64),
        },
      },
      { exec: { platforms: [{ ...exec, uri: 'https://mirror.example.com/bin/split.tar.gz' }] } },
      { container: { image: 'banana.gcr.io.evil.example/split:v1' } },
    ]);
    expect(of.versions[0]!.runtime.container!.image).toContain('banana.gcr.io/');
  });

  it.each([
    'https://banana.co/bin/../../melon/split',
    'https://banana.co/bin/x/%2e%2E/../split',
    'https://banana.co/bin/..%2fsplit',
    'https://banana.co/bin/..\\split',
  ])('refuses %s, which leads out of the mirror', (uri) => {
    const version = functionVersion('v1', { runtime: { exec: { platforms: [{ ...exec, uri }] } } });
    const climbing = entry(definition({ versions: [version] }));
    expect(refusals(select(recipe([upstream('a', { rewrite })]), { upstream: { a: climbing } }))).toEqual([
      'a v1 rewrite',
    ]);
    expect(select(recipe([upstream('a')]), { upstream: { a: climbing } }).versions).toHaveLength(1);
  });

  it('refuses only entries whose rewritten reference is invalid', () => {
    const long = definition({}, `banana.gcr.io/${'a/'.repeat(125)}b:v1`);
    const selection = select(recipe([upstream('a', { rewrite })]), { upstream: { a: entry(long) } });
    expect(refusals(selection)).toEqual(['a v1 rewrite']);
    expect(select(recipe([upstream('a')]), { upstream: { a: entry(long) } }).versions).toHaveLength(1);
  });
});

describe('an entry', () => {
  it('from one source has exactly the bytes of that source', () => {
    const of = definition({ versions: [functionVersion('v1beta1'), functionVersion('v1')] });
    const one = entry(of);
    const selection = select(recipe([upstream('a')]), { upstream: { a: one } });
    const made = entryDefinition(selection, new Map([[one.definition, of]]), recipe([upstream('a')]));
    expect(renderEntry(made).yaml).toBe(
      renderEntry({ ...of, versions: [of.versions[1]!, of.versions[0]!] }).yaml,
    );
  });

  it('from several sources has the function fields of the first source', () => {
    const first = definition({ description: 'first', maintainers: ['a@banana.co'] });
    const second = definition({
      description: 'second',
      maintainers: ['b@melon.co'],
      versions: [functionVersion('v1'), functionVersion('v2')],
    });
    const rules = recipe([upstream('a'), upstream('b')]);
    const [a, b] = [entry(first), entry(second)];
    const selection = select(rules, { upstream: { a, b } });
    const made = entryDefinition(
      selection,
      new Map([
        [a.definition, first],
        [b.definition, second],
      ]),
      rules,
    );
    expect(made).toMatchObject({ description: 'first', maintainers: ['a@banana.co'] });
    expect(made.versions.map(({ name, maintainers }) => [name, maintainers])).toEqual([
      ['v2', ['b@melon.co']],
      ['v1', undefined],
    ]);
  });
});
