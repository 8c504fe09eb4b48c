import { beforeAll, describe, expect, it } from 'vitest';
import { pushBlobs } from './data-set-steps.js';
import { newImage } from './data-sets.js';
import {
  basic,
  blob,
  conformanceRegistry,
  digestOf,
  errorCode,
  json,
  manifests,
  newRepository,
  OCTETS,
  type OciRequests,
  type OciResponse,
  someBytes,
  uploads,
  withQuery,
} from './oci-requests.js';

const requests = conformanceRegistry();
let anonymous: OciRequests;
beforeAll(() => {
  anonymous = requests.as(undefined);
});

interface Challenge {
  realm: string;
  service: string;
  scope?: string;
}

/** Reads a challenge as the suite does: the scheme is the last of the two words, parameters are quoted. */
function challengeOf(answer: OciResponse): Challenge {
  expect(answer.status).toBe(401);
  expect(errorCode(answer)).toBe('UNAUTHORIZED');
  const header = answer.headers['www-authenticate']!;
  expect(/.*(bearer|basic)/is.exec(header)?.[1]).toBe('Bearer');
  const parameters = [...header.matchAll(/(\w+)="([^"]+)"/g)].map(([, name, value]) => [name!, value!]);
  const { realm, service, scope } = Object.fromEntries(parameters) as Record<string, string>;
  return { realm: realm!, service: service!, ...(scope !== undefined && { scope }) };
}

function requestToken({ realm, service, scope }: Challenge, authorization: string): Promise<OciResponse> {
  const query = { service, ...(scope !== undefined && { scope }) };
  const { pathname } = new URL(realm, requests.url);
  return requests.as(authorization).get(withQuery(pathname, query), { Accept: 'application/json' });
}

async function bearer(challenge: Challenge, authorization: string): Promise<OciRequests> {
  const answer = await requestToken(challenge, authorization);
  expect(answer.status).toBe(200);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  const { access_token, token } = json(answer);
  expect(access_token).toBeTruthy();
  expect(token).toBe(access_token);
  return requests.as(`Bearer ${access_token}`);
}

const administrator = () => basic('conformance', requests.token);
const nobody = basic('', '');

describe('the challenge', () => {
  it('of the base has a realm and a service in quotes, and no query in the realm', async () => {
    const { realm, service, scope } = challengeOf(await anonymous.get('/v2/'));
    expect(realm).toBe(`${requests.url}/v2/token`);
    expect(service).toBe('krmhub');
    expect(scope).toBeUndefined();
  });

  it('is the only one in the response', async () => {
    const { headers } = await anonymous.get('/v2/');
    expect(headers['www-authenticate']?.match(/bearer|basic/gi)).toEqual(['Bearer']);
  });

  const digest = digestOf(someBytes(8));
  it.each([
    ['POST', uploads('team/one'), 'pull,push'],
    ['POST', withQuery(uploads('team/one'), { mount: digest, from: 'team/two' }), 'pull,push'],
    ['PATCH', `${uploads('team/one')}00000000-0000-0000-0000-000000000000`, 'pull,push'],
    ['PUT', `${uploads('team/one')}00000000-0000-0000-0000-000000000000?digest=${digest}`, 'pull,push'],
    ['GET', `${uploads('team/one')}00000000-0000-0000-0000-000000000000`, 'pull,push'],
    ['PUT', manifests('team/one', 'v1'), 'pull,push'],
    ['DELETE', manifests('team/one', 'v1'), 'delete'],
    ['DELETE', blob('team/one', digest), 'delete'],
  ])('of %s %s names the scope that it needs', async (method, target, actions) => {
    const { scope } = challengeOf(await anonymous.send(method, target));
    expect(scope).toBe(`repository:team/one:${actions}`);
  });

  it('is also sent for a wrong password', async () => {
    challengeOf(await requests.as(basic('conformance', 'wrong')).send('POST', uploads(newRepository())));
  });
});

describe('a token', () => {
  it('is issued for the credentials of a user, and opens the base', async () => {
    const user = await bearer(challengeOf(await anonymous.get('/v2/')), administrator());
    expect((await user.get('/v2/')).status).toBe(200);
  });

  it('is issued for empty Basic credentials, and opens the base', async () => {
    const user = await bearer(challengeOf(await anonymous.get('/v2/')), nobody);
    expect((await user.get('/v2/')).status).toBe(200);
  });

  it('for empty credentials gives no access: the response is another challenge', async () => {
    const target = uploads(newRepository());
    const user = await bearer(challengeOf(await anonymous.send('POST', target)), nobody);
    challengeOf(await user.send('POST', target));
  });

  it('is issued for a scope of several repositories in one parameter', async () => {
    const [one, two] = [newRepository(), newRepository()];
    const challenge = challengeOf(await anonymous.send('POST', uploads(one)));
    const scope = `repository:${one}:pull,push repository:${two}:pull`;
    const user = await bearer({ ...challenge, scope }, administrator());
    expect((await user.send('POST', uploads(one))).status).toBe(202);
    challengeOf(await user.send('POST', uploads(two)));
  });

  it('for a push covers all requests for blobs and manifests of the repository', async () => {
    const repository = newRepository();
    const user = await bearer(
      challengeOf(await anonymous.send('POST', uploads(repository))),
      administrator(),
    );
    const place = await user.session(repository);
    const bytes = someBytes(100);
    expect((await user.patch(place, bytes, 0)).status).toBe(202);
    expect((await user.get(place)).status).toBe(204);
    const closing = withQuery(place, { digest: digestOf(bytes) });
    expect((await user.send('PUT', closing, { headers: OCTETS })).status).toBe(201);
    const { blobs, manifest } = newImage();
    await pushBlobs(user, repository, { blobs });
    expect((await user.putManifest(repository, 'v1', manifest)).status).toBe(201);
  });

  it('for a push is enough to mount from another repository', async () => {
    const [one, two] = [newRepository(), newRepository()];
    const digest = await requests.pushBlob(two, someBytes(100));
    const user = await bearer(challengeOf(await anonymous.send('POST', uploads(one))), administrator());
    const target = withQuery(uploads(one), { mount: digest, from: two });
    expect((await user.send('POST', target)).status).toBe(201);
  });

  it('for a pull does not cover the status of an upload; the challenge names the scope that does', async () => {
    const repository = newRepository();
    const place = await requests.session(repository);
    const base = challengeOf(await anonymous.get('/v2/'));
    const pull = await bearer({ ...base, scope: `repository:${repository}:pull` }, administrator());
    const user = await bearer(challengeOf(await pull.get(place)), administrator());
    expect((await user.get(place)).status).toBe(204);
  });

  it('for a push does not delete: that has its own challenge and token', async () => {
    const repository = newRepository();
    const user = await bearer(
      challengeOf(await anonymous.send('POST', uploads(repository))),
      administrator(),
    );
    const target = blob(repository, await user.pushBlob(repository, someBytes(100)));
    const deleter = await bearer(challengeOf(await user.delete(target)), administrator());
    expect((await deleter.delete(target)).status).toBe(202);
  });
});

describe('a request with a body', () => {
  it.each([
    ['with its length', false],
    ['in chunks without a length', true],
  ])('%s that is refused without a token is accepted when it is sent again with one', async (_, chunked) => {
    const repository = newRepository();
    const bytes = someBytes(100_000);
    const digest = digestOf(bytes);
    const target = withQuery(uploads(repository), { digest });
    const sent = { headers: OCTETS, body: bytes, chunked };
    const user = await bearer(challengeOf(await anonymous.send('POST', target, sent)), administrator());
    expect((await user.send('POST', target, sent)).status).toBe(201);
    expect((await anonymous.get(blob(repository, digest))).body.equals(bytes)).toBe(true);
  });
});

describe('credentials of a user as Basic authentication', () => {
  it('open the base without a token', async () => {
    expect((await requests.get('/v2/')).status).toBe(200);
  });

  it('push without a token', async () => {
    expect((await requests.send('POST', uploads(newRepository()))).status).toBe(202);
  });
});
