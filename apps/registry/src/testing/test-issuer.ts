import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { FetchFile } from '../upstreams/fetch-file.js';

/** The registry for which tokens are. */
export const AUDIENCE = 'https://hub.example.net';
export const GITHUB = 'https://token.actions.githubusercontent.com';
/** Claims of a run of `release.yml` in `example/functions`. */
export const RUN = {
  aud: AUDIENCE,
  repository: 'example/functions',
  repository_id: '1',
  repository_owner_id: '2',
  workflow_ref: 'example/functions/.github/workflows/release.yml@refs/tags/v1',
  ref: 'refs/tags/v1',
  event_name: 'push',
  run_id: '7',
};

/** The issuer of a CI provider: it signs tokens about runs, serves its keys, and can change them or be away. */
export class TestIssuer {
  readonly issuer: string;
  isAway = false;
  /** How often its keys were fetched. */
  fetches = 0;
  /** What it serves instead of its keys. */
  served: unknown;
  #keys: { id: string; secret: Parameters<SignJWT['sign']>[0]; jwk: JWK }[] = [];

  private constructor(issuer: string) {
    this.issuer = issuer;
  }

  static async create(issuer: string): Promise<TestIssuer> {
    const made = new TestIssuer(issuer);
    await made.addKey();
    return made;
  }

  /** Signs with a new key from now on. */
  async addKey(): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const id = randomUUID();
    const jwk = { ...(await exportJWK(publicKey)), kid: id, use: 'sig', alg: 'RS256' };
    this.#keys.unshift({ id, secret: privateKey, jwk });
  }

  keySet(): { keys: JWK[] } {
    return { keys: this.#keys.map(({ jwk }) => jwk) };
  }

  /** Returns what fetches its documents. */
  fetch: FetchFile = async (url) => {
    if (this.isAway) throw new Error('connection refused');
    const documents: Record<string, () => unknown> = {
      [`${this.issuer}/.well-known/openid-configuration`]: () => ({
        issuer: this.issuer,
        jwks_uri: `${this.issuer}/jwks`,
      }),
      [`${this.issuer}/jwks`]: () => {
        this.fetches += 1;
        return this.served ?? this.keySet();
      },
    };
    const document = documents[url];
    if (document === undefined) throw new Error(`${url} not found`);
    return Buffer.from(JSON.stringify(document()));
  };

  /** Signs a token. A claim that is undefined is left out. */
  async sign(
    claims: Record<string, unknown>,
    { now, header = {} }: { now: Date; header?: Record<string, unknown> },
  ): Promise<string> {
    const at = Math.floor(now.getTime() / 1000);
    const all = {
      iss: this.issuer,
      sub: 'subject',
      jti: randomUUID(),
      iat: at,
      nbf: at,
      exp: at + 300,
      ...claims,
    };
    const { id, secret } = this.#keys[0]!;
    return new SignJWT(JSON.parse(JSON.stringify(all)))
      .setProtectedHeader({ alg: 'RS256', kid: id, typ: 'JWT', ...header })
      .sign(secret);
  }
}
