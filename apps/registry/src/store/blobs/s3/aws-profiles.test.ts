import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { credentialSource } from './credentials.js';

let folder: string;
let base: string;
let requests: { form: Record<string, string>; signer: string }[];
/** The keys that the service knows. */
const secrets: Record<string, string> = { base: 'base-secret', 'id-of-first': 'secret' };

const server = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  const form = Object.fromEntries(new URLSearchParams(body));
  requests.push({ form, signer: readSigner(request, body) });
  const name = form.RoleArn!.split('/')[1];
  const expiration = new Date(Date.now() + 3_600_000).toISOString();
  response.end(
    `<R><Credentials><AccessKeyId>id-of-${name}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>${expiration}</Expiration></Credentials></R>`,
  );
});

/** Verifies the signature as the service does (AWS Signature Version 4); returns whose it is, in which scope. */
function readSigner({ headers }: IncomingMessage, body: string): string {
  const [, id, date, region, signed, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d+)\/([^/]+)\/sts\/aws4_request, SignedHeaders=(\S+), Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  if (id === undefined) return 'nobody';
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const names = signed!.split(';');
  const lines = names.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('');
  const canonical = ['POST', '/', '', lines, signed, hash(body)].join('\n');
  const scope = `${date}/${region}/sts/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash(canonical)].join('\n');
  const key = [date!, region!, 'sts', 'aws4_request'].reduce<Buffer | string>(
    (last, part) => createHmac('sha256', last).update(part).digest(),
    `AWS4${secrets[id]}`,
  );
  const isValid = createHmac('sha256', key).update(text).digest('hex') === signature;
  return isValid ? `${id} in ${region}` : 'a wrong signature';
}

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-profiles-'));
  await mkdir(path.join(folder, '.aws'));
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

const write = (name: string, text: string) => writeFile(path.join(folder, '.aws', name), text);
const find = (env: Record<string, string> = {}) =>
  credentialSource({ HOME: folder, AWS_EC2_METADATA_DISABLED: 'true', AWS_ENDPOINT_URL_STS: base, ...env })();
const KEYS = 'aws_access_key_id = base\naws_secret_access_key = base-secret\n';
const role = (name: string, rest: string) => `role_arn = arn:aws:iam::123456789012:role/${name}\n${rest}\n`;

describe('the profiles of the AWS tools', () => {
  it('are in both files, and the keys of the credentials file win', async () => {
    await write(
      'config',
      `[default]\nregion = eu-west-1\n[profile a]\n${KEYS}[b]\n${KEYS}[sso-session c]\n${KEYS}`,
    );
    await write(
      'credentials',
      '[default]\naws_access_key_id=x\naws_secret_access_key=y\n[a]\naws_access_key_id = z\n',
    );
    expect(await find()).toMatchObject({ accessKeyId: 'x', secretAccessKey: 'y' });
    expect(await find({ AWS_PROFILE: 'a' })).toMatchObject({
      accessKeyId: 'z',
      secretAccessKey: 'base-secret',
    });
    for (const name of ['b', 'c']) {
      await expect(find({ AWS_PROFILE: name })).rejects.toMatchObject({
        code: 'usage',
        message: `the profile ${name} in ${folder}/.aws/config and ${folder}/.aws/credentials has no keys and no role`,
      });
    }
    await write('other', `[profile b]\n${KEYS}`);
    const file = path.join(folder, '.aws/other');
    expect(await find({ AWS_PROFILE: 'b', AWS_CONFIG_FILE: file })).toMatchObject({ accessKeyId: 'base' });
  });

  it('may have indented lines, also below a field without a value, which are not fields of the profile', async () => {
    const nested = 's3 =\n  aws_access_key_id = nested\n  max_concurrent_requests = 20\n';
    await write('config', `[default]\n${nested}${KEYS}[profile a]\n${KEYS.replace(/^/gm, '  ')}`);
    expect(await find()).toMatchObject({ accessKeyId: 'base', secretAccessKey: 'base-secret' });
    expect(await find({ AWS_PROFILE: 'a' })).toMatchObject({ accessKeyId: 'base' });
  });

  it('assume a role with the keys of another profile, also through a second role', async () => {
    await write('credentials', `[base]\n${KEYS}`);
    await write(
      'config',
      `[profile first]\nregion = eu-west-1\nexternal_id = shared\nduration_seconds = 900\n${role('first', 'source_profile = base')}
[profile second]\nrole_session_name = me\n${role('second', 'source_profile = first')}`,
    );
    expect(await find({ AWS_PROFILE: 'second' })).toEqual({
      accessKeyId: 'id-of-second',
      secretAccessKey: 'secret',
      sessionToken: 'token',
      expiresAt: expect.any(Number),
    });
    expect(requests).toEqual([
      {
        signer: 'base in eu-west-1',
        form: {
          Action: 'AssumeRole',
          Version: '2011-06-15',
          RoleArn: 'arn:aws:iam::123456789012:role/first',
          RoleSessionName: 'krmhub',
          DurationSeconds: '900',
          ExternalId: 'shared',
        },
      },
      {
        signer: 'id-of-first in us-east-1',
        form: {
          Action: 'AssumeRole',
          Version: '2011-06-15',
          RoleArn: 'arn:aws:iam::123456789012:role/second',
          RoleSessionName: 'me',
        },
      },
    ]);
  });

  it('assume a role with their own keys, a web identity, or the environment of the container', async () => {
    await write('token', 'signed\n');
    await write(
      'config',
      `[profile own]\n${KEYS}${role('own', 'source_profile = own')}
[profile web]\n${role('web', `web_identity_token_file = ${folder}/.aws/token`)}
[profile machine]\n${role('machine', 'credential_source = Ec2InstanceMetadata')}`,
    );
    expect(await find({ AWS_PROFILE: 'own' })).toMatchObject({ accessKeyId: 'id-of-own' });
    expect(await find({ AWS_PROFILE: 'web' })).toMatchObject({ accessKeyId: 'id-of-web' });
    expect(requests.map(({ signer, form }) => [signer, form.Action, form.WebIdentityToken])).toEqual([
      ['base in us-east-1', 'AssumeRole', undefined],
      ['nobody', 'AssumeRoleWithWebIdentity', 'signed'],
    ]);
    await expect(find({ AWS_PROFILE: 'machine' })).rejects.toMatchObject({
      message: expect.stringContaining(
        'has credential_source = Ec2InstanceMetadata, which has no credentials',
      ),
    });
  });

  it.each([
    ['sso_session = company', 'has sso_session: krmhub does not support single sign-on'],
    ['sso_start_url = https://sso.example.com', 'has sso_start_url: krmhub does not support single sign-on'],
    ['credential_process = /bin/keys', 'has credential_process: krmhub does not support programs'],
    [
      role('x', `mfa_serial = arn:aws:iam::1:mfa/me\nsource_profile = base`),
      'has mfa_serial: krmhub does not',
    ],
    [role('x', 'source_profile = none'), 'the profile none in'],
    [role('x', 'source_profile = default'), 'has itself as its source_profile'],
    [
      role('x', ''),
      'has role_arn, but no valid source_profile, credential_source, or web_identity_token_file',
    ],
    [role('x', 'credential_source = toString'), 'has role_arn, but no valid source_profile'],
  ])('say what is not supported or wrong, also in the default profile: %s', async (fields, message) => {
    await write('config', `[default]\n${fields}\n[profile base]\n${KEYS}`);
    await expect(find()).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(message) });
    expect(requests).toEqual([]);
  });
});
