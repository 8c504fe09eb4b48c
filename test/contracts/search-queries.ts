import type { SearchPage, SearchQuery, Signer, SigningPolicy } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { FACET_NAMES, isYesOrNo } from '@krmhub/schema/facets';
import { Random } from '@krmhub/yaml/testing/random';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasKptFunctions, kptFunctions } from './kpt-functions.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf, type SampleFunction } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';
import { FUNCTIONS } from './searched-functions.js';

/** As a platform engineer types them, before seeing a result: what real functions of kpt should come first. */
const KPT_QUERIES: [query: string, first: string][] = [
  ['set namespace', 'SetNamespace'],
  ['how do i add labels to all resources', 'SetLabels'],
  ['helm chart', 'RenderHelmChart'],
  ['change the image of a container', 'SetImage'],
  ['encrypt secrets with sops', 'Sops'],
  ['validate against json schema', 'Kubeval'],
  ['policy dryrun', 'SetEnforcementAction'],
  ['terraform', 'ExportTerraform'],
  ['"search and optionally replace"', 'SearchReplace'],
  ['annotations -delete', 'SetAnnotations'],
  ['kind:Set labels', 'SetLabels'],
  ['gcr.io/kpt-fn/set-image', 'SetImage'],
  ['name prefix', 'SetNamePrefix'],
  ['tag:gcp project', 'SetProjectId'],
  ['setnamespace', 'SetNamespace'],
  ['gcr.io/kpt-fn/set-labels:v0.1.5', 'SetLabels'],
  ['run a script', 'Starlark'],
  ['the kustomize replacements feature', 'ApplyReplacements'],
  ['remove local config', 'RemoveLocalConfigResources'],
  ['tag:validator -kubeval gatekeeper', 'Gatekeeper'],
];

const trusted: Signer = { type: 'key', fingerprint: sha256('trusted') };
const stranger: Signer = { type: 'key', fingerprint: sha256('stranger') };
const policies: SigningPolicy[] = [
  {
    name: 'ours',
    groups: ['platform.example.com'],
    signers: [{ key: 'PEM', fingerprint: sha256('trusted') }],
  },
];
const trust = { revision: 1, policies };

const platform = { group: 'platform.example.com', publisher: 'Platform Team' };
const community = { group: 'community.example.org', publisher: 'Community' };
const pin = `sha256:${'c3'.repeat(32)}`;
const pinned = { container: { image: `ghcr.io/community/inject-sidecar@${pin}` } };
const MORE: SampleFunction[] = [
  {
    ...platform,
    kind: 'SetTeamOwner',
    tags: ['Mutator', 'teams'],
    signers: [trusted],
    description: 'Sets the owner team.',
  },
  { ...platform, kind: 'SetCostOwner', description: 'Sets the owner of the costs.' },
  { ...community, kind: 'SetFileOwner', description: 'Sets the owner of files.' },
  { ...community, kind: 'SetRepoOwner', signers: [stranger], description: 'Sets the owner of a repository.' },
  {
    ...community,
    kind: 'InjectSidecar',
    runtime: pinned,
    tags: ['istio'],
    fields: ['spec', 'podSelector', 'proxyImage'],
    readme: '# Sidecars\n\nAdd it to the pipeline of a [Kptfile](https://kpt.dev/reference/kptfile/).\n',
    description: 'Injects the Istio sidecar into pods.',
  },
  {
    ...community,
    kind: 'InjectProxy',
    publishedAt: '2031-01-01T00:00:00.000Z',
    description: 'Injects the proxy sidecar.',
  },
  {
    ...community,
    kind: 'ConvertGateway',
    fields: ['targetClass'],
    readme: 'Reads `HTTPRoute` objects and keeps their hostnames. Use it after `ConvertIngress`.',
    publishedAt: '2032-01-01T00:00:00.000Z',
    description: 'Converts ingresses to gateways.',
  },
  {
    ...community,
    kind: 'ConvertIngress',
    publishedAt: '2031-01-01T00:00:00.000Z',
    description: 'Converts gateways to ingresses.',
  },
  {
    ...community,
    kind: 'LimitMemory',
    fields: ['containers', 'labelSelector'],
    deprecated: { at: AT, by: 'someone', reason: 'old' },
    description: 'Sets limits.',
  },
  {
    ...community,
    kind: 'LimitProcessors',
    description: 'Sets limits.',
    readme: 'Requests more millicores than the sidecar of InjectSidecar needs. Größe zählt.',
  },
  {
    ...community,
    kind: 'ForEach',
    description: 'Runs a function for each resource.',
    readme: 'Loops. Write `labelSelector` yourself.',
  },
  {
    ...community,
    kind: 'PolicyReport',
    tags: ['validator', 'Policy'],
    description: 'Reports violations of a policy.',
  },
];

/** The expected first function, and for an order or a filter the ones after it. */
const QUERIES: [query: string, ...kinds: string[]][] = [
  ['owner', 'SetTeamOwner', 'SetRepoOwner', 'SetFileOwner', 'SetCostOwner'],
  ['set owner', 'SetTeamOwner', 'SetRepoOwner', 'SetFileOwner', 'SetCostOwner'],
  ['owner is:signed', 'SetTeamOwner', 'SetRepoOwner'],
  ['owner -is:signed', 'SetFileOwner', 'SetCostOwner'],
  ['owner -team', 'SetRepoOwner'],
  ['owner -group:platform.example.com', 'SetRepoOwner', 'SetFileOwner'],
  ['inject', 'InjectSidecar', 'InjectProxy'],
  ['inject -istio', 'InjectProxy'],
  ['convert', 'ConvertGateway', 'ConvertIngress'],
  ['limit', 'LimitProcessors', 'LimitMemory'],
  ['limit is:deprecated', 'LimitMemory'],
  ['limit -is:deprecated', 'LimitProcessors'],
  ['deprecated:true kind:limit', 'LimitMemory'],
  ['for each', 'ForEach'],
  ['foreach', 'ForEach'],
  ['to the', 'SetTeamOwner'],
  ['tag:policy violations', 'PolicyReport'],
  ['tag:POLICY kind:gate', 'Gatekeeper'],
  ['tag:Mutator team', 'SetTeamOwner'],
  ['"owner of files"', 'SetFileOwner'],
  ['"of files" owner', 'SetFileOwner'],
  ['kind:"limit processors"', 'LimitProcessors'],
  ['kind:sidecar', 'InjectSidecar'],
  ['kind:Set kind:owner repository', 'SetRepoOwner'],
  ['"the proxy', 'InjectProxy'],
  ['platform.example.com/SetTeamOwner', 'SetTeamOwner'],
  ['platform.example.com/SetTeamOwner@1.0.0', 'SetTeamOwner'],
  ['ghcr.io/community/inject-sidecar', 'InjectSidecar'],
  ['ghcr.io/comm', 'InjectSidecar'],
  ['image: ghcr.io/community/inject-sidecar:v9', 'InjectSidecar'],
  [pin, 'InjectSidecar'],
  [sha256('community.example.org/ForEach@1.0.0'), 'ForEach'],
  ['publisher:"Platform Team" costs', 'SetCostOwner'],
  ['license:MIT helm', 'UpgradeChart'],
  ['runtime:exec helm', 'RenderHelmChart'],
  ['is:pinned sidecar', 'InjectSidecar'],
  ['istio sidecars into a pod', 'InjectSidecar'],
  ['violatoins', 'PolicyReport'],
  ['what validates resources by policies', 'Gatekeeper'],
  ['foo:ForEach', 'ForEach'],
  ['kptfile', 'InjectSidecar'],
  ['sidecar', 'InjectSidecar', 'InjectProxy', 'LimitProcessors'],
  ['millicores', 'LimitProcessors'],
  ['limits millicore', 'LimitProcessors'],
  ['GRÖSSE', 'LimitProcessors'],
  ['hostname of an http route', 'ConvertGateway'],
  ['hostnames -kind:limit', 'ConvertGateway'],
  ['labelSelector', 'LimitMemory', 'ForEach'],
  ['field:labelSelector', 'LimitMemory'],
  ['field:selector -field:pod', 'LimitMemory'],
  ['field:podselector inject', 'InjectSidecar'],
  ['kind:limit field:containers', 'LimitMemory'],
];

/** Queries with their expected results, and properties of the syntax on random input. */
export function searchQueriesContract(harness: () => RegistryStoreHarness): void {
  const store = () => harness().store;
  const search = async (query: Partial<SearchQuery>): Promise<SearchPage> => {
    const named = /^sha256:/.test(query.text ?? '') ? await store().releasesWith(query.text!) : [];
    return store().search({ limit: 100, trust, named, ...query });
  };
  const kinds = ({ items }: SearchPage) => items.map(({ kind }) => kind);

  it.skipIf(!hasKptFunctions)('finds real functions by 20 queries (only if shared/data exists)', async () => {
    await cutUpstream(store(), 'kpt', kptFunctions());
    await store().synchronizeSearch();
    for (const [text, first] of KPT_QUERIES) {
      expect.soft([text, kinds(await search({ text }))[0]]).toEqual([text, first]);
    }
  });

  describe('the syntax of a search', () => {
    beforeEach(async () => {
      for (const sample of [...FUNCTIONS, ...MORE]) await store().commitFunction(changeOf(sample));
    });

    it('finds the expected functions by 52 queries', async () => {
      for (const [text, ...expected] of QUERIES) {
        const found = kinds(await search({ text })).slice(0, expected.length);
        expect.soft([text, ...found]).toEqual([text, ...expected]);
      }
    });

    it('splits all functions with a term and without it, on pages in one order', async () => {
      const random = new Random(31);
      const all = kinds(await search({})).sort();
      const terms = [
        'owner',
        'set',
        'kind:set',
        '"the owner"',
        'tag:mutator',
        'is:signed',
        'is:deprecated',
        'helm',
        'sidecar',
        'field:selector',
      ];
      const images = ['registry.example.com/fn', 'ghcr.io/', pin];
      for (const term of [...terms, ...images]) {
        const having = kinds(await search({ text: term }));
        const lacking = kinds(
          await search({ text: `-${term}`, named: term === pin ? await store().releasesWith(pin) : [] }),
        );
        expect([...having, ...lacking].sort(), term).toEqual(all);
        const text = `${random.pick(['', '-'])}${term} ${random.pick(['', '-limit', '-inject'])}`;
        const whole = await search({ text, limit: 100 });
        const paged: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await search({ text, limit: 3, ...(cursor !== undefined && { cursor }) });
          paged.push(...kinds(page));
          cursor = page.next;
        } while (cursor !== undefined && paged.length < 100);
        expect(paged, text).toEqual(kinds(whole));
      }
    });

    it('counts for each value of a facet what the search with it finds', async () => {
      const texts = [
        '',
        'owner',
        'set -limit',
        'tag:mutator',
        'is:deprecated',
        '-tag:mutator',
        '-license:MIT set',
      ];
      for (const text of [...texts, 'owner -group:platform.example.com -publisher:Community']) {
        const { facets } = await search({ text });
        for (const name of FACET_NAMES) {
          // The filter in the text would be one more value of this facet.
          if (text.startsWith(name) || (text.startsWith('is:') && isYesOrNo(name))) continue;
          for (const { value, count } of facets[name]) {
            const { total } = await search({ text, [name]: [value] });
            expect([text, name, value, total]).toEqual([text, name, value, count]);
          }
        }
      }
    });

    it('never shows a function that is not trusted before a verified one of equal match', async () => {
      const untrusted = new Set(['SetCostOwner']);
      for (const text of ['owner', 'set', 'o', 'team costs owner', 'platform', 'sets the owner']) {
        const { items } = await search({ text });
        const at = (kind: string) => items.findIndex((item) => item.kind === kind);
        for (const kind of untrusted)
          if (at(kind) >= 0 && at('SetTeamOwner') >= 0) expect(at('SetTeamOwner')).toBeLessThan(at(kind));
      }
    });

    it('follows changes of the policies', async () => {
      const signed = async (query: Partial<SearchQuery>) =>
        kinds(await search({ text: 'owner is:signed', ...query }));
      expect(await signed({})).toEqual(['SetTeamOwner', 'SetRepoOwner']);
      const all = { ...policies[0]!, groups: ['*'] };
      expect(await signed({ trust: { revision: 2, policies: [all] } })).toEqual(['SetTeamOwner']);
      expect(await signed({ trust: { revision: 3, policies: [] } })).toEqual([
        'SetRepoOwner',
        'SetTeamOwner',
      ]);
    });
  });
}
