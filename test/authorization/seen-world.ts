import { definitionText } from '../../apps/registry/src/testing/test-registry.js';

/** A token to make; lists that are absent cover everything. */
export interface WantedToken {
  name: string;
  scopes: string[];
  groups?: string[];
  repositories?: string[];
  team?: string;
}

/** A registry at its port, whatever runs behind it. */
export interface World {
  request(target: string, init?: RequestInit): Promise<Response>;
  /** The value of `Authorization` of an administrator. */
  admin: string;
  applyAccess(text: string): Promise<void>;
  /** Returns the secret of a new token. */
  createToken(wanted: WantedToken): Promise<string>;
  /** Resolves when the catalogs include all changes. */
  settle(): Promise<void>;
}

/**
 * Everything exists once for each visibility, with names of the same length and shape that differ in one letter, so that
 * the answers for a hidden name and for one that does not exist can be compared byte by byte.
 */
export const LETTERS = { public: 'w', internal: 'x', private: 'y' } as const;
/** Nothing has the names with this letter. */
export const ABSENT = 'z';

export type Letter = (typeof LETTERS)[keyof typeof LETTERS];

export const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  teams:
  - {name: granted}
  - {name: others}
  - {name: team-${name('w')}, displayName: Team of ${name('w')}, contact: ${name('w')}@example.com}
  - {name: team-${name('x')}, displayName: Team of ${name('x')}, contact: ${name('x')}@example.com}
  - {name: team-${name('y')}, displayName: Team of ${name('y')}, contact: ${name('y')}@example.com}
  groups:
  - {pattern: ${name('w')}.example.com, owner: team-${name('w')}}
  - {pattern: ${name('x')}.example.com, visibility: internal, owner: team-${name('x')}}
  - {pattern: ${name('y')}.example.com, visibility: private, owner: team-${name('y')}}
  catalogs:
  - {pattern: cat-${name('x')}, visibility: internal}
  - {pattern: cat-${name('y')}, visibility: private}
  repositories:
  - {pattern: team/${name('x')}, visibility: internal}
  - {pattern: team/${name('y')}, visibility: private}
  grants:
  - {to: {team: granted}, may: [read], in: {group: ${name('y')}.example.com}}
  - {to: {team: granted}, may: [read], in: {catalog: cat-${name('y')}}}
  - {to: {team: granted}, may: [read], in: {repository: team/${name('y')}}}
`;

function name(letter: string): string {
  return letter.repeat(8);
}

/** The names of what has a letter. */
export function namesWith(letter: string) {
  const group = `${name(letter)}.example.com`;
  const kind = letter.toUpperCase() + name(letter);
  return {
    group,
    kind,
    catalog: `cat-${name(letter)}`,
    repository: `team/${name(letter)}`,
    team: `team-${name(letter)}`,
    word: name(letter),
  };
}

/** Returns text about what is hidden as it would be about what does not exist. */
export function asAbsent(text: string, letter: string): string {
  return text.replaceAll(new RegExp(`${letter}{6,}`, 'gi'), (found) =>
    found.replaceAll(letter, ABSENT).replaceAll(letter.toUpperCase(), ABSENT.toUpperCase()),
  );
}

/** Reports whether text names something with the letter. */
export function namesLetter(text: string, letter: string): boolean {
  return new RegExp(`${letter}{6,}`, 'i').test(text);
}

/** Who asks, and the letters that they may see, apart from what the access rules decide. */
export interface Viewer {
  name: string;
  headers: Record<string, string>;
  functions: readonly Letter[];
  catalogs: readonly Letter[];
  repositories: readonly Letter[];
}

export const ADMINISTRATOR = 'an administrator';

const PUBLIC: readonly Letter[] = ['w'];
const INTERNAL: readonly Letter[] = ['w', 'x'];
const EVERYTHING: readonly Letter[] = ['w', 'x', 'y'];

/** Makes one of everything for each letter, and the tokens that look at it. */
export async function fillWorld(world: World): Promise<Viewer[]> {
  const send = async (method: string, target: string, body: string | object, type = 'application/yaml') => {
    const response = await world.request(target, {
      method,
      headers: { Authorization: world.admin, 'Content-Type': type },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${await response.text()}`);
    return response;
  };
  for (const letter of EVERYTHING) {
    const { group, kind, catalog, repository, word } = namesWith(letter);
    for (const release of ['1.0.0', '1.1.0']) {
      const text = definitionText({
        group,
        kind,
        release,
        description: `Does ${word} things.`,
        tags: ['mutator', word],
      });
      const form = new FormData();
      form.append('definition', new Blob([text], { type: 'application/yaml' }), 'definition.yaml');
      form.append(
        'readme',
        new Blob([`# ${kind}\n\nAbout ${word}.\n`], { type: 'text/markdown' }),
        'README.md',
      );
      const path = `/api/v1/functions/${group}/${kind}/releases/${release}`;
      const published = await world.request(path, {
        method: 'PUT',
        headers: { Authorization: world.admin },
        body: form,
      });
      if (!published.ok) throw new Error(`${path}: ${await published.text()}`);
    }
    const reason = { reason: `for ${word}` };
    await send('POST', `/api/v1/functions/${group}/${kind}/releases/1.0.0/yank`, reason, 'application/json');
    await send('PUT', `/api/v1/catalogs/${catalog}`, recipe(catalog, group));
    for (const pushed of [repository, `scripts/${group}/${kind.toLowerCase()}`])
      await pushArtifact(world, pushed, word);
  }
  await world.applyAccess(ACCESS);
  await world.settle();
  const viewer = async (
    label: string,
    wanted: Omit<WantedToken, 'name'>,
    functions: readonly Letter[],
    catalogs = functions,
    repositories = catalogs,
  ): Promise<Viewer> => ({
    name: label,
    headers: { Authorization: `Bearer ${await world.createToken({ name: label, ...wanted })}` },
    functions,
    catalogs,
    repositories,
  });
  const y = namesWith('y');
  const gone = await send('POST', '/api/v1/tokens', { name: 'gone', scopes: ['admin'] }, 'application/json');
  const { id, token: secret } = (await gone.json()) as { id: string; token: string };
  await world.request(`/api/v1/tokens/${id}`, { method: 'DELETE', headers: { Authorization: world.admin } });
  const anonymous = { functions: PUBLIC, catalogs: PUBLIC, repositories: PUBLIC };
  return [
    { name: 'nobody', headers: {}, ...anonymous },
    { name: 'a wrong token', headers: { Authorization: 'Bearer krmhub_wrong' }, ...anonymous },
    { name: 'a revoked administrator', headers: { Authorization: `Bearer ${secret}` }, ...anonymous },
    { name: ADMINISTRATOR, headers: { Authorization: world.admin }, ...everywhere() },
    await viewer('pusher', { scopes: ['push'], repositories: ['other/*'] }, INTERNAL),
    await viewer(
      'reader of another group',
      { scopes: ['read'], groups: ['other.example.com'], repositories: ['other/*'] },
      INTERNAL,
    ),
    await viewer(
      'reader of the group',
      { scopes: ['read'], groups: [y.group], repositories: ['other/*'] },
      EVERYTHING,
      INTERNAL,
    ),
    await viewer(
      'reader of the repository',
      {
        scopes: ['read'],
        groups: ['other.example.com'],
        repositories: [y.repository, `catalogs/${y.catalog}`],
      },
      INTERNAL,
      EVERYTHING,
    ),
    await viewer('publisher of the group', { scopes: ['publish'], groups: [y.group] }, EVERYTHING, INTERNAL),
    await viewer('owners', { scopes: ['read'], team: y.team }, EVERYTHING, INTERNAL),
    await viewer(
      'owners elsewhere',
      { scopes: ['read'], team: y.team, groups: ['other.example.com'] },
      INTERNAL,
    ),
    await viewer('granted', { scopes: ['read'], team: 'granted' }, EVERYTHING),
    await viewer('others', { scopes: ['read', 'publish', 'yank'], team: 'others' }, INTERNAL),
  ];
}

function everywhere() {
  return { functions: EVERYTHING, catalogs: EVERYTHING, repositories: EVERYTHING };
}

function recipe(catalog: string, group: string): string {
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${catalog}}
spec:
  description: Functions of ${group}.
  sources: [{name: ours, functions: {}, match: [{group: ${group}}]}]
`;
}

/** Pushes a manifest with one small layer, tagged `1`. */
async function pushArtifact(world: World, repository: string, word: string): Promise<void> {
  const { createHash } = await import('node:crypto');
  const put = async (bytes: string): Promise<{ digest: string; size: number }> => {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const response = await world.request(`/v2/${repository}/blobs/uploads/?digest=${digest}`, {
      method: 'POST',
      headers: { Authorization: world.admin, 'Content-Type': 'application/octet-stream' },
      body: bytes,
    });
    if (response.status !== 201)
      throw new Error(`${repository}: ${response.status} ${await response.text()}`);
    return { digest, size: bytes.length };
  };
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType,
    artifactType: 'application/vnd.example.test',
    config: { mediaType: 'application/vnd.oci.empty.v1+json', ...(await put('{}')) },
    layers: [{ mediaType: 'text/plain', ...(await put(`about ${word}`)) }],
  });
  const response = await world.request(`/v2/${repository}/manifests/1`, {
    method: 'PUT',
    headers: { Authorization: world.admin, 'Content-Type': mediaType },
    body: manifest,
  });
  if (response.status !== 201) throw new Error(`${repository}: ${response.status} ${await response.text()}`);
}
