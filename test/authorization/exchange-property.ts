import { randomUUID } from 'node:crypto';
import type { ExchangedToken, Problem } from '@krmhub/api/model';
import { type Claims, publisherTarget, type TrustedPublisher } from '@krmhub/catalog';
import type { JWK } from 'jose';
import { expect } from 'vitest';
import { AUDIENCE, GITHUB, RUN, TestIssuer } from '../../apps/registry/src/testing/test-issuer.js';
import { openTestRegistry, type TestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { randomNumbers } from '../replicas/random.js';

/** Random publishers of several providers, issuers, and teams, and random tokens, against a model of the exchange. */

const GROUPS = ['a.example.com', 'b.example.com', 'secret.example.com', 'unowned.example.com'] as const;
type Group = (typeof GROUPS)[number];

interface World {
  owners: Partial<Record<Group, string>>;
  /** Groups in which the team `red` may publish. */
  granted: readonly Group[];
}

const WORLDS: readonly World[] = [
  { owners: { 'a.example.com': 'red', 'b.example.com': 'blue', 'secret.example.com': 'red' }, granted: [] },
  {
    owners: { 'a.example.com': 'blue', 'b.example.com': 'blue', 'unowned.example.com': 'red' },
    granted: ['a.example.com'],
  },
  { owners: { 'a.example.com': 'red', 'secret.example.com': 'blue' }, granted: ['secret.example.com'] },
];

function accessText({ owners, granted }: World): string {
  const groups = Object.entries(owners).map(([pattern, owner]) => ({
    ...{ pattern, owner },
    ...(pattern === 'secret.example.com' ? { visibility: 'private' } : {}),
  }));
  return JSON.stringify({
    apiVersion: 'krmhub.dev/v1alpha1',
    kind: 'Access',
    metadata: { name: 'registry' },
    spec: {
      teams: [{ name: 'red' }, { name: 'blue' }],
      groups,
      grants: granted.map((group) => ({ to: { team: 'red' }, may: ['publish'], in: { group } })),
    },
  });
}

/** Whether the team of a publisher may publish in its group. */
function mayPublish({ group, team }: TrustedPublisher, { owners, granted }: World): boolean {
  const owner = owners[group as Group];
  if (team === undefined) return owner === undefined;
  return owner === team || (team === 'red' && granted.includes(group as Group));
}

const SERVER = 'https://github.example.com/_services/token';
const GITLAB = 'https://gitlab.example.com';
const CI = 'https://ci.example.com';
/** Its keys cannot be fetched. */
const AWAY = 'https://away.example.com';
/** An issuer signs with keys that it serves; `stranger` and `twin` sign in its name, `twin` with the ID of a key of it. */
type Signer = 'own' | 'stranger' | 'twin';
const SIGNERS: readonly Signer[] = ['own', 'stranger', 'twin'];
const ISSUERS = { [GITHUB]: ['own'], [SERVER]: SIGNERS, [GITLAB]: SIGNERS, [CI]: SIGNERS, [AWAY]: SIGNERS };

interface SentToken {
  issuer: string;
  signer: Signer;
  claims: Claims;
  text: string;
  hasExpired: boolean;
}

/** What identifies a token of a signer. */
const identity = ({ issuer, signer, claims: { jti }, text }: SentToken) =>
  [issuer, signer, typeof jti === 'string' ? jti : text.slice(0, text.lastIndexOf('.'))].join(' ');

/** Whether a publisher wants these claims, by the rules of its provider. */
function wants({ provider, settings, pins }: TrustedPublisher, claims: Claims): boolean {
  const same = (a: unknown, b: unknown) => String(a).toLowerCase() === String(b).toLowerCase();
  const isText = (aud: unknown) => aud === AUDIENCE;
  const isPinned = (name: string, found: unknown) => (pins[name] ?? found) === found;
  if (provider === 'github') {
    const [path, file] = String(claims.workflow_ref).split('@')[0]!.split('/.github/workflows/');
    const { environment, ref } = settings;
    return (
      isText(claims.aud) &&
      typeof claims.jti === 'string' &&
      same(claims.repository, settings.repository) &&
      same(path, claims.repository) &&
      file === settings.workflow &&
      (environment === undefined || same(environment, claims.environment)) &&
      (ref === undefined || String(claims.ref).startsWith(ref.replace('*', ''))) &&
      isPinned('repositoryId', claims.repository_id) &&
      isPinned('ownerId', claims.repository_owner_id) &&
      claims.event_name === 'push'
    );
  }
  if (provider === 'gitlab') {
    return (
      isText(claims.aud) &&
      typeof claims.jti === 'string' &&
      same(claims.project_path, settings.project) &&
      isPinned('projectId', claims.project_id) &&
      isPinned('namespaceId', claims.namespace_id) &&
      claims.ref_protected === 'true' &&
      claims.pipeline_source === 'push'
    );
  }
  if (provider === 'kubernetes') {
    const { namespace, serviceaccount } = claims['kubernetes.io'] as {
      namespace: string;
      serviceaccount: { name: string; uid: string };
    };
    return (
      (isText(claims.aud) || JSON.stringify(claims.aud) === JSON.stringify([AUDIENCE])) &&
      namespace === settings.namespace &&
      serviceaccount.name === settings.serviceAccount &&
      isPinned('serviceAccountUid', serviceaccount.uid)
    );
  }
  return isText(claims.aud) && claims.sub === settings.subject;
}

type TestOptions = NonNullable<Parameters<typeof openTestRegistry>[0]>;

/** What the exchange does: publishes in these targets, or refuses with one of these statuses. */
type Expected = { targets: readonly string[] } | { statuses: readonly number[] };

/** `GROUP/KIND` says nothing beside `GROUP`. */
function covered(targets: readonly string[]): string[] {
  const all = new Set(targets);
  return [...all].filter((one) => !one.includes('/') || !all.has(one.split('/')[0]!)).sort();
}

class Exchanges {
  readonly #random: () => number;
  readonly #signers: ReadonlyMap<string, Record<Signer, TestIssuer>>;
  readonly #sent: SentToken[] = [];
  readonly #used = new Set<string>();
  #world: World = WORLDS[0]!;
  registry!: TestRegistry;
  readonly counts = { published: 0, refused: 0, used: 0, conflicts: 0 };

  constructor(seed: number, signers: ReadonlyMap<string, Record<Signer, TestIssuer>>) {
    this.#random = randomNumbers(seed);
    this.#signers = signers;
  }

  async open({ config, ...options }: TestOptions): Promise<void> {
    this.registry = await openTestRegistry({
      ...options,
      config: { publicUrl: AUDIENCE, ...config },
      fetchIssuer: async (url) => {
        const found = [...this.#signers].find(([issuer]) => url.startsWith(`${issuer}/`));
        if (found === undefined || found[0] === AWAY) throw new Error('connection refused');
        return found[1].own.fetch(url);
      },
    });
  }

  #any<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#random() * values.length)]!;
  }

  /** Some of the values, at least one. */
  #some<Value>(values: readonly Value[]): Value[] {
    const found = values.filter(() => this.#random() < 0.5);
    return found.length === 0 ? [this.#any(values)] : found;
  }

  /** Often the one whose publishers have most in common. */
  #anyIssuer(): keyof typeof ISSUERS {
    const all = Object.keys(ISSUERS) as (keyof typeof ISSUERS)[];
    return this.#any([CI, CI, CI, ...all] as const);
  }

  #keyId(issuer: string, signer: Signer): string {
    const signers = this.#signers.get(issuer)!;
    return signers[signer === 'twin' ? 'own' : signer].keySet().keys[0]!.kid!;
  }

  #key(issuer: string, signer: Signer): JWK {
    const [key] = this.#signers.get(issuer)![signer].keySet().keys;
    return { ...(key as JWK), kid: this.#keyId(issuer, signer) };
  }

  async setWorld(world: World): Promise<void> {
    this.#world = world;
    const headers = { Authorization: await this.registry.bearer(), 'Content-Type': 'application/yaml' };
    const body = accessText(world);
    const response = await this.registry.request('/api/v1/access', {
      method: 'PUT',
      headers,
      body,
    });
    expect(response.status, await response.text()).toBe(200);
  }

  anyWorld = () => this.setWorld(this.#any(WORLDS));

  /** Adds a publisher; one that exists is refused. */
  async addPublisher(): Promise<void> {
    const issuer = this.#anyIssuer();
    const keys = this.#any([undefined, ['own'], ['stranger'], ['twin'], ['stranger', 'twin']] as const);
    const takesKeys = issuer !== GITHUB && issuer !== SERVER;
    const { status, body } = await this.registry.send('POST', '/api/v1/trusted-publishers', {
      group: this.#any(GROUPS),
      ...this.#any([{}, { kind: 'SetLabels' }]),
      issuer,
      ...this.#workflow(issuer),
      ...(takesKeys && keys !== undefined
        ? { keys: JSON.stringify({ keys: keys.map((signer) => this.#key(issuer, signer)) }) }
        : {}),
    });
    expect([201, 409], JSON.stringify(body)).toContain(status);
  }

  #workflow(issuer: string): object {
    if (issuer === GITHUB || issuer === SERVER) {
      const settings = {
        repository: this.#any(['a/one', 'A/One', 'b/one']),
        workflow: 'release.yml',
        ...this.#any([{}, { environment: 'Release' }, { ref: 'refs/tags/*' }]),
      };
      return { provider: 'github', settings, ...this.#any([{}, {}, { pins: { repositoryId: '1' } }]) };
    }
    if (issuer === GITLAB) {
      return { provider: 'gitlab', settings: { project: this.#any(['a/one', 'b/one']) } };
    }
    const [namespace, subject] = [this.#any(['a', 'a', 'b']), this.#any(['a', 'a', 'b'])];
    return this.#any([
      { provider: 'custom', settings: { subject } },
      { provider: 'kubernetes', settings: { namespace, serviceAccount: subject } },
    ]);
  }

  async removePublisher(): Promise<void> {
    const all = await this.registry.parts.store.trustedPublishers();
    if (all.length === 0) return;
    const headers = { Authorization: await this.registry.bearer() };
    const target = `/api/v1/trusted-publishers/${this.#any(all).id}`;
    expect((await this.registry.request(target, { method: 'DELETE', headers })).status).toBe(204);
  }

  async #sign(): Promise<SentToken> {
    const issuer = this.#anyIssuer();
    const signer = this.#any(ISSUERS[issuer]) as Signer;
    const [repository, id] = [this.#any(['a/one', 'A/one', 'b/one']), this.#any(['1', '1', '2'])];
    const hasExpired = this.#random() < 0.05;
    const now = this.registry.parts.clock();
    const at = Math.floor(now.getTime() / 1000);
    const claims = {
      ...RUN,
      aud: this.#any([AUDIENCE, AUDIENCE, AUDIENCE, AUDIENCE, [AUDIENCE], [AUDIENCE, CI], CI, '']),
      sub: this.#any(['a', 'a', 'b']),
      jti: this.#any([randomUUID(), randomUUID(), randomUUID(), 'shared', undefined]),
      repository,
      repository_id: id,
      workflow_ref: `${repository}/.github/workflows/${this.#any(['release.yml', 'release.yml', 'x.yml'])}@refs/tags/v1`,
      ref: this.#any(['refs/tags/v1', 'refs/heads/main']),
      environment: this.#any([undefined, 'release']),
      event_name: this.#any(['push', 'push', 'push', 'workflow_run']),
      project_path: repository,
      project_id: id,
      namespace_id: id,
      ref_protected: this.#any(['true', 'true', 'false']),
      pipeline_source: this.#any(['push', 'push', 'merge_request_event']),
      'kubernetes.io': {
        namespace: this.#any(['a', 'a', 'b']),
        serviceaccount: { name: this.#any(['a', 'a', 'b']), uid: id },
      },
      ...(hasExpired ? { exp: at - 60 } : {}),
    };
    const header = { kid: this.#keyId(issuer, signer) };
    const text = await this.#signers.get(issuer)![signer].sign(claims, { now, header });
    return { issuer, signer, claims, text, hasExpired };
  }

  /** Whether a token is signed as a publisher wants it: by the issuer, or with a key that its owner gave. */
  #isSigned({ issuer, keys }: TrustedPublisher, token: SentToken): boolean {
    if (issuer !== token.issuer) return false;
    if (keys === undefined) return token.signer === 'own' && issuer !== AWAY;
    const { kid, n } = this.#key(issuer, token.signer);
    return (JSON.parse(keys) as { keys: JWK[] }).keys.some((key) => key.kid === kid && key.n === n);
  }

  #expected(
    token: SentToken,
    groups: readonly string[] | undefined,
    all: readonly TrustedPublisher[],
  ): Expected {
    const accepting = all.filter(
      (one) =>
        (groups?.includes(one.group) ?? true) && wants(one, token.claims) && mayPublish(one, this.#world),
    );
    const matching = accepting.filter((one) => this.#isSigned(one, token));
    if (token.hasExpired || matching.length === 0) return { statuses: [401, 403, 503] };
    // In the groups that accept a given key, also those that only the issuer could say to be meant.
    const keyed = new Set(matching.flatMap(({ group, keys }) => (keys === undefined ? [] : [group])));
    const others = accepting.filter(
      ({ group, issuer, keys }) => issuer === token.issuer && keys === undefined && keyed.has(group),
    );
    if (new Set([...matching, ...others].map(({ team }) => team)).size > 1) return { statuses: [409] };
    if (this.#used.has(identity(token))) return { statuses: [401] };
    return { targets: covered(matching.map(publisherTarget)) };
  }

  async exchange(): Promise<void> {
    const again = this.#sent.length > 0 && this.#random() < 0.15;
    const token = again ? this.#any(this.#sent) : await this.#sign();
    const groups = this.#any([undefined, this.#some(GROUPS), this.#some(GROUPS)]);
    const all = await this.registry.parts.store.trustedPublishers();
    const expected = this.#expected(token, groups, all);
    const { status, body } = await this.registry.send<ExchangedToken & Problem>(
      'POST',
      '/api/v1/oidc/token',
      {
        token: token.text,
        ...(groups === undefined ? {} : { groups }),
      },
    );
    const about = () =>
      JSON.stringify(
        { status, body, token: { ...token, text: '' }, groups, world: this.#world, all },
        null,
        1,
      );
    if ('targets' in expected) {
      expect([status, covered(body.publishes ?? [])], about()).toEqual([201, expected.targets]);
      this.#used.add(identity(token));
      this.#sent.push(token);
      this.counts.published += 1;
      await this.#checkToken(body.token, expected.targets);
      return;
    }
    expect(expected.statuses, about()).toContain(status);
    if (status === 409) this.counts.conflicts += 1;
    else if (body.detail.includes('exchanged before')) this.counts.used += 1;
    else this.counts.refused += 1;
  }

  /** A token publishes in its groups and nowhere else. */
  async #checkToken(secret: string, targets: readonly string[]): Promise<void> {
    const headers = { Authorization: `Bearer ${secret}` };
    const response = await this.registry.request('/api/v1/whoami', { headers });
    const { groups, scopes } = (await response.json()) as { groups: string[]; scopes: string[] };
    expect([covered(groups), scopes]).toEqual([targets, ['publish']]);
  }
}

/** Making keys takes most of the time. */
let signers: ReturnType<typeof createSigners> | undefined;

async function createSigners(): Promise<ReadonlyMap<string, Record<Signer, TestIssuer>>> {
  const found = new Map<string, Record<Signer, TestIssuer>>();
  for (const issuer of Object.keys(ISSUERS)) {
    const [own, stranger, twin] = await Promise.all(SIGNERS.map(() => TestIssuer.create(issuer)));
    found.set(issuer, { own: own!, stranger: stranger!, twin: twin! });
  }
  return found;
}

/** Fails where an exchange does not as the model says. */
export async function expectExchangesAsModel(
  { seed, steps }: { seed: number; steps: number },
  options: TestOptions = {},
): Promise<Exchanges['counts']> {
  signers ??= createSigners();
  const exchanges = new Exchanges(seed, await signers);
  await exchanges.open(options);
  try {
    await exchanges.setWorld(WORLDS[0]!);
    for (let count = 0; count < 40; count += 1) await exchanges.addPublisher();
    for (let step = 0; step < steps; step += 1) {
      if (step % 10 === 9) await exchanges.anyWorld();
      if (step % 10 === 5) await exchanges.removePublisher();
      if (step % 5 === 0) await exchanges.addPublisher();
      await exchanges.exchange();
    }
    return exchanges.counts;
  } finally {
    await exchanges.registry.close();
  }
}
