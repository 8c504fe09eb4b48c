import { type AccessObject, type AccessRules, ANONYMOUS, type TokenRecord } from '@krmhub/catalog';
import { isRepository, type ManifestReader, OciError } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RegistryKeys } from '../catalogs/sign/registry-keys.js';
import {
  type Authority,
  answerAsAbsent,
  authenticateSecret,
  authenticateToken,
  lackingRights,
  recheckRight,
  refuseForbidden,
} from '../http/auth/authorize.js';
import { checkToken, secretCredential, type TokenCredential } from '../http/auth/check-token.js';
import { readCredentials } from '../http/auth/credentials.js';
import { asActor, currentActor } from '../http/auth/request-actor.js';
import { hashSecret } from '../http/auth/tokens.js';
import type { RegistryContext } from '../http/context.js';
import { type PublicAddress, requestedUrl } from '../http/public-address.js';
import { SERVER_LIMITS } from '../limits.js';
import { repositoryKind } from '../store/artifacts/repositories.js';
import { repositoryObject, sightOf } from '../store/sight.js';
import { type AccessClaims, AccessTokens } from './access-token.js';

export type Action = 'push' | 'delete';

const HINT =
  'Run `docker login` or `oras login` with any user name and a registry token as the password. An administrator creates tokens with `krmhub token create NAME --scope push`, or `--scope publish` for functions/ and scripts/.';
const READ_HINT =
  'To read what is not public, run `docker login` or `oras login` with any user name and a registry token as the password.';
const SERVICE = 'krmhub';
/** Lists all repositories that the client may read (distribution, "Token Scope Documentation"). */
const LIST_SCOPE = 'registry:catalog:*';
const LIST = { repository: '*', actions: ['*'] };
/** Host and port as a client may name them. The registry never copies anything else into a response. */

export interface AccessDeps extends Authority {
  store: Authority['store'] & ManifestReader;
  keys: RegistryKeys;
  config: PublicAddress & Authority['config'];
}

/** Decides who may change a repository, and asks for credentials. What is read comes from readable-store.ts. */
export class RepositoryAccess {
  readonly #authority: AccessDeps;
  readonly #tokens: AccessTokens;

  constructor(authority: AccessDeps) {
    this.#authority = authority;
    this.#tokens = new AccessTokens(authority.keys);
  }

  /**
   * Checks the credentials of `GET /v2/`. Clients send credentials only after a challenge, so anonymous
   * requests get one although they may read what is public. Rejects with an OciError.
   */
  async checkCredentials(c: RegistryContext): Promise<void> {
    const credentials = readCredentials(c.req.header('authorization'));
    if (credentials === 'none') throw this.#challenge(c, 'provide credentials or request an anonymous token');
    if (credentials === 'malformed')
      throw this.#challenge(c, 'invalid Authorization header: expected Basic or Bearer');
    if ('secret' in credentials) await this.#bySecret(c, credentials.secret);
    else if ((await this.#tokens.read(credentials.token, this.#now())) === undefined) {
      throw this.#challenge(c, 'the access token is invalid or has expired', { error: 'invalid_token' });
    }
  }

  /** Returns the response of `GET /v2/token`: the requested scopes that the credentials permit. */
  async issue(c: RegistryContext): Promise<Record<string, string | number>> {
    const credentials = readCredentials(c.req.header('authorization'));
    if (credentials === 'malformed' || (credentials !== 'none' && 'token' in credentials)) {
      throw this.#challenge(c, 'request an access token with Basic credentials or anonymously');
    }
    const token = credentials === 'none' ? undefined : await this.#bySecret(c, credentials.secret);
    const scopes = new URL(c.req.url).searchParams.getAll('scope').flatMap((scope) => scope.split(' '));
    const permitted = async (scope: string): Promise<AccessClaims['access']> => {
      if (scope === LIST_SCOPE) return [LIST];
      const [, repository = '', actions = ''] =
        /^repository:([^:]{1,255}):([a-z*,]{1,100})$/.exec(scope) ?? [];
      if (!isRepository(repository)) return [];
      // Of a hidden repository it says no more than of an absent one.
      const isVisible = await this.#isVisible(repository);
      const isUnknown = !isVisible && repositoryKind(repository).of === 'catalog';
      const may = (action: Action) =>
        token !== undefined && !isUnknown && this.#lacks(token.record, repository, action) === undefined;
      const pulls = isVisible || may('push');
      const granted = actions
        .split(',')
        .filter((action) => (action === 'pull' ? pulls : may(action === 'push' ? 'push' : 'delete')));
      return [{ repository, actions: granted }];
    };
    const asked = scopes.slice(0, SERVER_LIMITS.maxTokenScopes);
    const access = (await Promise.all(asked.map(permitted))).flat();
    const seconds = SERVER_LIMITS.accessTokenSeconds;
    const issued = await this.#tokens.issue({
      ...defined({ hash: token?.hash, signIn: c.get('signIn') }),
      access,
      expires: Math.floor(this.#now() / 1000) + seconds,
    });
    return {
      token: issued,
      access_token: issued,
      expires_in: seconds,
      issued_at: new Date(this.#now()).toISOString(),
    };
  }

  /**
   * Rejects with a challenge if the registry hides anything and a client without a token cannot see the repository,
   * whether it exists or not: most clients send credentials only after a challenge.
   */
  async challengeUnlessVisible(c: RegistryContext, repository: string): Promise<void> {
    if (currentActor().id !== undefined || (await this.#isVisible(repository))) return;
    throw this.#challenge(c, 'the repository does not exist, or reading it requires a token', {
      scope: `repository:${repository}:pull`,
      hint: READ_HINT,
    });
  }

  /**
   * Rejects with a challenge if the access token of a request does not cover the repository, whether that exists or not:
   * clients then ask for one that does.
   */
  async challengeUnlessCovered(c: RegistryContext, repository: string): Promise<void> {
    if (await this.covers(c, repository)) return;
    throw this.#challenge(c, 'the access token does not cover this repository', {
      scope: `repository:${repository}:pull`,
      error: 'insufficient_scope',
      hint: READ_HINT,
    });
  }

  /** Rejects with a challenge if the access token of a request was issued for some repositories and would list others. */
  async challengeUnlessListing(c: RegistryContext): Promise<void> {
    if (!this.#authority.access.rules.hidesAnything || (await this.#isIssuedFor(c, LIST.repository))) return;
    throw this.#challenge(c, 'the access token does not cover the list of repositories', {
      scope: LIST_SCOPE,
      error: 'insufficient_scope',
      hint: READ_HINT,
    });
  }

  /** Reports whether the access token of a request, if it has one, was issued for what is not public there. */
  async covers(c: RegistryContext, repository: string): Promise<boolean> {
    return (await this.#isIssuedFor(c, repository)) || asActor(ANONYMOUS, () => this.#isVisible(repository));
  }

  async #isIssuedFor(c: RegistryContext, repository: string): Promise<boolean> {
    const credentials = readCredentials(c.req.header('authorization'));
    if (typeof credentials === 'string' || 'secret' in credentials) return true;
    const claims = await this.#tokens.read(credentials.token, this.#now());
    // Without a registry token, nothing is visible that is not public.
    return claims?.hash === undefined || claims.access.some((one) => one.repository === repository);
  }

  /** Reports whether everybody may read the repository. */
  isPublic(repository: string): boolean {
    const { rules } = this.#authority.access;
    return !rules.hidesAnything || sightOf(rules, ANONYMOUS).repository(repository);
  }

  async #isVisible(repository: string): Promise<boolean> {
    const { access, store } = this.#authority;
    // The store looks up what the actor may not read as what does not exist, so that both take as long.
    return !access.rules.hidesAnything || (await store.tags(repository, '', 1)) !== undefined;
  }

  /** Returns the registry token for which a valid access token was issued. */
  async readAccessToken(token: string): Promise<TokenCredential | undefined> {
    const { hash, signIn } = (await this.#tokens.read(token, this.#now())) ?? {};
    return hash === undefined ? undefined : { hash, openSignIn: () => signIn };
  }

  /** Returns the token that permits the action in the repository. Rejects with an OciError. */
  async authorize(c: RegistryContext, repository: string, action: Action): Promise<TokenRecord> {
    const scope = `repository:${repository}:${action === 'push' ? 'pull,push' : action}`;
    const credentials = readCredentials(c.req.header('authorization'));
    if (credentials === 'none') throw this.#challenge(c, 'this operation requires a token', { scope });
    if (credentials === 'malformed') {
      throw this.#challenge(c, 'invalid Authorization header: expected Basic or Bearer', { scope });
    }
    const { record, isGranted = true } =
      'secret' in credentials
        ? await this.#bySecret(c, credentials.secret)
        : await this.#byAccessToken(c, credentials.token, { repository, action, scope });
    await this.#refuseUnknown(c, record, repository);
    const missing = this.#lacks(record, repository, action);
    // A token that could have the scope gets a challenge. Otherwise the error says which right the token
    // lacks.
    if (!isGranted && missing === undefined) {
      throw this.#challenge(c, 'the access token does not cover this operation', {
        scope,
        error: 'insufficient_scope',
      });
    }
    if (missing === undefined) {
      await this.#refuseNewGroup(record, repository, action);
      recheckRight(c, async (again) => {
        const lost = this.#lacks(again, repository, action);
        if (lost !== undefined)
          throw new KrmhubError('forbidden', `the token "${again.name}" does not have ${lost}`);
        await this.#refuseNewGroup(again, repository, action);
      });
      return record;
    }
    throw new OciError('DENIED', `the token "${record.name}" does not have ${missing}`, {
      hint: `An administrator can create another token with \`krmhub token create NAME ${needed(repository, action)}\`.`,
    });
  }

  /**
   * Reports whether the request has credentials that may push to the repository. Wrong credentials do not
   * count as a failed login here.
   */
  async mayPush(c: RegistryContext, repository: string): Promise<boolean> {
    const credentials = readCredentials(c.req.header('authorization'));
    if (typeof credentials === 'string') return false;
    const credential =
      'secret' in credentials
        ? secretCredential(credentials.secret)
        : await this.readAccessToken(credentials.token);
    if (credential === undefined) return false;
    const find = () => this.#authority.store.tokenByHash(credential.hash);
    const checked = await checkToken(find, credential.openSignIn, this.#authority);
    if (checked === undefined || checked.problem !== undefined) return false;
    return this.#lacks(checked.token, repository, 'push') === undefined;
  }

  async #byAccessToken(
    c: RegistryContext,
    text: string,
    { repository, action, scope }: { repository: string; action: Action; scope: string },
  ): Promise<{ record: TokenRecord; isGranted: boolean }> {
    const claims = await this.#tokens.read(text, this.#now());
    if (claims === undefined) {
      throw this.#challenge(c, 'the access token is invalid or has expired', {
        scope,
        error: 'invalid_token',
      });
    }
    const { hash, signIn } = claims;
    if (hash === undefined) throw this.#challenge(c, 'this operation requires a token', { scope });
    const record = await this.#translated(c, () =>
      authenticateToken(c, this.#authority, { hash, openSignIn: () => signIn }, HINT),
    );
    const isGranted = claims.access.some(
      (one) => one.repository === repository && (one.actions.includes(action) || one.actions.includes('*')),
    );
    return { record, isGranted };
  }

  /**
   * Rejects if the client cannot see a catalog: a challenge or a refusal would tell that it is private. One that is
   * absent has nothing to refer to.
   */
  async #refuseUnknown(c: RegistryContext, token: TokenRecord, repository: string): Promise<void> {
    if (repositoryKind(repository).of !== 'catalog' || (await this.#isVisible(repository))) return;
    answerAsAbsent(c, this.#authority.access.rules, token);
    throw new OciError('NAME_UNKNOWN', 'repository not found');
  }

  async #bySecret(
    c: RegistryContext,
    secret: string,
  ): Promise<{ record: TokenRecord; hash: string; isGranted?: undefined }> {
    const record = await this.#translated(c, () => authenticateSecret(c, this.#authority, secret, HINT));
    return { record, hash: hashSecret(secret) };
  }

  async #translated<Result>(c: RegistryContext, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof KrmhubError && error.code === 'unauthorized') {
        throw this.#challenge(c, error.message, { error: 'invalid_token' });
      }
      throw error;
    }
  }

  #challenge(
    c: RegistryContext,
    message: string,
    { scope, error, hint = HINT }: { scope?: string; error?: string; hint?: string } = {},
  ): OciError {
    const parts = [
      `realm="${this.#origin(c)}/v2/token"`,
      `service="${SERVICE}"`,
      ...(scope === undefined ? [] : [`scope="${scope}"`]),
      ...(error === undefined ? [] : [`error="${error}"`]),
    ];
    return new OciError('UNAUTHORIZED', message, {
      hint,
      headers: { 'WWW-Authenticate': `Bearer ${parts.join(',')}` },
    });
  }

  /**
   * Clients need an absolute URL. Without a public URL it is the host of the request, which only this client
   * sees.
   */
  #origin(c: RegistryContext): string {
    return this.#authority.config.publicUrl ?? requestedUrl(c.req) ?? '';
  }

  #lacks(token: TokenRecord, repository: string, action: Action): string | undefined {
    return lacks(this.#authority.access.rules, token, repository, action);
  }

  /** As the HTTP API: a push can begin a group. */
  async #refuseNewGroup(token: TokenRecord, repository: string, action: Action): Promise<void> {
    const group = publishingGroup(repository, action);
    if (group === undefined) return;
    const { rules } = this.#authority.access;
    const isPushed =
      repositoryKind(repository).of === 'anything' && !canPushOnlyScripts(rules, token, repository);
    if (!isPushed) await refuseForbidden(this.#authority, token, 'publish', repositoryObject(repository));
  }

  #now(): number {
    return this.#authority.clock().getTime();
  }
}

/**
 * Reports whether a token that may push to a repository may push only scripts: it can publish functions of the group,
 * and does not have the scope for the repository.
 */
export function canPushOnlyScripts(rules: AccessRules, token: TokenRecord, repository: string): boolean {
  return lacks(rules, token, repository, 'delete') !== undefined;
}

/** Returns which right the token lacks for an action in a repository; undefined if it lacks none. */
function lacks(rules: AccessRules, token: TokenRecord, name: string, action: Action): string | undefined {
  const group = publishingGroup(name, action);
  const kind = repositoryKind(name);
  const lacking = (right: 'publish' | 'push', object: AccessObject): string | undefined => {
    const found = lackingRights(rules, token, right, object);
    return found.length === 0 ? undefined : found.join(' and ');
  };
  if (kind.of === 'catalog') return lacking('push', { catalog: kind.catalog });
  const object = repositoryObject(name);
  if (kind.of === 'function') return lacking('publish', object);
  const push = lacking('push', { repository: name });
  const followed = kind.of === 'anything' ? kind.follows?.group : undefined;
  const usual = push === undefined || group === undefined ? push : lacking('publish', object);
  if (followed === undefined || (rules.ownerOf(followed) === undefined && !rules.hidesAnything)) return usual;
  // Its scripts are changed as its functions are, also of a group that does not exist: it could be a hidden one.
  return lacking('publish', object) ?? (group === undefined ? push : undefined);
}

/** Returns the group whose publishers may change a repository in this way; undefined if there is none. */
function publishingGroup(name: string, action: Action): string | undefined {
  const kind = repositoryKind(name);
  if (kind.of === 'function') return kind.group;
  return kind.of === 'anything' && action === 'push' ? kind.scriptsOf : undefined;
}

/** Returns the options of `krmhub token create` for a token that is limited to one repository. */
function needed(name: string, action: Action): string {
  const group = publishingGroup(name, action);
  return group === undefined ? `--scope push --repository ${name}` : `--scope publish --group ${group}`;
}
