import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { keylessSigner, readTokenClaims, type SigningServices } from './keyless.js';

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const createToken = (claims: unknown) => `${part({ alg: 'none' })}.${part(claims)}.${'c2lnbmF0dXJl'}`;
const claims = { iss: 'https://accounts.example.com', sub: 'somebody', aud: 'sigstore' };
const token = createToken(claims);

describe('identity tokens', () => {
  it('contain subject and issuer', () => {
    expect(readTokenClaims(token)).toEqual({ subject: 'somebody', issuer: claims.iss });
    const email = { ...claims, email: 'a@example.com', email_verified: true };
    expect(readTokenClaims(createToken(email)).subject).toBe('a@example.com');
  });

  it.for([
    ['nothing', ''],
    ['a text', 'hello'],
    ['two parts', token.split('.').slice(0, 2).join('.')],
    ['four parts', `${token}.x`],
    ['other characters', token.replace('.', '.%')],
    ['a line more', `${token}\n${token}`],
    ['no JSON', 'aGk.aGk.aGk'],
    ['null', createToken(null)],
    ['no issuer', createToken({ ...claims, iss: undefined })],
    ['no subject', createToken({ ...claims, sub: '' })],
    ['an address that is not verified', createToken({ ...claims, email: 'a@example.com' })],
    ['too long', 'a'.repeat(20_000)],
  ])('are rejected without printing them: %s', ([, bad]) => {
    const refused = () => keylessSigner(services('http://127.0.0.1:9'), bad!);
    expect(refused).toThrow(expect.objectContaining({ code: 'usage' }));
    try {
      refused();
    } catch (error) {
      const { message, hint, cause } = error as Error & { hint: string };
      expect(cause).toBeUndefined();
      for (const secret of bad!.split('.').filter((piece) => piece.length > 3)) {
        expect(`${message}${hint}`).not.toContain(secret);
      }
    }
  });
});

function services(url: string): SigningServices {
  return { fulcioUrl: url, rekorUrl: url, rekorVersion: 1, timestampUrl: url };
}

/** What signing says where the authority answers so. */
async function refusal(listener: RequestListener): Promise<Error & { code: string; hint: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await keylessSigner(services(url), token)(Buffer.from('{}'));
  } catch (error) {
    const { message } = error as Error;
    expect(message).toContain(`the certificate authority (Fulcio) at ${url}`);
    return error as Error & { code: string; hint: string };
  } finally {
    server.closeAllConnections();
    server.close();
  }
  throw new Error('it has signed');
}

const answering =
  (status: number, message: string): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ message }));
  };

describe('failing services', () => {
  it('are named with their error message', async () => {
    const refused = await refusal(answering(400, 'the issuer is not known'));
    expect(refused.message).toContain('rejected the request: (400) the issuer is not known');
    expect([refused.code, refused.hint]).toEqual(['unauthorized', expect.stringContaining('issuer')]);
  });

  it('cannot make krmhub print the token', async () => {
    const echo: RequestListener = (request, response) => {
      void text(request).then((body) => answering(401, `no: ${body}`)(request, response));
    };
    const { message, cause } = await refusal(echo);
    expect(cause).toBeUndefined();
    for (const piece of token.split('.')) expect(message).not.toContain(piece);
  });

  it('have different codes for rejections, failures and unreachable services', async () => {
    // Together, because each is retried for a second.
    const [failing, busy, gone, wrong] = await Promise.all([
      refusal(answering(503, 'closed')),
      refusal(answering(429, 'slowly')),
      refusal((request) => request.socket.destroy()),
      refusal((_, response) => response.end('<html>')),
    ]);
    expect([failing.code, busy.code]).toEqual(['unavailable', 'rate-limited']);
    expect([gone.code, gone.hint]).toEqual(['unreachable', expect.stringContaining('--fulcio-url')]);
    expect(['unreachable', 'unavailable']).toContain(wrong.code);
  });

  it('of log version 2 need a timestamp authority', () => {
    const { timestampUrl: _, ...without } = services('http://127.0.0.1:9');
    expect(() => keylessSigner({ ...without, rekorVersion: 2 }, token)).toThrow(
      expect.objectContaining({ code: 'usage', hint: expect.stringContaining('--timestamp-url') }),
    );
  });
});
