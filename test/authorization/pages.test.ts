import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type {
  CreatedToken,
  EventPage,
  PendingLogin,
  TokenList,
  TrustedPublisherList,
} from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import type { TokenScope } from '@krmhub/api/token-scopes';
import { createLog, type RunningRegistry, readConfig, startRegistry } from '@krmhub/registry';
import { sha256 } from '@krmhub/schema/digest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestProvider } from '../../apps/registry/src/testing/test-provider.js';
import { definitionText } from '../../apps/registry/src/testing/test-registry.js';
import { isOperatorPath } from '../../apps/registry/src/web/addresses.js';
import type { OPERATE_ROUTES } from '../../apps/registry/src/web/operate/operate-routes.js';
import { WEB_ROUTES } from '../../apps/registry/src/web/web-routes.js';
import { freePort } from '../interop/free-port.js';
import { HEADER_TRICKS, HOST_TRICKS, methodTricks } from './path-tricks.js';
import { type RawRequest, type RawResponse, sendRaw, withHeaders } from './raw-request.js';

/**
 * Every page that changes something × every kind of client, as raw bytes over a socket, with requests that
 * another site can make a browser send. The test decides again who may do what.
 */

const OPEN_TO_ALL = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec: {openGroups: ["*"]}
`;

/** A form of a page that changes something each time. */
interface GuardedPage {
  /** Default: admin. */
  scope?: TokenScope;
  /** `id` is of a new token, `release` a new release of example.com/SetLabels, if the target contains them. */
  target(id: string, release: string): string;
  fields(count: number): Record<string, string>;
  /** What must be so before a request changes something. */
  prepare?(): Promise<void>;
  /** Of permitted users. */
  done: number;
}

const recipe = (count: number) => `# ${count}
apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: platform-${count}}
spec: {sources: [{name: ours, functions: {}}]}
`;

/** Every form that needs a session; the other one is the sign-in form. */
const GUARDED_PAGES: Partial<Record<keyof typeof OPERATE_ROUTES, GuardedPage>> = {
  askSource: {
    target: () => '/operate/sources/collected/elsewhere/ask',
    fields: () => ({}),
    done: 303,
  },
  makeToken: {
    target: () => '/operate/tokens/new',
    fields: (count) => ({
      name: `made ${count}`,
      scopes: 'publish',
      groups: '*',
      repositories: '*',
      expiresInDays: '1',
    }),
    done: 303,
  },
  changeRelease: {
    scope: 'yank',
    target: () => '/operate/releases/example.com/SetLabels/1.0.0',
    fields: (count) => ({ do: 'deprecate', reason: `reason ${count}` }),
    done: 303,
  },
  sendPolicies: {
    target: () => '/operate/policies',
    fields: (count) => ({
      text: `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: team}
spec:
  groups: [policy-${count}.example.com]
  signers: [{issuer: https://issuer.example, subject: ci@example.com}]
`,
      expected: revision,
      do: 'apply',
    }),
    done: 303,
  },
  sendAccess: {
    target: () => '/operate/access',
    fields: (count) => {
      const text = `# ${count}\n${OPEN_TO_ALL}`;
      return { text, expected: revision, shown: sha256(text), do: 'apply' };
    },
    done: 303,
  },
  addPublisherForm: {
    target: () => '/operate/publishers',
    fields: (count) => ({
      target: 'example.com',
      provider: 'google',
      settings: `subject=1${count}`,
    }),
    done: 303,
  },
  removePublisherForm: {
    target: () => '/operate/publishers/PUBLISHER/remove',
    fields: () => ({}),
    done: 303,
  },
  takeDownNow: {
    target: (_, release) => `/operate/releases/example.com/SetLabels/${release}/takedown`,
    fields: () => ({ reason: 'a secret', confirmed: '1' }),
    done: 303,
  },
  answerDeviceLogin: {
    target: () => '/login/device',
    fields: () => ({ code: login?.code ?? '', answer: 'allow' }),
    prepare: async () => {
      login ??= await api<PendingLogin>('POST', fillPath('loginRequests', {}), { client: 'laptop' });
    },
    done: 303,
  },
  revokeTokenNow: { target: (id) => `/operate/tokens/${id}/revoke`, fields: () => ({}), done: 303 },
  suspendUser: {
    target: () => `/operate/users/${user}/suspend`,
    fields: () => ({}),
    prepare: () => changeUser('restore'),
    done: 303,
  },
  restoreUser: {
    target: () => `/operate/users/${user}/restore`,
    fields: () => ({}),
    prepare: () => changeUser('suspend'),
    done: 303,
  },
  signOutUser: {
    target: () => `/operate/users/${user}/sign-out`,
    fields: () => ({}),
    prepare: async () => {
      await changeUser('restore');
      await signInUser();
    },
    done: 303,
  },
  sendRecipe: {
    target: () => `/operate/recipes/platform-${count}`,
    fields: () => ({ text: recipe(count), expected: 'none', do: 'apply' }),
    done: 303,
  },
};

/** Tokens that may sign in. A page is for those with its scope for every group. */
const TOKENS: [name: string, scopes: TokenScope[], groups: string[]][] = [
  ['publish here', ['publish'], ['example.com']],
  ['everything but admin', ['publish', 'yank', 'push'], ['*']],
  ['admin', ['admin'], ['*']],
];

interface Session {
  name: string;
  cookie: string;
  formKey: string;
  scopes: TokenScope[];
}

let folder: string;
let registry: RunningRegistry;
let idp: TestProvider;
/** ID of a user who signed in. */
let user: string;
let port: number;
let origin: string;
let root: string;
let sessions: Session[];
let count = 0;
/** A program that waits for an answer on a page. */
let login: PendingLogin | undefined;
/** Revision of the signing policies. */
let revision = '0';

async function api<T>(method: string, target: string, body?: object): Promise<T> {
  const response = await fetch(registry.url + target, {
    method,
    headers: { Authorization: `Bearer ${root}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(response.ok, `${method} ${target}`).toBe(true);
  return (await response.json()) as T;
}

const created = (name: string, scopes: TokenScope[], groups = ['*']) =>
  api<CreatedToken>('POST', fillPath('tokens', {}), { name, scopes, groups });

/** Publishes a release of its own bytes. */
async function publish(release: string): Promise<void> {
  const body = definitionText({ kind: 'SetLabels', release }).replace(
    /description: .*/,
    `description: Sets labels, as of ${release}.`,
  );
  const response = await fetch(
    `${registry.url}/api/v1/functions/example.com/SetLabels/releases/${release}?allowBreaking=true`,
    {
      method: 'PUT',
      headers: { Authorization: `Bearer ${root}`, 'Content-Type': 'application/yaml' },
      body,
    },
  );
  expect(response.status, await response.text()).toBe(201);
}

async function signIn(token: string): Promise<Pick<Session, 'cookie' | 'formKey'>> {
  const response = await fetch(`${registry.url}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Origin: origin },
    body: new URLSearchParams({ token }),
  });
  expect(response.status).toBe(303);
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? '';
  const page = await fetch(`${registry.url}/operate`, { headers: { Cookie: cookie } });
  return { cookie, formKey: /name="formKey" value="([^"]+)"/.exec(await page.text())?.[1] ?? '' };
}

/** Signs in with the identity provider. */
async function signInUser(): Promise<void> {
  const left = await fetch(`${registry.url}/sign-in/127-0-0-1/start`, { redirect: 'manual' });
  const cookie = left.headers.get('set-cookie')?.split(';')[0] ?? '';
  const back = await idp.signIn(left.headers.get('location')!);
  expect((await fetch(back, { headers: { Cookie: cookie } })).status).toBe(200);
}

async function usersPage(): Promise<string> {
  const { cookie } = sessions.find(({ name }) => name === 'admin')!;
  return (await fetch(`${registry.url}/operate/users`, { headers: { Cookie: cookie } })).text();
}

async function changeUser(action: string): Promise<void> {
  const { cookie, formKey } = sessions.find(({ name }) => name === 'admin')!;
  const { status } = await fetch(`${registry.url}/operate/users/${user}/${action}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Origin: origin, Cookie: cookie },
    body: new URLSearchParams({ formKey }),
  });
  expect(status).toBe(303);
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-authorization-'));
  port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  idp = await TestProvider.start({ redirectUri: `${origin}/sign-in/callback` });
  const settings = {
    KRMHUB_PUBLIC_URL: origin,
    KRMHUB_OIDC_ISSUER: idp.issuer,
    KRMHUB_OIDC_CLIENT_ID: idp.client.client_id,
    KRMHUB_OIDC_CLIENT_SECRET: idp.client.client_secret,
    KRMHUB_REQUESTS_PER_MINUTE: '0',
    KRMHUB_WRITES_PER_MINUTE: '0',
    KRMHUB_FAILED_LOGINS_PER_MINUTE: '0',
    KRMHUB_SOURCE_FOLDER: folder,
  };
  registry = await startRegistry({
    config: readConfig(settings, { port: String(port), data: folder }),
    log: createLog('silent', { write: () => undefined }),
  });
  root = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  await writeFile(path.join(folder, 'elsewhere.yaml'), 'nothing');
  const applied = await fetch(registry.url + fillPath('catalog', { name: 'collected' }), {
    method: 'PUT',
    headers: { Authorization: `Bearer ${root}`, 'Content-Type': 'application/yaml' },
    body: `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: collected}
spec: {sources: [{name: elsewhere, catalog: {url: 'file:elsewhere.yaml'}}]}
`,
  });
  expect(applied.status).toBe(201);
  sessions = [];
  for (const [name, scopes, groups] of TOKENS) {
    const { token } = await created(name, scopes, groups);
    sessions.push({ name, scopes, ...(await signIn(token)) });
  }
  await publish('1.0.0');
  await signInUser();
  user = /<li id="([0-9a-f-]{36})">/.exec(await usersPage())?.[1] ?? '';
});
afterAll(async () => {
  await registry.close();
  await idp.close();
  await rm(folder, { recursive: true, force: true });
});

/** Adds a trusted publisher, and returns its ID. */
async function publisherOf(count: number): Promise<string> {
  const settings = { subject: `9${count}` };
  const wanted = { group: 'example.com', provider: 'google', settings };
  return (await api<{ id: string }>('POST', '/api/v1/trusted-publishers', wanted)).id;
}

/** Reports whether that program still waits. */
async function isWaiting(): Promise<boolean> {
  if (login === undefined) return false;
  const headers = { Cookie: permitted(GUARDED_PAGES.answerDeviceLogin!).cookie };
  const { ok } = await fetch(`${registry.url}/login/device?code=${login.code}`, { headers });
  if (!ok) login = undefined;
  return ok;
}

type Headers = readonly (readonly [name: string, value: string])[];

async function requestOf(page: GuardedPage, key: string | undefined, headers: Headers): Promise<RawRequest> {
  count += 1;
  await page.prepare?.();
  const names = page.target('ID', 'RELEASE');
  const { id } = names.includes('ID') ? await created('victim', ['publish']) : { id: '' };
  const release = `2.${count}.0`;
  const publisher = names.includes('PUBLISHER') ? await publisherOf(count) : '';
  if (names.includes('RELEASE')) await publish(release);
  if (names === '/operate/policies' || names === '/operate/access') {
    const { cookie } = permitted(page);
    const text = await (await fetch(registry.url + names, { headers: { Cookie: cookie } })).text();
    revision = /name="expected" value="([^"]+)"/.exec(text)?.[1] ?? '';
  }
  const fields = { ...(key === undefined ? {} : { formKey: key }), ...page.fields(count) };
  return {
    method: 'POST',
    target: page.target(id, release).replace('PUBLISHER', publisher),
    headers: [
      ['Host', `127.0.0.1:${port}`],
      ['Content-Type', 'application/x-www-form-urlencoded'],
      ...headers,
    ],
    body: new URLSearchParams(fields).toString(),
  };
}

const ofPage = (cookie: string): Headers => [
  ['Origin', origin],
  ['Sec-Fetch-Site', 'same-origin'],
  ['Cookie', cookie],
];

async function state(): Promise<string> {
  const { events } = await api<EventPage>('GET', '/api/v1/events?limit=1000');
  const { tokens } = await api<TokenList>('GET', fillPath('tokens', {}));
  const { sources } = await api<{ sources: { checkedAt?: string }[] }>('GET', '/api/v1/sources');
  const { publishers } = await api<TrustedPublisherList>('GET', '/api/v1/trusted-publishers');
  const removals = await api<{ rows: unknown[] }>('GET', '/api/v1/audit?action=publisher.remove');
  return JSON.stringify([
    // Publishers to remove are made per request.
    publishers.filter(({ settings }) => !settings.subject?.startsWith('9')).map(({ id }) => id),
    removals.rows.length,
    events.filter(
      ({ type, release }) => type !== 'catalog.cut' && !(type === 'release.published' && release !== '1.0.0'),
    ),
    // Tokens to revoke are made per request.
    tokens.filter(({ name, revokedAt }) => name !== 'victim' || revokedAt !== undefined).map(({ id }) => id),
    sources.map(({ checkedAt }) => checkedAt),
    /class="label label-danger">suspended|\d+ sessions?</g.exec(await usersPage())?.[0],
    await isWaiting(),
  ]);
}

/** Sends all requests; returns those that were not refused. */
async function notRefused(tries: readonly { name: string; request: RawRequest }[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { name, request } of tries) {
    const { status, head }: RawResponse = await sendRaw(port, request);
    if (status < 400 || status >= 500) wrong.push(`${name}: ${request.target}: ${head}`);
  }
  return wrong;
}

const rows = Object.entries(GUARDED_PAGES) as [string, GuardedPage][];
const mayChange = ({ scopes }: Session, { scope = 'admin' }: GuardedPage) => scopes.includes(scope);
const permitted = (page: GuardedPage) => sessions.find((session) => mayChange(session, page))!;
const lesser = (page: GuardedPage) => sessions.filter((session) => !mayChange(session, page));

describe('every form of a page', () => {
  it('has a row in the table', () => {
    const forms = WEB_ROUTES.filter(([, { method }]) => method !== 'get');
    expect(forms.map(([name]) => name).sort()).toEqual(
      // Of these, users have the last two: see own-things.test.ts.
      [...Object.keys(GUARDED_PAGES), 'signIn', 'signOut', 'endSession', 'endOtherSessions'].sort(),
    );
    for (const [, route] of forms) expect(isOperatorPath(route.path), route.path).toBe(true);
  });

  it.each(rows)('%s works for permitted users with a session', async (_, page) => {
    for (const session of sessions) {
      const { name, cookie, formKey } = session;
      const isPermitted = mayChange(session, page);
      const request = await requestOf(page, formKey, ofPage(cookie));
      const before = await state();
      const { status } = await sendRaw(port, request);
      expect([name, status]).toEqual([name, isPermitted ? page.done : 403]);
      if (isPermitted) expect(await state()).not.toBe(before);
      else expect(await state()).toBe(before);
    }
  });

  it.each(rows)('%s refuses requests without a session, or with that of another user', async (_, page) => {
    const { cookie, formKey } = permitted(page);
    const [name = '', id = ''] = cookie.split('=');
    const revoked = await created('revoked', ['admin']);
    const ended = await signIn(revoked.token);
    await api('DELETE', fillPath('token', { id: revoked.id }));
    const out = await signIn(root);
    await sendRaw(port, {
      ...(await requestOf(
        { target: () => '/sign-out', fields: () => ({}), done: 303 },
        out.formKey,
        ofPage(out.cookie),
      )),
    });
    const tries: { name: string; request: RawRequest }[] = [];
    const attempt = async (what: string, key: string | undefined, headers: Headers) => {
      tries.push({ name: what, request: await requestOf(page, key, headers) });
    };
    await attempt('nobody', formKey, ofPage(''));
    await attempt('a bearer token', formKey, [...ofPage(''), ['Authorization', `Bearer ${root}`]]);
    await attempt('a bearer token alone', undefined, [['Authorization', `Bearer ${root}`]]);
    await attempt('a session as a bearer token', formKey, [...ofPage(''), ['Authorization', `Bearer ${id}`]]);
    await attempt('the token in the cookie', formKey, ofPage(`${name}=${root}`));
    await attempt('a truncated cookie', formKey, ofPage(cookie.slice(0, -1)));
    await attempt('a cookie of another name', formKey, ofPage(`__Host-${cookie}`));
    await attempt('a cookie in upper case', formKey, ofPage(`${name}=${id.toUpperCase()}`));
    await attempt('a revoked token', ended.formKey, ofPage(ended.cookie));
    await attempt('a user who has signed out', out.formKey, ofPage(out.cookie));
    await attempt('no form key', undefined, ofPage(cookie));
    for (const other of lesser(page)) {
      await attempt(`the form key of ${other.name}`, other.formKey, ofPage(cookie));
      await attempt(`${other.name} with the form key of the admin`, formKey, ofPage(other.cookie));
      await attempt(`${other.name} with two cookies`, other.formKey, ofPage(`${other.cookie}; x=${id}`));
    }
    const before = await state();
    expect(await notRefused(tries)).toEqual([]);
    expect(await state()).toBe(before);
  });

  it.each(rows)('%s refuses requests from another site', async (_, page) => {
    const { cookie, formKey } = permitted(page);
    const sent: Record<string, Headers> = {
      'another origin': [['Origin', 'https://evil.example']],
      'an opaque origin': [['Origin', 'null']],
      'no origin': [],
      'another port': [['Origin', `http://127.0.0.1:${port + 1}`]],
      'another name of this machine': [['Origin', `http://localhost:${port}`]],
      'a page of this site, according to another header': [
        ['Origin', origin],
        ['Sec-Fetch-Site', 'same-site'],
      ],
      'two origins': [
        ['Origin', origin],
        ['Origin', 'https://evil.example'],
      ],
      'a forwarded host': [
        ['Origin', 'https://evil.example'],
        ['X-Forwarded-Host', 'evil.example'],
      ],
      'a referrer': [['Referer', `${origin}/operate`]],
    };
    const tries: { name: string; request: RawRequest }[] = [];
    for (const [name, headers] of Object.entries(sent)) {
      tries.push({ name, request: await requestOf(page, formKey, [...headers, ['Cookie', cookie]]) });
    }
    for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/json', '']) {
      const request = await requestOf(page, formKey, ofPage(cookie));
      const headers = request.headers.map(
        ([name, value]) => [name, name === 'Content-Type' ? type : value] as const,
      );
      tries.push({ name: `as ${type}`, request: { ...request, headers } });
    }
    const before = await state();
    expect(await notRefused(tries)).toEqual([]);
    expect(await state()).toBe(before);
  });

  it.each(rows)('%s stays protected with other headers, spellings or methods', async (_, page) => {
    const tries: { name: string; request: RawRequest }[] = [];
    const [one] = lesser(page);
    for (const trick of [...HEADER_TRICKS, ...HOST_TRICKS]) {
      const request = await requestOf(page, one!.formKey, ofPage(one!.cookie));
      tries.push({ name: trick.name, request: trick.apply(request) });
    }
    for (const spelling of SPELLINGS) {
      const request = await requestOf(page, one!.formKey, ofPage(one!.cookie));
      tries.push({ name: spelling('/operate/x'), request: { ...request, target: spelling(request.target) } });
    }
    const before = await state();
    expect(await notRefused(tries)).toEqual([]);
    const request = await requestOf(page, permitted(page).formKey, ofPage(permitted(page).cookie));
    for (const trick of methodTricks(request)) {
      const { status } = await sendRaw(port, trick.apply(request));
      expect(status, trick.name).toBeLessThan(500);
    }
    expect(await state()).toBe(before);
  });
});

describe('a session', () => {
  it('is accepted only by pages', async () => {
    const { cookie, formKey } = permitted(GUARDED_PAGES.makeToken!);
    const before = await state();
    for (const [method, target, type, body] of [
      ['POST', fillPath('tokens', {}), 'application/json', '{"name":"x","scopes":["admin"]}'],
      ['PUT', fillPath('catalog', { name: 'x' }), 'application/yaml', recipe(0)],
      ['POST', fillPath('cut', { name: 'default' }), 'application/json', ''],
      ['POST', '/v2/team/tools/blobs/uploads/', 'application/octet-stream', ''],
      ['GET', fillPath('tokens', {}), 'application/json', ''],
      ['GET', fillPath('whoami', {}), 'application/json', ''],
    ] as const) {
      const request: RawRequest = {
        method,
        target,
        headers: [['Host', `127.0.0.1:${port}`], ['Content-Type', type], ...ofPage(cookie)],
        body,
      };
      for (const one of [request, withHeaders(request, ['X-Form-Key', formKey])]) {
        expect([target, (await sendRaw(port, one)).status]).toEqual([target, 401]);
      }
    }
    expect(await state()).toBe(before);
  });
});

const SPELLINGS: ((target: string) => string)[] = [
  (target) => `/${target}`,
  (target) => `${target}/`,
  (target) => target.replace('/operate', '/OPERATE'),
  (target) => target.replace('/operate', '/%6fperate'),
  (target) => target.replace('/operate/', '/operate%2f'),
  (target) => target.replace('/operate/', '/operate/./'),
  (target) => target.replace('/operate/', '/operate/../operate/'),
  (target) => target.replace('/operate/', '/sign-in/../'),
  (target) => target.replace('/operate/', '/sign-in%2f..%2f'),
  (target) => `/healthz;${target}`,
  (target) => `${target}%00`,
  (target) => `${target};a=b`,
  (target) => `http://other.example${target}`,
];
