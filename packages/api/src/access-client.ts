import type { Digest } from '@krmhub/schema';
import { asJson, LIST } from './client-requests.js';
import { RESPONSES } from './generated/response-schemas.js';
import type {
  AccessCheck,
  AccessDecision,
  AccessDetail,
  AccessResult,
  AddPublisherRequest,
  CheckedPublishers,
  CheckPublishersRequest,
  ClaimRequest,
  ConsumerReport,
  ConsumerResult,
  CreatedToken,
  CreateTokenRequest,
  ExchangedToken,
  ExchangeRequest,
  FunctionConsumers,
  Identity,
  LoginRequest,
  LoginResult,
  LoginTokenRequest,
  OidcAudience,
  Owner,
  OwnerList,
  PendingLogin,
  PolicyResult,
  PolicySet,
  RestoreUserResult,
  SuspendResult,
  Token,
  TokenList,
  TrustedPublisher,
  TrustedPublisherList,
  UserPage,
  UserReport,
  VerifiedOwner,
} from './model.js';
import { fillPath } from './paths.js';
import type { ResponseBody } from './response-body.js';
import { Transport, type TransportOptions } from './transport.js';

export type JsonRoute = keyof typeof RESPONSES;

/** A query parameter that is absent for false. */
export const flag = (value: boolean | undefined) => (value === true ? true : undefined);

/** The part of a client that is about who may do what: tokens, owners, and policies. */
export class AccessClient {
  protected readonly transport: Transport;

  constructor(options: TransportOptions) {
    this.transport = new Transport(options);
  }

  /** URL of the registry without a trailing slash. */
  get url(): string {
    return this.transport.url;
  }

  policies(): Promise<PolicySet> {
    return this.json('policies', fillPath('policies', {}), LIST);
  }

  /** Replaces all signing policies, `replaces` by digest. `dryRun` only reports; `remove` permits removals. */
  applyPolicies(
    text: Uint8Array,
    options: { dryRun?: boolean | undefined; remove?: boolean | undefined; replaces?: Digest } = {},
  ): Promise<PolicyResult> {
    return this.json('applyPolicies', fillPath('policies', {}), {
      method: 'PUT',
      query: { dryRun: flag(options.dryRun), remove: flag(options.remove), replaces: options.replaces },
      body: text,
      contentType: 'application/yaml',
    });
  }

  access(): Promise<AccessDetail> {
    return this.json('access', fillPath('access', {}));
  }

  /** Replaces the Access document, `replaces` by digest of its text. `dryRun` only reports. */
  applyAccess(
    text: Uint8Array,
    { dryRun, replaces }: { dryRun?: boolean | undefined; replaces?: Digest } = {},
  ): Promise<AccessResult> {
    return this.json('applyAccess', fillPath('access', {}), {
      method: 'PUT',
      query: { dryRun: flag(dryRun), replaces },
      body: text,
      contentType: 'application/yaml',
    });
  }

  checkAccess(request: AccessCheck): Promise<AccessDecision> {
    return this.post('checkAccess', fillPath('checkAccess', {}), request);
  }

  owners(): Promise<OwnerList> {
    return this.json('owners', fillPath('owners', {}), LIST);
  }

  /** Claims a group for a team, or gives it to another team. */
  claimGroup(group: string, request: ClaimRequest): Promise<Owner> {
    return this.post('claimGroup', fillPath('claimGroup', { group }), request);
  }

  /** Has the registry look for the proof of an owner. */
  verifyOwner(group: string): Promise<VerifiedOwner> {
    return this.json('verifyOwner', fillPath('verifyOwner', { group }), { method: 'POST' });
  }

  trustedPublishers(group?: string): Promise<TrustedPublisherList> {
    return this.json('trustedPublishers', fillPath('trustedPublishers', {}), { ...LIST, query: { group } });
  }

  addPublisher(request: AddPublisherRequest): Promise<TrustedPublisher> {
    return this.post('addPublisher', fillPath('trustedPublishers', {}), request);
  }

  checkPublishers(request: CheckPublishersRequest): Promise<CheckedPublishers> {
    return this.post('checkPublishers', fillPath('checkPublishers', {}), request);
  }

  async removePublisher(id: string): Promise<void> {
    await this.delete(fillPath('trustedPublisher', { id }));
  }

  oidcAudience(): Promise<OidcAudience> {
    return this.json('oidcAudience', fillPath('oidcAudience', {}));
  }

  /** Exchanges the token of a run of a workflow. It sends no other token. */
  exchangeToken(request: ExchangeRequest): Promise<ExchangedToken> {
    return this.json('exchangeToken', fillPath('oidcToken', {}), { ...asJson(request), withToken: false });
  }

  async releaseGroup(group: string): Promise<void> {
    await this.delete(fillPath('owner', { group }));
  }

  /** Asks a user to allow this program to sign in. */
  requestLogin(request: LoginRequest): Promise<PendingLogin> {
    return this.json('requestLogin', fillPath('loginRequests', {}), { ...asJson(request), withToken: false });
  }

  /** Returns the token of a login, once the user has allowed it. */
  loginToken(request: LoginTokenRequest): Promise<LoginResult> {
    return this.json('loginToken', fillPath('loginToken', {}), { ...asJson(request), withToken: false });
  }

  /** The token of this client. */
  whoami(): Promise<Identity> {
    return this.json('whoami', fillPath('whoami', {}));
  }

  tokens(): Promise<TokenList> {
    return this.json('listTokens', fillPath('tokens', {}));
  }

  createToken(request: CreateTokenRequest): Promise<CreatedToken> {
    return this.post('createToken', fillPath('tokens', {}), request);
  }

  revokeToken(id: string): Promise<Token> {
    return this.json('revokeToken', fillPath('token', { id }), { method: 'DELETE' });
  }

  /** A page of users. `q` is a text in the name or the e-mail address. */
  users(query: { q?: string | undefined; after?: string | undefined; limit?: number }): Promise<UserPage> {
    return this.json('users', fillPath('users', {}), { ...LIST, query });
  }

  /** Replaces what this team, user, or token reported about a package. */
  reportConsumer(report: ConsumerReport): Promise<ConsumerResult> {
    return this.json('reportConsumer', fillPath('reportConsumer', {}), { ...asJson(report), method: 'PUT' });
  }

  /** Counts the packages that use a function. */
  functionConsumers(group: string, kind: string): Promise<FunctionConsumers> {
    return this.json('functionConsumers', fillPath('functionConsumers', { group, kind }), LIST);
  }

  user(id: string): Promise<UserReport> {
    return this.json('user', fillPath('user', { id }));
  }

  suspendUser(id: string): Promise<SuspendResult> {
    return this.json('suspendUser', fillPath('suspendUser', { id }), { method: 'POST' });
  }

  restoreUser(id: string): Promise<RestoreUserResult> {
    return this.json('restoreUser', fillPath('restoreUser', { id }), { method: 'POST' });
  }

  /** Revokes a leaked token. The response is the same for an unknown token. */
  async reportLeak(token: string): Promise<void> {
    await this.transport.send(fillPath('reportLeak', {}), {
      ...asJson({ token }),
      withToken: false,
      accept: 'application/json',
      maxBytes: 0,
    });
  }

  /** Fetches the JSON of a route and checks it against the schema of the route. */
  protected json<Route extends JsonRoute>(
    route: Route,
    path: string,
    call?: Parameters<Transport['json']>[2],
  ): Promise<ResponseBody<Route>> {
    return this.transport.json<ResponseBody<Route>>(path, { $ref: RESPONSES[route] }, call);
  }

  private async delete(path: string): Promise<void> {
    await this.transport.send(path, { method: 'DELETE', accept: 'application/json', maxBytes: 0 });
  }

  protected post<Route extends JsonRoute>(
    route: Route,
    path: string,
    body: object,
  ): Promise<ResponseBody<Route>> {
    return this.json(route, path, asJson(body));
  }
}
