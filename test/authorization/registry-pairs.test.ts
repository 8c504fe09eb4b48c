import { ROUTES } from '@krmhub/api/routes';
import { expect, it } from 'vitest';
import { WEB_ROUTES } from '../../apps/registry/src/web/web-routes.js';
import { ORIGIN, openRegistryPair, type Pair, type RegistryPair, SHOWN } from './registry-pairs.js';
import type { World } from './seen-world.js';

/** Follows every link of everything readable in two registries, of which one hides things, and compares the answers. */

/** Values of path parameters, of what is public. */
const PARAMETERS: Readonly<Record<string, string>> = {
  ...{ group: SHOWN.group, kind: 'SetLabels', release: '1.1.0', version: 'v1', name: SHOWN.catalog },
  ...{ snapshot: '1', profile: 'kustomize-prototype', source: 'ours', team: 'tools', policy: 'shown' },
  ...{ part: 'functions-1' },
};

const WORDS = [
  ...[
    '',
    'labels',
    'label',
    'lables',
    'set',
    'sets',
    'setlabels',
    'hidden',
    'rarely',
    'zyzzyva',
    'zyzzyvas',
    'secret',
  ],
  ...[
    'secrets',
    'secretly',
    'theirs',
    'namespace',
    'namespaces',
    'resources',
    'last',
    'former',
    'setlbels',
    'annotation',
  ],
  ...[
    '-hidden',
    'set -zyzzyva',
    '"sets labels"',
    'kind:set',
    'removed',
    'yanked',
    'does',
    'what its name says',
  ],
];
const QUERIES = [
  ...WORDS.flatMap((word) => [`q=${encodeURIComponent(word)}`, `q=${encodeURIComponent(word)}&limit=1`]),
  ...[
    'sort=name',
    'sort=newest',
    'sort=newest&limit=1',
    'limit=1',
    'limit=2',
    'kind=SetLabels',
    'kind=Zyzzyva',
  ],
  ...[
    'tag=mutator',
    'tag=zyzzyva',
    'group=secret.example.com',
    'catalog=vault',
    'catalog=selected',
    'owner=secrets',
  ],
  ...[
    'owner=tools',
    'publisher=Example+Co',
    'license=Apache-2.0',
    'runtime=container',
    'signed=false',
    'pinned=true',
  ],
  ...['deprecated=true', 'image=registry.example.com/setlabels'],
];

const LISTS = [
  '/api/v1/events',
  '/api/v1/revocations',
  '/events',
  '/api/v1/catalogs',
  '/api/v1/owners',
  '/owners',
];
const PAGES = ['', '?limit=1', '?limit=2', '?limit=100'];
const REPOSITORIES = [
  SHOWN.repository,
  `functions/${SHOWN.group}/setlabels`,
  `scripts/${SHOWN.group}/setlabels`,
  ...['catalogs/selected', 'catalogs/default'],
];

/** Where following begins. */
const SEEDS = [
  ...[...Object.values(ROUTES), ...WEB_ROUTES.map(([, route]) => route)]
    .filter(({ method }) => method === 'get')
    .map(({ path }) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => PARAMETERS[name] ?? 'none')),
  ...[
    '/api/v1/functions',
    '/functions',
    '/catalogs/selected',
    '/catalogs/default',
    '/functions.atom',
  ].flatMap((path) => QUERIES.map((query) => `${path}?${query}`)),
  ...WORDS.map((word) => `/suggestions?q=${encodeURIComponent(word)}`),
  ...LISTS.flatMap((path) => PAGES.map((query) => path + query)),
  ...['', '?n=1', '?n=2', '?n=100&last=team'].map((query) => `/v2/_catalog${query}`),
  ...REPOSITORIES.flatMap((repository) =>
    ['tags/list', 'manifests/1', 'manifests/latest'].map((rest) => `/v2/${repository}/${rest}`),
  ),
  ...['selected', 'default'].flatMap((name) =>
    ['catalog.yaml', 'snapshots', 'snapshot.sigstore.json', 'snapshots/1/report.json'].map(
      (file) => `/catalogs/${name}/${file}`,
    ),
  ),
];

/** Counts of the whole registry, which docs/operate-monitoring.md says. */
const TOLD = new Set(['/metrics']);

/** Links that each viewer follows; pages of searches have endlessly many. */
const MOST = process.env.KRMHUB_TEST_FULL_SIZE === '1' ? 20_000 : 1_500;

/**
 * Makes equal what differs between any two registries: times, IDs, digests and signatures of what has a time, and numbers
 * of events, of which docs/access.md says that they are numbers among all.
 */
function comparable(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?/g, 'TIME')
    .replaceAll(/\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT/g, 'TIME')
    .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID')
    .replaceAll(/[\da-f]{64}/g, 'DIGEST')
    .replaceAll(/"sequence":\d+|\b(?:after|before)=\d+|"next":"?\d+"?|\bevent-\d+/g, 'EVENT')
    .replaceAll(/[\w+/-]{60,}={0,2}/g, 'BYTES');
}

function linksIn(text: string, type: string): string[] {
  const pattern = type.includes('json')
    ? /"((?:http:\/\/registry\.test)?\/[^"\s]*)"/g
    : /(?:href|src|action)="([^"]+)"|<loc>([^<]+)/g;
  return [...text.matchAll(pattern)]
    .map(([, link, location]) => (link ?? location ?? '').replaceAll('&amp;', '&').replace(ORIGIN, ''))
    .filter((link) => /^\/(?!\/|assets|docs|reference|download)/.test(link))
    .map((link) => link.replace(/#.*/, ''));
}

interface Answer {
  text: string;
  links: string[];
}

async function answer(world: World, target: string, headers: Record<string, string>): Promise<Answer> {
  const response = await world.request(target, {
    headers: { ...headers, 'X-Request-Id': 'same', 'Accept-Encoding': 'identity' },
  });
  const body = await response.text();
  const fields = [...response.headers]
    .filter(([name]) => !['date', 'content-length'].includes(name))
    .map((field) => field.join(': '));
  const text = [response.status, ...fields.sort(), body].join('\n');
  return {
    text: comparable(text),
    links: linksIn(body, response.headers.get('content-type') ?? ''),
  };
}

function firstDifference(one: string, other: string): number | undefined {
  if (one === other) return undefined;
  let at = 0;
  while (one[at] === other[at]) at += 1;
  return at;
}

/** Returns what differs, and how many answers are equal. */
async function compareAll({ worlds }: RegistryPair, { name, headers }: RegistryPair['viewers'][number]) {
  const waiting: Pair<string>[] = SEEDS.filter((path) => !TOLD.has(path)).map((path) => [path, path]);
  const known = new Set([...SEEDS.map(comparable), ...TOLD]);
  const wrong: string[] = [];
  let equal = 0;
  for (const targets of waiting) {
    if (equal + wrong.length === MOST) break;
    const [hiding, plain] = await Promise.all([
      answer(worlds[0], targets[0], headers[0]),
      answer(worlds[1], targets[1], headers[1]),
    ]);
    const at = firstDifference(hiding.text, plain.text);
    if (at !== undefined) {
      const [given, other] = [hiding, plain].map(({ text }) => text.slice(Math.max(0, at - 100), at + 100));
      wrong.push(`${targets[0]} by ${name}: ${given}, and without what is hidden: ${other}`);
      continue;
    }
    equal += 1;
    for (const [number, link] of hiding.links.entries()) {
      const key = comparable(link);
      if (known.has(key)) continue;
      known.add(key);
      waiting.push([link, plain.links[number]!]);
    }
  }
  return { wrong, equal };
}

it.each([
  ['internal', 'those without a token'],
  ['private', 'those with a token without the right'],
] as const)('tells nothing of what is %s, in any answer to %s', async (hides, _) => {
  const pair = await openRegistryPair(hides);
  try {
    for (const viewer of pair.viewers) {
      const { wrong, equal } = await compareAll(pair, viewer);
      expect(wrong).toEqual([]);
      expect(equal).toBeGreaterThan(SEEDS.length);
    }
  } finally {
    await pair.close();
  }
});
