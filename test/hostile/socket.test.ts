import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fixtures, krmhub } from '../running.js';
import { attackRegistry } from './attacked.js';
import { bytesOf, definition, GROUP } from './definition.js';
import { readMemory } from './neighbor.js';
import { drip, flood, type RawResponse, rawRequest } from './raw-request.js';

const attacked = attackRegistry();

const TARGET = '/api/v1/functions/hostile.example.com/Hostile/releases/1.0.0';
const GET = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';

function putHead(...headers: string[]): string {
  const usual = [
    'Host: x',
    `Authorization: Bearer ${attacked.registry.token}`,
    'Content-Type: application/yaml',
  ];
  return `PUT ${TARGET} HTTP/1.1\r\n${[...usual, ...headers].join('\r\n')}\r\n\r\n`;
}

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const send = (head: string, options: Parameters<typeof rawRequest>[2] = {}) =>
  rawRequest(attacked.registry.url, head, options);
/** Resolves after the first response. */
const answered = (received: string) => received.includes('\r\n\r\n');

/** A 4xx with a problem document. */
function expectProblem({ status, received }: RawResponse, ...statuses: number[]): void {
  expect(statuses, received.slice(0, 300)).toContain(status);
  expect(received.toLowerCase()).toContain('content-type: application/problem+json');
}

describe('bytes that are not HTTP', () => {
  it.each([
    ['bytes of TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
    ['an empty line', '\u0000\u0000\u0000\u0000\r\n\r\n'],
    ['HTTP/2 by surprise', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an SSH greeting', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a request line without a version', 'GET /\r\n\r\n'],
    ['an invalid version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['a blank in a header name', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\u0000c\r\n\r\n'],
    ['a bare line feed and a carriage return', 'GET / HTTP/1.1\nHost: x\r\r\n\r\n'],
    ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['a method of a thousand characters', `${'A'.repeat(1_000)} / HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['CONNECT', 'CONNECT evil.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('%s', async (_, text) => {
    const answer = await send(text);
    // Ending the connection silently is a valid response to bytes that are not HTTP.
    expect([0, 200, 400, 404, 405]).toContain(answer.status);
    expect(answer.status === 200 || answer.ended).toBe(true);
  });

  it('two Hosts are refused', async () => {
    expectProblem(await send('GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'), 400);
  });

  it('junk after a request is refused, after the response to the request', async () => {
    const { received, ended } = await send(`${GET}\r\n\u0001\u0002junk junk\r\n\r\n`);
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    expect(received).toContain('HTTP/1.1 400 Bad Request');
    expect(received).toContain('application/problem+json');
    expect(ended).toBe(true);
  });

  it('more waiting requests than the limit end the connection', async () => {
    const { ended, received } = await send('GET /healthz HTTP/1.1\r\nHost:x\r\n\r\n'.repeat(20_000), {
      patience: 20_000,
    });
    expect(ended).toBe(true);
    expect(received.split('HTTP/1.1 200').length).toBeLessThan(20_000);
  });

  it('large responses that the client does not read do not add up in memory', async () => {
    const kind = 'Unread';
    const body = JSON.stringify(definition({ kind })).padEnd(900_000, ' ');
    const target = `/api/v1/functions/${GROUP}/${kind}/releases/1.0.0`;
    const published = await fetch(attacked.registry.url + target, {
      method: 'PUT',
      body,
      headers: { authorization: `Bearer ${attacked.registry.token}`, 'content-type': 'application/json' },
    });
    expect(published.status, await published.text()).toBe(201);
    const before = await readMemory(attacked.registry);
    const socket = connect(Number(new URL(attacked.registry.url).port), '127.0.0.1');
    socket.on('error', () => undefined).pause();
    socket.write(`GET ${target}/definition.yaml HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(500));
    await sleep(3_000);
    const grown = (await readMemory(attacked.registry)) - before;
    socket.destroy();
    expect(grown).toBeLessThan(200 * 1_048_576);
  });

  it('a thousand pipelined requests on one connection all get a response', async () => {
    const { received } = await send(`${GET}\r\n`.repeat(1_000), {
      enough: (text) => text.split('HTTP/1.1 200').length > 1_000,
      patience: 20_000,
    });
    expect(received.split('HTTP/1.1 200').length - 1).toBe(1_000);
  });
});

describe('headers', () => {
  it.each([
    ['one of 20,000 bytes', `X-Long: ${'x'.repeat(20_000)}\r\n`],
    ['4,000', Array.from({ length: 4_000 }, (_, index) => `X-${index}: x\r\n`).join('')],
    ['a name of 20,000 bytes', `${'X'.repeat(20_000)}: x\r\n`],
  ])('%s are too large', async (_, headers) => {
    const answer = await send(`${GET}${headers}\r\n`);
    expectProblem(answer, 431);
    expect(answer.received).toContain('"code":"too-large"');
  });

  it('without end are cut off', async () => {
    const answer = await send(GET, { more: flood(`X-More: ${'x'.repeat(1_000)}\r\n`) });
    expect([431, 0]).toContain(answer.status);
    expect(answer.ended).toBe(true);
  });

  it('a URL of 20,000 bytes is too large, one of 8,000 is 404', async () => {
    expectProblem(await send(`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`), 431);
    const long = `GET /${'a'.repeat(8_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expectProblem(await send(long), 404);
  });

  it.each([
    ['%00', 400, 404],
    ['%', 400, 404],
    ['%ff%fe', 400, 404],
    ['..%2f..%2f..%2fetc%2fpasswd', 400, 404],
    ['//evil.example.com/', 400, 404],
    ['\u0001', 400, 404],
    ['catalogs/%2e%2e/%2e%2e/etc/passwd', 400, 404],
    ['api/v1/functions/%F0%9F%92%A9/x', 400, 404],
  ])('the path /%s', async (part, ...statuses) => {
    expectProblem(await send(`GET /${part} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`), ...statuses);
  });

  it('hostile values of every header in use change nothing', async () => {
    const hostile = [
      '\u001b[2J',
      'x'.repeat(4_000),
      '*/*;q=NaN, br;q=-1, gzip;q=1e999',
      '"',
      ',,,,',
      'W/"sha256:',
      '{{7*7}}',
      '-1',
    ];
    const names = [
      'Accept-Encoding',
      'If-None-Match',
      'If-Modified-Since',
      'Range',
      'X-Request-Id',
      'Accept',
      'X-Forwarded-For',
      'X-Forwarded-Host',
      'X-HTTP-Method-Override',
      'Authorization',
      'Origin',
      'Cookie',
    ];
    for (const name of names) {
      for (const value of hostile) {
        const { status, received } = await send(
          `GET /catalogs/default/catalog.yaml HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${name}: ${value}\r\n\r\n`,
        );
        expect([200, 304, 400], `${name}: ${value}`).toContain(status);
        expect(received.slice(0, received.indexOf('\r\n\r\n'))).not.toContain('\u001b');
      }
    }
  });
});

describe('lengths', () => {
  const body = Buffer.from(bytesOf(JSON.stringify(definition()))).toString();

  it('a body that is shorter than its length is cut off, and nothing is published', async () => {
    const { received } = await send(`${putHead(`Content-Length: ${body.length + 100}`)}${body}`, {
      more: (socket) => socket.end(),
    });
    expect(received).not.toMatch(/^HTTP\/1\.1 2/);
    expect((await fetch(attacked.registry.url + TARGET)).status).toBe(404);
  });

  it('bytes after a body that is longer than its length are a separate, invalid request', async () => {
    const { received, ended } = await send(`${putHead(`Content-Length: ${body.length - 20}`)}${body}`);
    expect(received).not.toMatch(/^HTTP\/1\.1 2/);
    expect(ended).toBe(true);
    expect((await fetch(attacked.registry.url + TARGET)).status).toBe(404);
  });

  it.each([
    'Content-Length: -1',
    'Content-Length: 1e3',
    'Content-Length: 0x10',
    'Content-Length: 99999999999999999999',
    'Content-Length: 18446744073709551617',
    'Content-Length: 5, 5',
    'Content-Length: 5\r\nContent-Length: 6',
    'Content-Length:',
    'Content-Length: 5\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 5',
    'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: \u000bchunked',
    'Transfer-Encoding: identity\r\nContent-Length: 5',
  ])('%j is refused, and the smuggled request gets no response', async (header) => {
    const smuggled = 'GET /api/v1/functions HTTP/1.1\r\nHost: smuggled\r\n\r\n';
    const answer = await send(`${putHead(header)}0\r\n\r\n${smuggled}`);
    expect([0, 400, 413, 501], answer.received.slice(0, 200)).toContain(answer.status);
    if (answer.status !== 0) expectProblem(answer, 400, 413, 501);
    expect(answer.received).not.toContain('"facets"');
    expect(answer.ended).toBe(true);
  });

  it.each([
    ['that is not a number', 'xyz\r\n'],
    ['below nothing', '-5\r\nhello\r\n'],
    ['of 2 to the power of 64', 'FFFFFFFFFFFFFFFFF\r\nhello\r\n'],
    ['that is smaller than its chunk', '2\r\nhello\r\n0\r\n\r\n'],
    ['without a line end', `${'1'.repeat(20_000)}`],
    ['with an extension of 20,000 bytes', `5;x=${'y'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`],
  ])('a chunk size %s is refused', async (_, text) => {
    const answer = await send(putHead('Transfer-Encoding: chunked') + text);
    expectProblem(answer, 400, 413);
    expect(answer.ended).toBe(true);
  });

  it('a body without end is refused when it is too large, in chunks and by length', async () => {
    const endless = await send(putHead('Transfer-Encoding: chunked'), {
      more: flood(chunk('x'.repeat(65_536))),
      patience: 15_000,
    });
    expect([413, 0]).toContain(endless.status);
    expect(endless.ended).toBe(true);
    const said = await send(putHead('Content-Length: 999999999999'), {
      patience: 15_000,
      more: flood('x'.repeat(65_536)),
    });
    expect([413, 0]).toContain(said.status);
    expect(said.ended).toBe(true);
  });

  it('a body without end on a route without a body ends with its connection', async () => {
    const heads = [
      'GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n',
      'POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n',
      'DELETE /api/v1/tokens/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n',
      `PUT ${TARGET} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ];
    const answers = await Promise.all(
      heads.map((head) => send(head, { more: flood(chunk('x'.repeat(65_536))), patience: 20_000 })),
    );
    expect(answers.map(({ ended }) => ended)).toEqual(heads.map(() => true));
    for (const { status } of answers) expect([0, 200, 400, 401, 404, 405, 413]).toContain(status);
  });

  it('a megabyte in chunks of one byte is read like any other', async () => {
    const text = `${body}\n${'#'.repeat(200_000)}`;
    const pieces = [...text].map((character) => `1\r\n${character}\r\n`).join('');
    const answer = await send(
      `${putHead('Transfer-Encoding: chunked').replace('1.0.0', '1.0.1')}${pieces}0\r\n\r\n`,
      {
        patience: 20_000,
        enough: answered,
      },
    );
    expect(answer.status).toBe(201);
  });

  it('100-continue is sent before the body, and refused if the body would be', async () => {
    const good = await send(putHead('Expect: 100-continue', 'Content-Length: 10'), {
      enough: (text) => text.includes('100 Continue'),
    });
    expect(good.received).toContain('HTTP/1.1 100 Continue');
    const large = await send(putHead('Expect: 100-continue', 'Content-Length: 99999999'), {
      enough: (text) => text.includes('413'),
    });
    expect(large.received).toContain(' 413 ');
    const other = await send(putHead('Expect: 200-maybe', 'Content-Length: 0'), { enough: answered });
    expect(other.status).toBeGreaterThanOrEqual(400);
    expect(other.status).toBeLessThan(500);
  });

  it.each(['gzip', 'br', 'zstd', 'deflate, gzip', 'x'.repeat(1_000)])(
    'the content coding %s is not accepted',
    async (coding) => {
      const answer = await send(`${putHead(`Content-Encoding: ${coding}`, 'Content-Length: 5')}hello`, {
        enough: answered,
      });
      expectProblem(answer, 415);
    },
  );
});

describe('slow clients', () => {
  it('are cut off, whether their headers or their body are slow', async () => {
    const each = await Promise.all([
      send(GET, { more: drip('X', 1_000), patience: 80_000 }),
      send('G', { more: drip('E', 1_000), patience: 80_000 }),
      send(putHead('Content-Length: 1000'), { more: drip('x', 1_000), patience: 80_000 }),
      send(putHead('Transfer-Encoding: chunked'), { more: drip('1\r\nx\r\n', 1_000), patience: 80_000 }),
      send(putHead('Content-Length: 1000'), { patience: 80_000 }),
      ...Array.from({ length: 200 }, () => send(GET, { patience: 80_000 })),
    ]);
    for (const answer of each) {
      expect(answer.ended).toBe(true);
      expectProblem(answer, 400, 408);
    }
    const [, , body] = each;
    expect(body!.received).toContain('was not received within 30 seconds');
  });
});

describe('afterwards', () => {
  it('no other client has waited, memory is bounded, and a publish works', async () => {
    expect(attacked.neighbor.responses).toBeGreaterThan(100);
    await attacked.expectUnharmed();
    const publish = ['publish', path.join(fixtures, 'functions/set-namespace/1.4.2.yaml')];
    expect(await krmhub(publish, { env: attacked.registry.env })).toMatchObject({ code: 0 });
  });
});
