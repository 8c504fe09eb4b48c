import { ARTIFACT_MEDIA_TYPES, artifactManifest, computeDigest, EMPTY_CONFIG } from '@krmhub/oci';
import { DOCUMENT_LIMITS } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { descriptor, indexManifest, readError, testClient } from '../testing/oci.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';

const SCRIPT = 'x = 1\n';
const REPOSITORY = 'scripts/a.com/set-owner';
const STARLARK = ARTIFACT_MEDIA_TYPES.starlark;

let registry: TestRegistry;
let publisher: string;
let pusher: string;
const client = testClient(
  () => registry,
  () => publisher,
);
const byPusher = testClient(
  () => registry,
  () => pusher,
);
const admin = testClient(() => registry);

beforeAll(async () => {
  registry = await openTestRegistry({ start: false });
  const token = async (wanted: Parameters<TestRegistry['token']>[0]) =>
    `Bearer ${(await registry.token(wanted)).secret}`;
  publisher = await token({ scopes: ['publish'], groups: ['a.com'] });
  pusher = await token({ scopes: ['push'], repositories: ['scripts/*'] });
});
afterAll(() => registry.close());

function script(text: string = SCRIPT, more: object = {}): object {
  const bytes = new TextEncoder().encode(text);
  const file = {
    title: 'main.star',
    mediaType: STARLARK.layer,
    digest: computeDigest(bytes),
    size: bytes.byteLength,
  };
  const manifest = artifactManifest({ type: 'starlark', files: [file] });
  return { ...JSON.parse(new TextDecoder().decode(manifest)), ...more };
}

async function pushBlobs(to: typeof client, repository: string, ...contents: string[]): Promise<void> {
  for (const content of [...contents, EMPTY_CONFIG]) await to.blob(repository, content);
}

describe('a token that can only publish', () => {
  it('pushes scripts of its group, with releases as tags or without a tag', async () => {
    await pushBlobs(client, REPOSITORY, SCRIPT);
    const digest = computeDigest(new TextEncoder().encode(JSON.stringify(script())));
    for (const reference of ['1.0.0', 'v2', digest]) {
      expect((await client.put(REPOSITORY, reference, script())).status).toBe(201);
    }
    const read = await client.request('GET', `${REPOSITORY}/manifests/1.0.0`, { authorization: '' });
    expect([read.status, await read.json()]).toEqual([200, script()]);
  });

  it.each([
    'scripts/b.com/set-owner',
    'scripts/a.com/set-owner/more',
    'scripts/a.com',
    'scripts/a/x',
    'team/x',
  ])('pushes nothing to %s', async (repository) => {
    const bytes = new TextEncoder().encode(SCRIPT);
    const upload = `${repository}/blobs/uploads/?digest=${computeDigest(bytes)}`;
    for (const response of [
      await client.request('POST', upload, { body: bytes }),
      await client.request('POST', `${repository}/blobs/uploads/`),
      await client.put(repository, '1.0.0', script()),
    ]) {
      expect(await readError(response)).toMatchObject({ status: 403, code: 'DENIED' });
    }
    expect((await client.request('GET', `${repository}/tags/list`)).status).toBe(404);
  });

  const layer = (content: string, mediaType: string) => ({
    layers: [descriptor(SCRIPT, STARLARK.layer), descriptor(content, mediaType)],
  });
  it.each<[string, object, string?]>([
    ['an image', script(SCRIPT, { artifactType: 'application/vnd.example' })],
    ['an executable', script(SCRIPT, { artifactType: ARTIFACT_MEDIA_TYPES.exec.artifact })],
    ['a definition', script(SCRIPT, { artifactType: ARTIFACT_MEDIA_TYPES.definition.artifact })],
    ['a second layer', script(SCRIPT, layer('more', 'text/plain'))],
    ['a second script', script(SCRIPT, layer('more', STARLARK.layer))],
    ['another layer', script(SCRIPT, { layers: [descriptor('more', 'text/plain')] })],
    ['no layer', script(SCRIPT, { layers: [] })],
    ['a config', script(SCRIPT, { config: descriptor('more', 'application/vnd.oci.empty.v1+json') })],
    [
      'a referrer',
      script(SCRIPT, { subject: descriptor('x', 'application/vnd.oci.image.manifest.v1+json') }),
    ],
    ['an index', { ...indexManifest([script()]), artifactType: STARLARK.artifact }],
    ['the tag latest', script(), 'latest'],
    ['a tag of a signature', script(), `sha256-${'a'.repeat(64)}.sig`],
  ])('does not push %s', async (_, manifest, tag = '1.0.1') => {
    await pushBlobs(client, REPOSITORY, SCRIPT, 'more');
    await client.put(REPOSITORY, '1.0.0', script());
    const before = await (await client.request('GET', `${REPOSITORY}/tags/list`)).json();
    const refused = await readError(await client.put(REPOSITORY, tag, manifest));
    expect(refused).toMatchObject({
      status: 403,
      code: 'DENIED',
      message: expect.stringContaining('publishers can push only scripts here: '),
    });
    expect(await (await client.request('GET', `${REPOSITORY}/tags/list`)).json()).toEqual(before);
    // A token with the scope push for the repository is not limited.
    await pushBlobs(byPusher, 'scripts/a.com/any', SCRIPT, 'more');
    await byPusher.put('scripts/a.com/any', '1.0.0', script());
    expect((await byPusher.put('scripts/a.com/any', tag, manifest)).status).toBe(201);
  });

  it('does not push a blob that is larger than a script, in one request and in several', async () => {
    const { maxScriptBytes } = DOCUMENT_LIMITS;
    const refused = {
      status: 403,
      code: 'DENIED',
      message: expect.stringContaining(`the blob exceeds ${maxScriptBytes} bytes, the limit of a script`),
    };
    await client.blob(REPOSITORY, '#'.repeat(maxScriptBytes));
    const large = '#'.repeat(maxScriptBytes + 1);
    const whole = `${REPOSITORY}/blobs/uploads/?digest=${computeDigest(new TextEncoder().encode(large))}`;
    expect(await readError(await client.request('POST', whole, { body: large }))).toMatchObject(refused);
    const started = await client.request('POST', `${REPOSITORY}/blobs/uploads/`);
    const upload = started.headers.get('location')!.slice('/v2/'.length);
    expect((await client.request('PATCH', upload, { body: '#'.repeat(maxScriptBytes) })).status).toBe(202);
    expect(await readError(await client.request('PATCH', upload, { body: '#' }))).toMatchObject(refused);
  });

  it('does not finish the large upload of another token', async () => {
    const started = await byPusher.request('POST', `${REPOSITORY}/blobs/uploads/`);
    const upload = started.headers.get('location')!.slice('/v2/'.length);
    const large = '#'.repeat(DOCUMENT_LIMITS.maxScriptBytes + 1);
    expect((await byPusher.request('PATCH', upload, { body: large })).status).toBe(202);
    const digest = computeDigest(new TextEncoder().encode(large));
    expect(await readError(await client.request('PUT', `${upload}?digest=${digest}`))).toMatchObject({
      status: 403,
    });
    expect((await client.request('HEAD', `${REPOSITORY}/blobs/${digest}`)).status).toBe(404);
  });

  it('does not mount a blob, which can have any size', async () => {
    const digest = await admin.blob('team/tools', 'a large blob');
    const mount = `blobs/uploads/?mount=${digest}&from=team/tools`;
    expect((await client.request('POST', `${REPOSITORY}/${mount}`)).status).toBe(202);
    expect((await client.request('HEAD', `${REPOSITORY}/blobs/${digest}`)).status).toBe(404);
    expect((await byPusher.request('POST', `${REPOSITORY}/${mount}`)).status).toBe(201);
  });

  it('deletes nothing, and an access token for deletes does not help', async () => {
    await pushBlobs(client, REPOSITORY, SCRIPT);
    await client.put(REPOSITORY, '3.0.0', script());
    const scope = `token?service=krmhub&scope=repository:${REPOSITORY}:pull,push,delete`;
    const { token } = (await (await client.request('GET', scope)).json()) as { token: string };
    const { access } = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
    expect(access).toEqual([{ repository: REPOSITORY, actions: ['pull', 'push'] }]);
    for (const authorization of [publisher, `Bearer ${token}`]) {
      for (const target of ['manifests/3.0.0', `blobs/${computeDigest(new TextEncoder().encode(SCRIPT))}`]) {
        const refused = await client.request('DELETE', `${REPOSITORY}/${target}`, { authorization });
        expect(await readError(refused)).toMatchObject({
          status: 403,
          message: expect.stringContaining(`--scope push --repository ${REPOSITORY}`),
        });
      }
    }
    const pushed = await client.request('POST', `${REPOSITORY}/blobs/uploads/`, {
      authorization: `Bearer ${token}`,
    });
    expect(pushed.status).toBe(202);
    expect((await byPusher.request('DELETE', `${REPOSITORY}/manifests/3.0.0`)).status).toBe(202);
  });

  it('fills at most the quota of a repository', async () => {
    const small = await openTestRegistry({ start: false, config: { repositoryMebibytes: 1 } });
    try {
      const { secret } = await small.token({ scopes: ['publish'], groups: ['a.com'] });
      const limited = testClient(
        () => small,
        () => `Bearer ${secret}`,
      );
      await limited.blob(REPOSITORY, '#'.repeat(1_048_000));
      await expect(limited.blob(REPOSITORY, '-'.repeat(1_000))).rejects.toThrow('quota exceeded');
    } finally {
      await small.close();
    }
  });
});

it('tells a token without rights that publishing the group is enough', async () => {
  const { secret } = await registry.token({ scopes: ['yank'] });
  const refused = await client.request('POST', `${REPOSITORY}/blobs/uploads/`, {
    authorization: `Bearer ${secret}`,
  });
  expect((await readError(refused)).message).toBe(
    'the token "tester" does not have the scope "publish". An administrator can create another token with `krmhub token create NAME --scope publish --group a.com`.',
  );
});
