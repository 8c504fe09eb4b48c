import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { credentialSource } from './credentials.js';

let folder: string;
let base: string;
/** Requests as `METHOD path`. */
let requests: string[];
let respond: (request: IncomingMessage, body: string) => { status?: number; text: string };
const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  requests.push(`${request.method} ${request.url}`);
  const { status = 200, text } = respond(request, body);
  response.writeHead(status).end(text);
});

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-credentials-'));
  requests = [];
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  await rm(folder, { recursive: true });
});

const file = async (name: string, text: string): Promise<string> => {
  await writeFile(path.join(folder, name), text);
  return path.join(folder, name);
};
/** No files of this machine, and no instance metadata. */
const closed = () => ({ HOME: folder, AWS_EC2_METADATA_DISABLED: 'true' });
const KEYS = { accessKeyId: 'id', secretAccessKey: 'secret' };
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const json = (id: string, expiration: string) =>
  JSON.stringify({ AccessKeyId: id, SecretAccessKey: 'secret', Token: 'token', Expiration: expiration });

describe('credentials for an S3-compatible store', () => {
  it('come from the environment first', async () => {
    const source = credentialSource({
      ...closed(),
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: '',
      AWS_CONTAINER_CREDENTIALS_FULL_URI: base,
    });
    expect(await source()).toEqual(KEYS);
    expect(requests).toEqual([]);
  });

  it('come from a web identity, and are replaced before they expire', async () => {
    let minutes = 60;
    respond = (_, body) => {
      const form = new URLSearchParams(body);
      expect(Object.fromEntries(form)).toMatchObject({
        Action: 'AssumeRoleWithWebIdentity',
        RoleArn: 'arn:aws:iam::123456789012:role/krmhub',
        WebIdentityToken: 'signed&token',
      });
      return {
        text: `<AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>id${requests.length}</AccessKeyId><SecretAccessKey>a&amp;b</SecretAccessKey><SessionToken>token</SessionToken><Expiration>${inMinutes(minutes)}</Expiration></Credentials></AssumeRoleWithWebIdentityResponse>`,
      };
    };
    let passed = 0;
    const source = credentialSource(
      {
        ...closed(),
        AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/krmhub',
        AWS_WEB_IDENTITY_TOKEN_FILE: await file('token', 'signed&token\n'),
        AWS_ENDPOINT_URL_STS: base,
      },
      () => Date.now() + passed,
    );
    const first = await Promise.all([source(), source()]);
    for (const one of first)
      expect(one).toMatchObject({ accessKeyId: 'id1', secretAccessKey: 'a&b', sessionToken: 'token' });
    expect(requests).toHaveLength(1);
    passed = 54 * 60_000;
    expect(await source()).toMatchObject({ accessKeyId: 'id1' });
    minutes = 120;
    passed = 56 * 60_000;
    expect(await source()).toMatchObject({ accessKeyId: 'id2' });
    expect(requests).toHaveLength(2);
  });

  it('stay in use while they are valid and their source is away, and not longer', async () => {
    respond = () => ({ text: json('id', inMinutes(60)) });
    let passed = 0;
    const source = credentialSource(
      { ...closed(), AWS_CONTAINER_CREDENTIALS_FULL_URI: `${base}/v1` },
      () => Date.now() + passed,
    );
    await source();
    respond = () => ({ status: 500, text: '' });
    passed = 58 * 60_000;
    expect(await source()).toMatchObject({ accessKeyId: 'id' });
    passed = 61 * 60_000;
    await expect(source()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/cannot get credentials .* HTTP status 500$/),
    });
    respond = () => ({ text: json('new', inMinutes(180)) });
    expect(await source()).toMatchObject({ accessKeyId: 'new' });
  });

  it('come from a profile of a file, which can change', async () => {
    const text = (id: string) =>
      `# comment\n[default]\naws_access_key_id = other\naws_secret_access_key = other\n\n[ krmhub ]\r\naws_access_key_id=${id}\r\naws_secret_access_key = secret\r\n[last]\naws_access_key_id = x\n`;
    const place = await file('credentials', text('id'));
    let passed = 0;
    const environment = { ...closed(), AWS_SHARED_CREDENTIALS_FILE: place, AWS_PROFILE: 'krmhub' };
    const source = credentialSource(environment, () => Date.now() + passed);
    expect(await source()).toMatchObject(KEYS);
    await writeFile(place, text('rotated'));
    expect(await source()).toMatchObject(KEYS);
    passed = 3_600_000;
    expect(await source()).toMatchObject({ accessKeyId: 'rotated' });
    await expect(credentialSource({ ...environment, AWS_PROFILE: 'last' })()).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(`${place} has no keys and no role`),
    });
  });

  it('come from the endpoint of a container, with its token', async () => {
    respond = ({ headers }) => {
      expect(headers.authorization).toBe('pod token');
      return { text: json('id', inMinutes(60)) };
    };
    const source = credentialSource({
      ...closed(),
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${base}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: await file('token', 'pod token\n'),
    });
    expect(await source()).toMatchObject({ ...KEYS, sessionToken: 'token' });
  });

  it('come from the metadata of an instance, with a token of version 2', async () => {
    respond = ({ method, url, headers }) => {
      if (method === 'PUT') return { text: 'metadata token' };
      expect(headers['x-aws-ec2-metadata-token']).toBe('metadata token');
      return { text: url?.endsWith('/') ? 'a role\n' : json('id', inMinutes(60)) };
    };
    const source = credentialSource({ HOME: folder, AWS_EC2_METADATA_SERVICE_ENDPOINT: base });
    expect(await source()).toMatchObject({ ...KEYS, sessionToken: 'token' });
    expect(requests).toEqual([
      'PUT /latest/api/token',
      'GET /latest/meta-data/iam/security-credentials/',
      'GET /latest/meta-data/iam/security-credentials/a%20role',
    ]);
  });

  it('are missing with the ways to give them', async () => {
    await expect(credentialSource(closed())()).rejects.toMatchObject({
      code: 'usage',
      message: 'the blobs are in an S3-compatible store, and there are no credentials for it',
      hint: expect.stringContaining('AWS_PROFILE'),
    });
    respond = () => ({ status: 403, text: '<Error><Code>AccessDenied</Code></Error>' });
    const denied = credentialSource({
      ...closed(),
      AWS_ROLE_ARN: 'role',
      AWS_WEB_IDENTITY_TOKEN_FILE: await file('token', 'token'),
      AWS_ENDPOINT_URL_STS: base,
    });
    await expect(denied()).rejects.toMatchObject({ message: expect.stringContaining('AccessDenied') });
  });
});
