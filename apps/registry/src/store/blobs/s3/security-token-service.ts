/** The AWS Security Token Service, which gives temporary credentials of a role. */

import { defined } from '@krmhub/schema/defined';
import { type Found, request, required } from './credential-response.js';
import type { S3Credentials } from './place.js';
import { elementText } from './xml.js';

type Env = Readonly<Record<string, string | undefined>>;

export interface Role {
  /** ARN. */
  role: string;
  session: string | undefined;
  externalId?: string | undefined;
  seconds?: string | undefined;
  /** Of the profile; the environment wins. */
  region?: string | undefined;
}

/** Uses the token of a service account, which is the only proof. */
export async function assumeRoleWithWebIdentity(env: Env, role: Role, token: string): Promise<Found> {
  const { url } = endpoint(env, role);
  const body = form('AssumeRoleWithWebIdentity', role, { WebIdentityToken: token });
  return readCredentials(url, await request(url, { method: 'POST', body }));
}

/** Uses the keys of a user or another role. */
export async function assumeRole(env: Env, role: Role, keys: S3Credentials): Promise<Found> {
  const { url, region } = endpoint(env, role);
  const { accessKeyId, secretAccessKey, sessionToken } = keys;
  const { AwsV4Signer } = await import('aws4fetch');
  const signer = new AwsV4Signer({
    accessKeyId,
    secretAccessKey,
    ...defined({ sessionToken }),
    method: 'POST',
    url: url.href,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: form('AssumeRole', role, { ExternalId: role.externalId }).toString(),
    service: 'sts',
    region,
  });
  const { method, headers, body } = await signer.sign();
  return readCredentials(url, await request(url, { method, headers, body: body as string }));
}

function endpoint(env: Env, role: Role): { url: URL; region: string } {
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || role.region || 'us-east-1';
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return { url: new URL(env.AWS_ENDPOINT_URL_STS || `https://sts.${region}.${domain}/`), region };
}

function form(action: string, { role, session, seconds }: Role, more: Record<string, string | undefined>) {
  const body = new URLSearchParams({ Action: action, Version: '2011-06-15', RoleArn: role });
  const rest = { RoleSessionName: session || 'krmhub', DurationSeconds: seconds, ...more };
  for (const [name, value] of Object.entries(rest)) if (value) body.set(name, value);
  return body;
}

function readCredentials(url: URL, text: string): Found {
  return required(url, {
    accessKeyId: elementText(text, 'AccessKeyId'),
    secretAccessKey: elementText(text, 'SecretAccessKey'),
    sessionToken: elementText(text, 'SessionToken'),
    expiration: elementText(text, 'Expiration'),
  });
}
