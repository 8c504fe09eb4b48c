import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { vi } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { catalogText, startUpstream } from '../../apps/registry/src/testing/upstream-server.js';
import { createToken, pushArtifact, send, type WantedToken, type World } from './seen-world.js';

/**
 * Two registries with the same public content, of which one also has things that are hidden. Who may not see them must
 * get the same answers from both, so that counts, orders, cursors, words, and numbers tell nothing either.
 */

/** Of both registries, as browsers of tests send it. */
export const ORIGIN = 'http://registry.test';

/** A change that an administrator makes; a hidden one is made in one of the two registries. */
interface Change {
  /** From nobody, or from all who do not have a right. */
  hidden?: 'internal' | 'private';
  make(world: World, registry: TestRegistry): Promise<unknown>;
}

export const SHOWN = {
  group: 'tools.example.com',
  other: 'apps.example.com',
  catalog: 'selected',
  repository: 'team/shown',
};
const HIDDEN = {
  group: 'secret.example.com',
  inside: 'inside.example.com',
  catalog: 'vault',
  repository: 'team/secret',
};

/** The rules of both registries, and of one of them those of what is hidden. */
function accessOf(withHidden: boolean): string {
  const rules = (...lines: string[]) => (withHidden ? lines : []);
  return [
    'apiVersion: krmhub.dev/v1alpha1',
    'kind: Access',
    'metadata: {name: registry}',
    'spec:',
    '  openGroups: ["*"]',
    '  teams:',
    '  - {name: tools, displayName: Tools}',
    '  - {name: others}',
    ...rules('  - {name: secrets, displayName: Secrets, contact: secrets@example.com}'),
    '  groups:',
    // Everyone may know that something can be hidden: responses say that they depend on the client.
    '  - {pattern: nothing.example.com, visibility: private}',
    `  - {pattern: ${HIDDEN.inside}, visibility: internal}`,
    `  - pattern: ${SHOWN.group}`,
    '    owner: tools',
    ...rules('    functions:', '    - {kind: SetSecrets, visibility: private}'),
    ...rules(
      `  - {pattern: ${HIDDEN.group}, visibility: private, owner: secrets}`,
      '  - {pattern: up-secret.example.com, visibility: private}',
      '  catalogs:',
      `  - {pattern: ${HIDDEN.catalog}, visibility: private}`,
      '  repositories:',
      `  - {pattern: ${HIDDEN.repository}, visibility: private}`,
    ),
    '',
  ].join('\n');
}

function publish(
  group: string,
  kind: string,
  release: string,
  more: { description?: string; tags?: string[] } = {},
) {
  return async (_: World, registry: TestRegistry) => {
    const definition = { group, kind, release, tags: ['mutator', kind.toLowerCase()], ...more };
    const { status, body } = await registry.publish(definition, '', {
      readme: `# ${kind}\n\nUse ${kind} ${release}.\n`,
    });
    if (status >= 300) throw new Error(`${group}/${kind}: ${status} ${JSON.stringify(body)}`);
  };
}

function mark(
  group: string,
  kind: string,
  release: string,
  verb: string,
  body: object = { reason: 'it is old' },
) {
  return (world: World) =>
    send(
      world,
      'POST',
      `/api/v1/functions/${group}/${kind}/releases/${release}/${verb}`,
      body,
      'application/json',
    );
}

/** Applies a recipe, and waits for its first snapshot. */
function recipe(name: string, group: string, upstream: string) {
  return async (world: World, { parts }: TestRegistry) => {
    await send(
      world,
      'PUT',
      `/api/v1/catalogs/${name}`,
      `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  description: Functions of ${group}.
  sources:
  - {name: ours, functions: {}, match: [{group: ${group}}]}
  - {name: theirs, catalog: {url: '${upstream}'}}
`,
    );
    await vi.waitUntil(async () => (await parts.store.catalog(name))?.newest, { timeout: 300_000 });
  };
}

function policy(name: string, group: string): string {
  return `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: ${name}}
spec: {groups: [${group}], signers: [{issuer: https://issuer.example.com, subject: ci}]}
`;
}

function report(name: string, group: string, kinds: readonly string[]) {
  return (world: World) =>
    send(
      world,
      'PUT',
      '/api/v1/consumers',
      { name, releases: kinds.map((kind) => ({ group, kind, version: 'v1', release: '1.0.0' })) },
      'application/json',
    );
}

function changes(origin: string, withHidden: boolean): Change[] {
  const hidden = (make: Change['make']): Change => ({ hidden: 'private', make });
  const inside = (make: Change['make']): Change => ({ hidden: 'internal', make });
  const shown = (make: Change['make']): Change => ({ make });
  const { group, other, catalog, repository } = SHOWN;
  return [
    shown((world) => send(world, 'PUT', '/api/v1/access', accessOf(withHidden))),
    hidden(publish(HIDDEN.group, 'SetLabels', '1.0.0', { description: 'Sets hidden labels.' })),
    shown(publish(group, 'SetLabels', '1.0.0', { description: 'Sets labels of resources.' })),
    hidden(publish(group, 'SetSecrets', '1.0.0')),
    hidden(publish(HIDDEN.group, 'SetLables', '1.0.0', { description: 'Sets lables, rarely seen zyzzyva.' })),
    shown(publish(group, 'SetAnnotations', '1.0.0')),
    inside(publish(HIDDEN.inside, 'SetNamespace', '1.0.0')),
    shown(publish(other, 'SetNamespace', '1.0.0')),
    hidden(publish(HIDDEN.group, 'Other', '1.0.0')),
    hidden(mark(HIDDEN.group, 'Other', '1.0.0', 'takedown')),
    shown(recipe(catalog, group, `${origin}/shown.yaml`)),
    hidden(recipe(HIDDEN.catalog, HIDDEN.group, `${origin}/hidden.yaml`)),
    hidden((world) => pushArtifact(world, HIDDEN.repository, 'secret')),
    shown((world) => pushArtifact(world, repository, 'shown')),
    hidden(publish(HIDDEN.group, 'SetLabels', '1.1.0', { description: 'Sets hidden labels.' })),
    shown(publish(group, 'SetLabels', '1.1.0', { description: 'Sets labels of resources.' })),
    hidden(mark(HIDDEN.group, 'SetLabels', '1.0.0', 'yank')),
    shown(mark(group, 'SetAnnotations', '1.0.0', 'deprecate', { replacement: { group, kind: 'SetLabels' } })),
    inside(
      mark(HIDDEN.inside, 'SetNamespace', '1.0.0', 'deprecate', {
        replacement: { group, kind: 'SetLabels' },
      }),
    ),
    hidden(report('github.com/example/hidden', HIDDEN.group, ['SetLabels'])),
    shown(report('github.com/example/shown', group, ['SetLabels', 'SetAnnotations'])),
    hidden(publish(HIDDEN.group, 'Zyzzyva', '1.0.0')),
    shown(publish(other, 'Removed', '1.0.0')),
    shown(mark(other, 'Removed', '1.0.0', 'takedown')),
    shown(publish(other, 'Yanked', '1.0.0')),
    shown(mark(other, 'Yanked', '1.0.0', 'yank')),
    hidden(publish(HIDDEN.group, 'Last', '1.0.0')),
    hidden((world) => createToken(world, { name: 'more', scopes: ['read'], team: 'secrets' })),
    hidden((world) => pushArtifact(world, `scripts/${HIDDEN.group}/setlabels`, 'script')),
    shown((world) => pushArtifact(world, `scripts/${group}/setlabels`, 'script')),
    shown((world) =>
      send(
        world,
        'PUT',
        '/api/v1/policies',
        withHidden
          ? `${policy('shown', group)}---\n${policy('secret', HIDDEN.group)}`
          : policy('shown', group),
      ),
    ),
  ];
}

/** What a registry with hidden things, and one without them, have at the same place. */
export type Pair<Item> = readonly [hiding: Item, plain: Item];

export interface RegistryPair {
  worlds: Pair<World>;
  /** Who may not see what is hidden. */
  viewers: readonly { name: string; headers: Pair<Record<string, string>> }[];
  close(): Promise<void>;
}

/** Tokens that may see nothing of it. */
const TOKENS: readonly WantedToken[] = [
  { name: 'reader of another group', scopes: ['read'], groups: [SHOWN.other], repositories: ['other/*'] },
  {
    ...{ name: 'publisher of another group', scopes: ['publish', 'yank', 'push'] },
    ...{ groups: [SHOWN.other], repositories: ['other/*'] },
  },
  { name: 'others', scopes: ['read', 'publish'], team: 'others' },
];

/**
 * Fills both registries, of which one has nothing that is private, or nothing that is internal either. They have the same key, so that what they
 * sign differs by its time alone.
 */
export async function openRegistryPair(hides: 'internal' | 'private'): Promise<RegistryPair> {
  const upstream = await startUpstream();
  upstream.files.set('/shown.yaml', catalogText({ Theirs: 'from upstream', Another: 'another one' }));
  upstream.files.set('/hidden.yaml', catalogText({ Secretly: 'from upstream' }, 'up-secret.example.com'));
  const keysFolder = await mkdtemp(path.join(tmpdir(), 'krmhub-keys-'));
  const registries: TestRegistry[] = [];
  const open = async (withHidden: boolean): Promise<World> => {
    const registry = await openTestRegistry({
      sources: { sourceAddresses: ['127.0.0.1'] },
      config: { publicUrl: ORIGIN, keysFolder },
    });
    registries.push(registry);
    const world: World = {
      url: ORIGIN,
      admin: await registry.bearer(),
      request: (target, init) => registry.request(target, init),
    };
    for (const { hidden, make } of changes(upstream.origin, withHidden)) {
      if (!withHidden && (hidden === 'private' || hidden === hides)) continue;
      await make(world, registry);
      // Each change has its own build, so that serials are the same.
      await registry.waitForCatalogs();
    }
    return world;
  };
  const worlds = [await open(true), await open(false)] as const;
  const headersIn = async (world: World, wanted: WantedToken) => ({
    Authorization: `Bearer ${await createToken(world, wanted)}`,
  });
  const viewers: RegistryPair['viewers'][number][] = [];
  // Every token reads what is internal.
  if (hides === 'internal') viewers.push({ name: 'nobody', headers: [{}, {}] });
  else
    for (const wanted of TOKENS)
      viewers.push({
        name: wanted.name,
        headers: [await headersIn(worlds[0], wanted), await headersIn(worlds[1], wanted)],
      });
  return {
    worlds,
    viewers,
    close: async () => {
      for (const registry of registries) await registry.close();
      await upstream.close();
      await rm(keysFolder, { recursive: true });
    },
  };
}
