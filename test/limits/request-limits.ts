import { generateKeyPairSync } from 'node:crypto';
import { UsersQuery } from '@krmhub/api/model';
import * as parameters from '@krmhub/api/parameters';
import { BUNDLE_LIMITS, PUBLISH_LIMITS } from '@krmhub/catalog';
import { DOCUMENT_LIMITS } from '@krmhub/schema';
import { expect } from 'vitest';
import { SERVER_LIMITS } from '../../apps/registry/src/limits.js';
import { definition, list } from '../hostile/definition.js';
import { rawRequest } from '../hostile/raw-request.js';
import type { RunningRegistry } from '../running.js';
import { type Limit, type Outcome, padded } from './document-limits.js';

interface Request {
  method?: string;
  body?: string | Uint8Array<ArrayBuffer>;
  type?: string;
  headers?: Record<string, string>;
}

/** The limits of requests to a registry, which must run when they are attempted. */
export function requestLimits(running: () => Pick<RunningRegistry, 'url' | 'token'>): Limit[] {
  async function ask(
    target: string,
    { method = 'GET', body, type = 'application/json', headers = {} }: Request = {},
  ): Promise<Outcome> {
    const response = await fetch(running().url + target, {
      method,
      headers: {
        authorization: `Bearer ${running().token}`,
        ...(body === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    const answer = await response.text();
    // An unknown name is 404, an invalid one 400.
    if (response.status < 300 || response.status === 404) return undefined;
    return `${response.status} ${(JSON.parse(answer) as { detail: string }).detail}`;
  }

  let releases = 0;
  const target = () => `/api/v1/functions/hostile.example.com/Limits/releases/1.0.${releases++}`;
  const source = (more = '') => `${JSON.stringify(definition({ kind: 'Limits' }))}${more}`;

  const BOUNDARY = 'boundary'.repeat(4);

  /** A form of this number of bytes, or the smallest possible, with a definition of the maximum size. */
  function form(bytes: number, readmeBytes: number, bundles = 0, notesBytes = 0): Uint8Array<ArrayBuffer> {
    const part = (name: string, content: Uint8Array, file: string) => [
      Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="${file}"\r\nContent-Type: application/yaml\r\n\r\n`,
      ),
      content,
      Buffer.from('\r\n'),
    ];
    const readme = new Uint8Array(readmeBytes).fill(0x78);
    const bundle = new Uint8Array(BUNDLE_LIMITS.maxBytes).fill(0x20);
    const make = (padding: number) =>
      Buffer.concat([
        ...part('definition', padded(source(), DOCUMENT_LIMITS.maxDefinitionBytes), 'definition.yaml'),
        ...part('readme', readme, `README.md${'x'.repeat(padding)}`),
        ...part('notes', new Uint8Array(notesBytes).fill(0x78), 'NOTES.md'),
        ...Array.from({ length: bundles }, () => part('bundle', bundle, 'bundle.json')).flat(),
        Buffer.from(`--${BOUNDARY}--\r\n`),
      ]);
    return new Uint8Array(make(Math.max(0, bytes - make(0).length)));
  }
  const { maxDefinitionBytes } = DOCUMENT_LIMITS;
  const { maxReadmeBytes, maxNotesBytes } = PUBLISH_LIMITS;
  const putForm = (body: Uint8Array<ArrayBuffer>) =>
    ask(target(), { method: 'PUT', body, type: `multipart/form-data; boundary=${BOUNDARY}` });
  const createToken = (fields: object) =>
    ask('/api/v1/tokens', {
      method: 'POST',
      body: JSON.stringify({ name: 'x', scopes: ['yank'], ...fields }),
    });
  const { REQUEST_LIMITS } = parameters;

  const publicKey = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({ format: 'jwk' });
  const storedLength = (ids: readonly string[]) =>
    JSON.stringify({ keys: ids.map((kid) => ({ ...publicKey, kid })) }).length;
  let publishers = 0;
  const addPublisher = (ids: readonly string[]) =>
    ask('/api/v1/trusted-publishers', {
      method: 'POST',
      body: JSON.stringify({
        group: 'keys.example.com',
        provider: 'custom',
        issuer: 'https://ci.example.com',
        settings: { subject: `build ${publishers++}` },
        // What is not stored does not count.
        keys: JSON.stringify({ keys: ids.map((kid) => ({ ...publicKey, kid, use: 'sig', alg: 'RS256' })) }),
      }),
    });

  return [
    {
      name: 'maxDefinitionBytes',
      limit: maxDefinitionBytes,
      attempt: (size) =>
        ask(target(), {
          method: 'PUT',
          body: new Uint8Array(padded(source(), size)),
          type: 'application/yaml',
        }),
      says: `413 the body exceeds ${maxDefinitionBytes} bytes`,
    },
    {
      name: 'maxReadmeBytes',
      limit: maxReadmeBytes,
      attempt: (size) => putForm(form(0, size)),
      says: `413 the part "readme" exceeds ${maxReadmeBytes} bytes`,
    },
    {
      name: 'maxNotesBytes',
      limit: maxNotesBytes,
      attempt: (size) => putForm(form(0, 0, 0, size)),
      says: `413 the part "notes" exceeds ${maxNotesBytes} bytes`,
    },
    {
      name: 'maxMultipartOverheadBytes',
      limit:
        maxDefinitionBytes +
        maxReadmeBytes +
        maxNotesBytes +
        BUNDLE_LIMITS.maxPerPublish * BUNDLE_LIMITS.maxBytes +
        SERVER_LIMITS.maxMultipartOverheadBytes,
      // The padding of the form is not a bundle, which is another refusal.
      attempt: async (size) => {
        const answer = await putForm(form(size, maxReadmeBytes, BUNDLE_LIMITS.maxPerPublish, maxNotesBytes));
        return answer?.startsWith('413') === true ? answer : undefined;
      },
      says: /^413 the body exceeds \d+ bytes/,
    },
    {
      name: 'maxFormParts',
      limit: SERVER_LIMITS.maxFormParts,
      attempt: async (size) => {
        const body = list(
          size,
          () => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="x"\r\n\r\n\r\n`,
        );
        const answer = await putForm(new Uint8Array(Buffer.from(`${body.join('')}--${BOUNDARY}--\r\n`)));
        return answer?.includes('more than') ? answer : undefined;
      },
      says: `400 the form has more than ${SERVER_LIMITS.maxFormParts} parts`,
    },
    {
      name: 'maxPartHeaderBytes',
      limit: SERVER_LIMITS.maxPartHeaderBytes,
      attempt: async (size) => {
        const disposition = '\r\nContent-Disposition: form-data; name="x"; filename="';
        const head = `${disposition}${'y'.repeat(size - disposition.length - 5)}"\r\n\r\n`;
        const body = `--${BOUNDARY}${head}${' '.repeat(100)}\r\n--${BOUNDARY}--\r\n`;
        const answer = await putForm(new Uint8Array(Buffer.from(body)));
        return answer?.includes('header of a part') ? answer : undefined;
      },
      says: `413 the header of a part exceeds ${SERVER_LIMITS.maxPartHeaderBytes} bytes`,
    },
    {
      name: 'maxJsonBytes',
      limit: SERVER_LIMITS.maxJsonBytes,
      attempt: (size) =>
        ask('/api/v1/tokens', { method: 'POST', body: '{"name":"x","scopes":["yank"]}'.padEnd(size, ' ') }),
      says: `413 the body exceeds ${SERVER_LIMITS.maxJsonBytes} bytes`,
    },
    {
      name: 'maxDiscardedBytes',
      limit: SERVER_LIMITS.maxJsonBytes + SERVER_LIMITS.maxDiscardedBytes,
      // Either is too large; the response reaches a client that has sent all of it.
      attempt: async (size) => {
        const head = `POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${running().token}\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`;
        const begin = performance.now();
        const { status } = await rawRequest(running().url, head, { patience: 20_000 });
        expect(status).toBe(413);
        return performance.now() - begin >= SERVER_LIMITS.discardMilliseconds * 0.9 ? undefined : 'at once';
      },
      says: 'at once',
    },
    {
      name: 'maxDetailLength',
      limit: SERVER_LIMITS.maxDetailLength,
      attempt: async (size) => {
        const start = await ask('/api/v1/tokens?x=');
        const detail = await ask(`/api/v1/tokens?${'y'.repeat(size - (start!.length - '400 '.length) + 1)}=`);
        return detail?.endsWith('…') ? detail : undefined;
      },
      says: /…$/,
    },
    {
      name: 'characters of a reason',
      limit: 1_000,
      attempt: (size) =>
        ask('/api/v1/functions/a.example.com/A/releases/1.0.0/yank', {
          method: 'POST',
          body: JSON.stringify({ reason: 'x'.repeat(size) }),
        }),
      says: /^400 reason: .*1000/,
    },
    {
      name: 'characters of the name of a token',
      limit: 100,
      attempt: (size) => createToken({ name: 'x'.repeat(size) }),
      says: /^400 name: .*100/,
    },
    {
      name: 'characters of the group of a token',
      limit: 253,
      attempt: (size) => createToken({ groups: ['x'.repeat(size)] }),
      says: /^400 groups\.0: .*253/,
    },
    ...(['groups', 'repositories'] as const).map(
      (field): Limit => ({
        name: `${field} of a token`,
        limit: REQUEST_LIMITS.maxTokenLimits,
        attempt: (size) => createToken({ scopes: ['read'], [field]: list(size, (n) => `x${n}.example.com`) }),
        says: `400 ${field}: has more than ${REQUEST_LIMITS.maxTokenLimits} entries`,
      }),
    ),
    {
      name: 'days of a token',
      limit: 3_650,
      attempt: (size) => createToken({ expiresInDays: size }),
      says: /^400 expiresInDays: .*3650/,
    },
    {
      name: 'keys of a trusted publisher',
      limit: 20,
      attempt: (size) => addPublisher(list(size, (n) => `${n}`)),
      says: '400 the keys cannot be read: it has 21 keys; the limit is 20',
    },
    {
      name: 'characters of the keys of a trusted publisher',
      limit: 10_000,
      attempt: (size) => {
        const ids = list(20, (n) => `${n}`);
        // Each ID has at most 256 characters.
        let missing = size - storedLength(ids);
        const padded = ids.map((id) => {
          const more = Math.min(missing, 256 - id.length);
          missing -= more;
          return id + 'x'.repeat(more);
        });
        expect(storedLength(padded)).toBe(size);
        return addPublisher(padded);
      },
      says: '400 the keys cannot be read: its keys have 10001 characters; the limit is 10000',
    },
    {
      name: 'characters of the ID of a key of a trusted publisher',
      limit: 256,
      attempt: (size) => addPublisher(['x'.repeat(size)]),
      says: /^400 the keys cannot be read: it has no RSA key .* with a `kid`/,
    },
    {
      name: 'maxQueryLength',
      limit: REQUEST_LIMITS.maxQueryLength,
      attempt: (size) => ask(`/api/v1/functions?q=${'x'.repeat(size)}`),
      says: /"q" is longer than 500 characters/,
    },
    {
      name: 'maxFilterLength',
      limit: REQUEST_LIMITS.maxFilterLength,
      attempt: (size) => ask(`/api/v1/functions?tag=${'x'.repeat(size)}`),
      says: /"tag" is longer than 253 characters/,
    },
    {
      name: 'maxSignerLength',
      limit: REQUEST_LIMITS.maxSignerLength,
      attempt: (size) => ask(`/api/v1/functions?signedBy=${'x'.repeat(size)}`),
      says: /"signedBy" is longer than 2000 characters/,
    },
    {
      name: 'maxFilterValues',
      limit: REQUEST_LIMITS.maxFilterValues,
      attempt: (size) => ask(`/api/v1/functions?${list(size, (n) => `tag=t${n}`).join('&')}`),
      says: /"tag" is given more than 20 times/,
    },
    {
      name: 'maxReleaseLength',
      limit: PUBLISH_LIMITS.maxReleaseLength,
      attempt: (size) => ask(`/api/v1/functions/a.example.com/A/releases/1.0.0-${'x'.repeat(size - 6)}`),
      says: /"release" is longer than 128 characters/,
    },
    {
      name: 'characters of a group in a path',
      limit: 253,
      attempt: (size) => ask(`/api/v1/functions/${'a'.repeat(size - 4)}.com/A`),
      says: /"group" is not a valid group/,
    },
    {
      name: 'characters of a kind in a path',
      limit: 63,
      attempt: (size) => ask(`/api/v1/functions/a.example.com/${'A'.repeat(size)}`),
      says: /"kind" is not a valid kind/,
    },
    {
      name: 'characters of an API version in a path',
      limit: 63,
      attempt: (size) => ask(`/schemas/a.example.com/${'v'.repeat(size)}/A.json`),
      says: /"version" is not a valid API version/,
    },
    {
      name: 'characters of a catalog',
      limit: 63,
      attempt: (size) => ask(`/api/v1/catalogs/${'a'.repeat(size)}`),
      says: /"name" is not a valid catalog name/,
    },
    {
      name: 'characters of the ID of a token',
      limit: 64,
      attempt: (size) => ask(`/api/v1/tokens/${'a'.repeat(size)}`, { method: 'DELETE' }),
      says: /"id" is not a valid token ID/,
    },
    ...(
      [
        ['maxSearchLimit', parameters.SearchParameters],
        ['maxEventLimit', parameters.EventParameters],
        ['maxSnapshotLimit', parameters.SnapshotParameters],
        ['maxUserLimit', UsersQuery],
      ] as const
    ).map(
      ([name, schema]): Limit => ({
        name,
        limit: REQUEST_LIMITS[name],
        // A larger value is not an error: a page has at most the maximum.
        attempt: (size) =>
          schema.parse({ limit: String(size) }).limit === size
            ? undefined
            : `brought to ${REQUEST_LIMITS[name]}`,
        says: `brought to ${REQUEST_LIMITS[name]}`,
      }),
    ),
  ];
}
