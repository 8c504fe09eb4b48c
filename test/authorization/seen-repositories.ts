import type { OciRouteName } from '@krmhub/oci';
import { OCI_TEMPLATES } from '../../apps/registry/src/oci/templates.js';
import { LETTERS, type Letter, namesWith } from './seen-names.js';
import type { ListRead, NamedRead } from './seen-routes.js';
import type { World } from './seen-world.js';

/** Repositories by what decides who may see them. */
const REPOSITORIES = {
  functions: ({ group, kind }: ReturnType<typeof namesWith>) => `functions/${group}/${kind.toLowerCase()}`,
  catalogs: ({ catalog }: ReturnType<typeof namesWith>) => `catalogs/${catalog}`,
  repositories: ({ repository }: ReturnType<typeof namesWith>) => repository,
  scripts: ({ group, kind }: ReturnType<typeof namesWith>) => `scripts/${group}/${kind.toLowerCase()}`,
};
type Kind = keyof typeof REPOSITORIES;
const KINDS = Object.keys(REPOSITORIES) as Kind[];
const TAGS: Record<Kind, string> = { functions: '1.1.0', catalogs: '1', repositories: '1', scripts: '1' };

/** Digests of what has a letter; paths of what does not exist have those of the private one. */
export type Digests = Record<
  Letter,
  { bundle: string; snapshot: string; manifests: Record<Kind, string>; blobs: Record<Kind, string[]> }
> & {
  /** Of the newest snapshot of the public catalog. */
  serial: number;
};

/** Reads the digests in paths as an administrator. */
export async function readDigests(world: World): Promise<Digests> {
  const headers = { Authorization: world.admin };
  const json = async <Body>(target: string) =>
    (await (await world.request(target, { headers })).json()) as Body;
  const newest = async (catalog: string) =>
    (await json<{ snapshots: { digest: string; serial: number }[] }>(`/catalogs/${catalog}/snapshots`))
      .snapshots[0]!;
  const found: Partial<Digests> = { serial: (await newest('default')).serial };
  for (const letter of Object.values(LETTERS)) {
    const names = namesWith(letter);
    const { bundles } = await json<{ bundles: { digest: string }[] }>(
      `/api/v1/functions/${names.group}/${names.kind}/releases/1.1.0/bundles`,
    );
    const manifests: Partial<Record<Kind, string>> = {};
    const blobs: Partial<Record<Kind, string[]>> = {};
    for (const kind of KINDS) {
      const manifest = await world.request(`/v2/${REPOSITORIES[kind](names)}/manifests/${TAGS[kind]}`, {
        headers,
      });
      manifests[kind] = manifest.headers.get('docker-content-digest')!;
      const { config, layers } = (await manifest.json()) as Record<'config', { digest: string }> & {
        layers: { digest: string }[];
      };
      blobs[kind] = [config, ...layers].map(({ digest }) => digest);
    }
    found[letter] = {
      bundle: bundles[0]!.digest,
      snapshot: (await newest(names.catalog)).digest,
      manifests: manifests as Record<Kind, string>,
      blobs: blobs as Record<Kind, string[]>,
    };
  }
  return found as Digests;
}

type Target = (of: Digests[Letter], kind: Kind) => string;

/** Targets within a repository; `undefined` for what is no read of a repository. */
const READS: Record<OciRouteName, Readonly<Record<string, Target>> | undefined> = {
  base: undefined,
  // hidden-repositories.test.ts reads what an access token permits.
  token: undefined,
  repositories: undefined,
  tags: { '': () => 'tags/list', 'in pages': () => 'tags/list?n=1' },
  manifest: {
    '': (_, kind) => `manifests/${TAGS[kind]}`,
    latest: () => 'manifests/latest',
    'that was taken down': () => 'manifests/0.9.0',
    'by digest': ({ manifests }, kind) => `manifests/${manifests[kind]}`,
  },
  blob: {
    configuration: ({ blobs }, kind) => `blobs/${blobs[kind][0]}`,
    layer: ({ blobs }, kind) => `blobs/${blobs[kind].at(-1)}`,
  },
  uploads: undefined,
  // Only a client that may push reads it, and may know who owns the group.
  upload: undefined,
  referrers: {
    '': ({ manifests }, kind) => `referrers/${manifests[kind]}`,
    'of a type': ({ manifests }, kind) => `referrers/${manifests[kind]}?artifactType=x`,
  },
};

/** Every read of the OCI registry. */
export function seenRepositories(digests: Digests): { named: NamedRead[]; lists: ListRead[] } {
  const routes = Object.entries(READS) as [OciRouteName, (typeof READS)[OciRouteName]][];
  const named = KINDS.flatMap((kind) =>
    routes.flatMap(([route, targets = {}]) =>
      Object.entries(targets).map(
        ([name, target]): NamedRead => ({
          route: `${kind}: ${OCI_TEMPLATES[route]} ${name}`,
          of: [kind === 'scripts' ? 'functions' : kind],
          status: 0,
          path: (letter) =>
            `/v2/${REPOSITORIES[kind](namesWith(letter))}/${target(digests[letter as Letter] ?? digests.y, kind)}`,
        }),
      ),
    ),
  );
  return {
    named,
    lists: [
      { route: 'base', path: '/v2/', names: false },
      { route: 'repositories', path: '/v2/_catalog', names: true },
      { route: 'repositories', path: '/v2/_catalog?n=1', names: false },
    ],
  };
}
