import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { S3_LIMITS } from './limits.js';
import { openS3, readS3 } from './open-s3.js';
import { parseS3Url } from './place.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** What a store must not get away with, and how often it is asked. */
describe('an S3 server that is not what it seems', () => {
  let folder: string;
  let endpoint: string;
  let requests: string[];
  let handle: Handler;
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    request.resume().once('end', () => handle(request, response));
  });
  const answer =
    (status: number, text = '', headers: Record<string, string> = {}): Handler =>
    (_, response) =>
      void response.writeHead(status, { 'Content-Length': Buffer.byteLength(text), ...headers }).end(text);
  /** As a new prefix: no registry has it yet. */
  const unowned =
    (other: Handler): Handler =>
    (request, response) =>
      request.method === 'GET' && request.url?.includes('registry.json')
        ? answer(404)(request, response)
        : other(request, response);
  const place = () => parseS3Url(`s3://blobs/hub?endpoint=${endpoint}`);
  const credentials = async () => ({ accessKeyId: 'key', secretAccessKey: 'secret' });
  const open = () =>
    openS3({
      place: place(),
      credentials,
      owner: { id: 'one', isNew: true },
      cacheFolder: folder,
      cacheBytes: 1_000_000,
      redirect: false,
    });
  const reader = () => readS3(place(), credentials).area('blobs');
  const listed = async () => {
    const found: string[] = [];
    for await (const { digest } of reader().blobs()) found.push(digest);
    return found;
  };
  const digest = sha256('expected');
  const key = (hex: string) => `hub/blobs/sha256/${hex.slice(0, 2)}/${hex}`;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'krmhub-s3-'));
    requests = [];
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    await rm(folder, { recursive: true, force: true });
  });

  it('is refused if it ignores conditional writes', async () => {
    handle = unowned(answer(200));
    await expect(open()).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('conditional writes'),
    });
    expect(requests.at(-1)).toMatch(/^DELETE \/blobs\/hub\/check\//);
  });

  it('is refused if it does not verify checksums', async () => {
    let writes = 0;
    handle = unowned((request, response) => {
      const isRepeated = request.headers['if-none-match'] === '*' && writes++ > 0;
      response.writeHead(isRepeated ? 412 : 200).end();
    });
    await expect(open()).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('SHA-256 checksums'),
    });
  });

  it.each([
    [501, 'NotImplemented'],
    [501, undefined],
    [400, 'InvalidArgument'],
  ])('is refused with what krmhub needs if it rejects checksums with %i %s', async (status, code) => {
    handle = unowned((request, response) => {
      const isRejected = Object.keys(request.headers).some((name) => name.startsWith('x-amz-checksum'));
      const text = code === undefined ? '' : `<Error><Code>${code}</Code></Error>`;
      return isRejected ? answer(status, text)(request, response) : answer(200)(request, response);
    });
    await expect(open()).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('the store rejects SHA-256 checksums or conditional writes'),
      hint: expect.stringContaining('x-amz-checksum-sha256'),
    });
    expect(requests.filter((one) => one.startsWith('PUT'))).toHaveLength(1);
  });

  it('gets no write if its prefix belongs to another registry', async () => {
    handle = answer(200, '{"registry": "other"}');
    await expect(open()).rejects.toMatchObject({
      code: 'usage',
      message: 's3://blobs/hub has the blobs of another registry',
    });
    expect(requests.filter((one) => !one.startsWith('GET '))).toEqual([]);
  });

  it('is accepted if the responses to its first writes are lost', async () => {
    const objects = new Set<string>();
    const EMPTY = createHash('sha256').update('check').digest('base64');
    let lost = 0;
    handle = unowned((request, response) => {
      const { method, url = '', headers } = request;
      if (method !== 'PUT')
        return answer(method === 'GET' ? 200 : 204, '<ListMultipartUploadsResult/>')(request, response);
      if (objects.has(url) && headers['if-none-match'] === '*') return answer(412)(request, response);
      if (url.includes('/check/') && headers['x-amz-checksum-sha256'] !== EMPTY)
        return answer(400)(request, response);
      objects.add(url);
      if (lost++ < S3_LIMITS.maxAttempts - 1) return request.socket.destroy();
      return answer(200)(request, response);
    });
    await open();
    const names = (words: string) => requests.filter((one) => one.startsWith(words));
    expect(new Set(names('PUT /blobs/hub/check/')).size).toBe(S3_LIMITS.maxAttempts);
    // Those of lost responses exist too.
    expect(new Set(names('DELETE /blobs/hub/check/')).size).toBe(S3_LIMITS.maxAttempts);
  });

  it.each([
    [
      403,
      '<Error><Code>AccessDenied</Code><Message>No \u001b[31m&lt;access&gt;</Message></Error>',
      {},
      'AccessDenied: No ?[31m<access>',
      'Allow this access key',
    ],
    [
      301,
      '<Error><Code>PermanentRedirect</Code></Error>',
      { 'x-amz-bucket-region': 'eu-west-1' },
      'PermanentRedirect',
      'add region=eu-west-1',
    ],
    [307, '', { Location: 'http://127.0.0.1:1/' }, 'HTTP status 307', 'Use the endpoint'],
    [404, '<Error><Code>NoSuchBucket</Code></Error>', {}, 'NoSuchBucket', 'Create the bucket blobs'],
    [
      403,
      '<Error><Code>RequestTimeTooSkewed</Code></Error>',
      {},
      'RequestTimeTooSkewed',
      'Correct the clock',
    ],
  ])('is asked once after a final %i', async (status, text, headers, message, hint) => {
    handle = answer(status, text, headers as Record<string, string>);
    await expect(reader().get(digest)).rejects.toMatchObject({
      code: 'unavailable',
      message: `cannot use the blobs in s3://blobs/hub: ${message}`,
      hint: expect.stringContaining(hint),
    });
    expect(requests).toHaveLength(1);
  });

  it.each([500, 503, 429])('is asked a few times after %i', async (status) => {
    handle = answer(status);
    await expect(reader().get(digest)).rejects.toMatchObject({ code: 'unavailable' });
    expect(requests).toHaveLength(S3_LIMITS.maxAttempts);
    handle = (request, response) =>
      answer(requests.length % 2 === 0 ? 200 : status, 'expected')(request, response);
    requests = ['GET'];
    expect(await reader().get(digest)).toEqual(Buffer.from('expected'));
  });

  it('does not get other bytes through', async () => {
    handle = answer(200, 'unexpected');
    await expect(reader().get(digest)).rejects.toMatchObject({ code: 'internal' });
    handle = (request, response) => {
      const headers = { 'Content-Range': 'bytes 0-7/8' };
      if (request.method === 'HEAD') response.writeHead(200, { 'Content-Length': '8' }).end();
      else response.writeHead(206, headers).end('EXPECTED and more');
    };
    const pieces: Uint8Array[] = [];
    const reading = async () => {
      for await (const piece of (await reader().read(digest))!.pieces) pieces.push(piece);
    };
    await expect(reading()).rejects.toMatchObject({ code: 'internal' });
    expect(Buffer.concat(pieces).length).toBeLessThan(8);
    handle = answer(200, '', { 'Content-Length': String(S3_LIMITS.maxMemoryBytes + 1) });
    await expect(reader().get(digest)).rejects.toMatchObject({ code: 'too-large' });
  });

  it('continues a response that breaks off, and gives up one that always does', async () => {
    const whole = Buffer.alloc(300_000, 'a whole blob ');
    handle = (request, response) => {
      if (request.method === 'HEAD')
        return void response.writeHead(200, { 'Content-Length': '300000' }).end();
      const start = Number(/\d+/.exec(request.headers.range ?? '')?.[0] ?? 0);
      response.writeHead(206, {
        'Content-Range': `bytes ${start}-299999/300000`,
        'Content-Length': String(300_000 - start),
      });
      response.write(whole.subarray(start, start + 100_000), () => response.destroy());
    };
    const pieces: Uint8Array[] = [];
    for await (const piece of (await reader().read(sha256(whole)))!.pieces) pieces.push(piece);
    expect(whole.equals(Buffer.concat(pieces))).toBe(true);
    handle = (request, response) => {
      if (request.method === 'HEAD') response.writeHead(200, { 'Content-Length': '300000' }).end();
      else response.destroy();
    };
    const reading = async () => {
      for await (const _ of (await reader().read(sha256(whole)))!.pieces);
    };
    requests = [];
    await expect(reading()).rejects.toMatchObject({ code: 'unavailable' });
    // Attempts do not multiply.
    expect(requests).toHaveLength(1 + S3_LIMITS.maxAttempts);
    requests = [];
    handle = (_, response) => void response.destroy();
    await expect(reader().get(digest)).rejects.toMatchObject({ code: 'unavailable' });
    expect(requests).toHaveLength(S3_LIMITS.maxAttempts);
  });

  it('lists only blobs below the prefix, in documents of bounded size', async () => {
    const hex = digest.slice('sha256:'.length);
    const keys = [
      key(hex),
      `other/blobs/sha256/${hex.slice(0, 2)}/${hex}`,
      'hub/blobs/sha256/../../etc/passwd',
      `${key(hex)}x`,
    ];
    const page = (more: string) =>
      `<ListBucketResult>${keys.map((one) => `<Contents><Key>${one}</Key><Size>8</Size></Contents>`).join('')}${more}</ListBucketResult>`;
    handle = answer(200, page('<IsTruncated>false</IsTruncated>'));
    expect(await listed()).toEqual([digest]);
    const endless = '<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>';
    handle = answer(200, page(endless));
    await expect(listed()).rejects.toMatchObject({ message: expect.stringContaining('does not continue') });
    handle = answer(200, 'x'.repeat(S3_LIMITS.maxDocumentBytes + 1));
    await expect(listed()).rejects.toMatchObject({ message: expect.stringContaining('too large') });
    handle = answer(200, '<html>login</html>');
    await expect(listed()).rejects.toMatchObject({ message: expect.stringContaining('not a list') });
    expect(await readdir(folder)).toEqual([]);
  });
});
