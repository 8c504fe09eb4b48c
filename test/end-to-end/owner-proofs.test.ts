import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { type OwnerClaim, PROOF_PATH, type ProofOutcome, proofText } from '@krmhub/catalog';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { proofFinder } from '../../apps/registry/src/owners/find-proof.js';
import { fileFetcher } from '../../apps/registry/src/upstreams/fetch-file.js';
import { issuedCertificate } from '../../packages/sources/src/testing/certificate.js';
import { temporaryFolder } from '../running.js';

/** Proofs by HTTPS, from a TLS server whose certificate is of an authority of its own. */

const GROUP = 'new.example.com';
const REGISTRY = 'https://hub.example.net';
const CLAIM: OwnerClaim = { group: GROUP, team: 'platform', proof: 'https' };
const PROOF = proofText(REGISTRY, 'platform');

const { folder, remove } = temporaryFolder();
const certificate = issuedCertificate(folder, GROUP);
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
afterAll(remove);

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts a server that answers for every host, and returns how to reach it, and the URLs that it was asked for. */
async function serve(answer: Answer, { isTrusted = true } = {}) {
  const asked: string[] = [];
  const server = createServer({ key: certificate.key, cert: certificate.cert }, (request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  class ToServer extends Agent {
    override createConnection({ host }: { host?: string | null }) {
      const servername = host ?? '';
      return connect({ host: '127.0.0.1', port, servername, ...(isTrusted ? { ca: certificate.ca } : {}) });
    }
  }
  const agent = new ToServer();
  return { asked, network: { proxy: async () => ({ url: 'http://proxy.invalid', agent }) } };
}

const look = (network: object, claim = CLAIM): Promise<ProofOutcome> =>
  proofFinder({}, { temporaryFolder: folder, network })(claim, REGISTRY);

describe('a proof by HTTPS', () => {
  it('is a line of the file of the domain', async () => {
    const { network, asked } = await serve((_, response) => response.end(`# ours\r\n  ${PROOF}  \n`));
    expect(await look(network)).toEqual({ found: true });
    expect(asked).toEqual([`${GROUP}${PROOF_PATH}`]);
    expect(await look(network, { ...CLAIM, team: 'rivals' })).toEqual({
      found: false,
      problem: `https://${GROUP}${PROOF_PATH} does not name this registry and the team "rivals"`,
    });
  });

  it('needs a certificate of a known authority for the domain', async () => {
    const answer: Answer = (_, response) => response.end(PROOF);
    const unknown = await serve(answer, { isTrusted: false });
    const problem = expect.stringMatching(/^cannot reach new\.example\.com: .*certificate/);
    expect(await look(unknown.network)).toEqual({ found: false, problem });
    const { network, asked } = await serve(answer);
    expect(await look(network, { ...CLAIM, group: 'other.example.com' })).toMatchObject({
      found: false,
      problem: expect.stringContaining('other.example.com'),
    });
    expect([...asked, ...unknown.asked]).toEqual([]);
  });

  it.each([
    'https://elsewhere.example.com/proof',
    '/elsewhere',
    'http://new.example.com/',
    'https://169.254.169.254/',
  ])('is not behind a redirect to %s', async (location) => {
    const { network, asked } = await serve((request, response) => {
      if (request.url === PROOF_PATH) response.writeHead(302, { Location: location }).end(PROOF);
      else response.end(PROOF);
    });
    expect(await look(network)).toMatchObject({ found: false, problem: expect.stringContaining('redirect') });
    expect(asked).toHaveLength(1);
  });

  it.each(['127.1', '0x7f.1', '1.0x10000', '2.3.4.5.6', 'xn--a.com'])(
    'is not asked of another host than the group %s',
    async (group) => {
      const { network, asked } = await serve((_, response) => response.end(PROOF));
      expect(await look(network, { ...CLAIM, group })).toEqual({
        found: false,
        problem: `${group} is not the name of a host`,
      });
      expect(asked).toEqual([]);
    },
  );

  it.each([404, 403, 500])('is not in an answer with status %i', async (status) => {
    const { network } = await serve((_, response) => response.writeHead(status).end(PROOF));
    expect(await look(network)).toMatchObject({
      found: false,
      problem: expect.stringContaining(String(status)),
    });
  });

  it('is not read from an answer that is too large, compressed or not', async () => {
    const { gzipSync } = await import('node:zlib');
    const text = `${'\n'.repeat(20_000)}${PROOF}`;
    for (const encoding of ['identity', 'gzip']) {
      const { network } = await serve((_, response) => {
        response.setHeader('Content-Encoding', encoding);
        response.end(encoding === 'gzip' ? gzipSync(text) : text);
      });
      expect([encoding, await look(network)]).toEqual([
        encoding,
        { found: false, problem: expect.stringMatching(/larger|more than|bytes/) },
      ]);
    }
    const endless = await serve((_, response) => {
      const more = () => response.write('\n'.repeat(4_096), () => setImmediate(more));
      more();
    });
    expect((await look(endless.network)).found).toBe(false);
  });

  it('is not waited for without an end', async () => {
    const fetch = (network: object) =>
      fileFetcher({ temporaryFolder: folder, maxBytes: 100, milliseconds: 200, network })(
        `https://${GROUP}${PROOF_PATH}`,
      );
    const silent = await serve(() => undefined);
    await expect(fetch(silent.network)).rejects.toThrow(/longer than 0\.2 s/);
    const { network } = await serve((_, response) => {
      const drop = () => response.write('.', () => setTimeout(drop, 50));
      drop();
    });
    await expect(fetch(network)).rejects.toThrow(/longer than 0\.2 s/);
  });

  it.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', '::1', 'fd00::1'])(
    'is not read from the internal address %s',
    async (address) => {
      const family = address.includes(':') ? 6 : 4;
      const resolve = async (): Promise<LookupAddress[]> => [{ address, family }];
      // And the address is not told.
      expect(await look({ resolve })).toEqual({
        found: false,
        problem: expect.stringMatching(
          /^new\.example\.com has no address on the public Internet\..*KRMHUB_SOURCE_ADDRESSES$/,
        ),
      });
    },
  );

  it.each(['ENOTFOUND', 'ENODATA', 'EAI_AGAIN'])(
    'is refused for a name without an address (%s) as for an internal one',
    async (code) => {
      const internal = await look({ resolve: async () => [{ address: '10.1.2.3', family: 4 }] });
      const resolve = () => Promise.reject(Object.assign(new Error(`getaddrinfo ${code}`), { code }));
      expect(await look({ resolve })).toEqual(internal);
      expect(await look({ resolve: async () => [] })).toEqual(internal);
    },
  );
});
