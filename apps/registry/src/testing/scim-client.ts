import type { JsonObject } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { ProviderSettings } from '../sign-in/provider-settings.js';
import { openTestRegistry, type TestRegistry } from './test-registry.js';

export const SCIM_ISSUER = 'https://sso.example.com';

/** Settings of a registry whose users are of that provider. */
export const SCIM_PROVIDER: ProviderSettings = {
  id: 'sso',
  name: 'SSO',
  issuer: SCIM_ISSUER,
  clientId: 'krmhub',
  clientSecret: 'secret of the client',
  groupsClaim: 'groups',
  subjectClaim: 'sub',
};

export interface ScimResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests read any JSON.
  body: any;
}

/** A directory that manages the users of a registry. */
export class ScimClient {
  readonly registry: TestRegistry;
  readonly #token: string;

  private constructor(registry: TestRegistry, token: string) {
    this.registry = registry;
    this.#token = token;
  }

  static async open(registry?: TestRegistry): Promise<ScimClient> {
    const opened = registry ?? (await openTestRegistry({ config: { signIn: [SCIM_PROVIDER] } }));
    const { secret } = await opened.token({ name: 'directory', scopes: ['scim'] });
    return new ScimClient(opened, secret);
  }

  /** Sends a request below `/scim/v2`; a text as it is. */
  async send(method: string, path: string, body?: JsonObject | string, type?: string): Promise<ScimResponse> {
    const response = await this.registry.request(`/scim/v2${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.#token}`,
        ...defined({
          'Content-Type': body === undefined ? undefined : (type ?? 'application/scim+json'),
        }),
      },
      ...defined({ body: typeof body === 'object' ? JSON.stringify(body) : body }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }

  patch(path: string, ...Operations: JsonObject[]): Promise<ScimResponse> {
    return this.send('PATCH', path, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations,
    });
  }

  /** Adds a user, and returns the ID. */
  async addUser(userName: string, more: JsonObject = {}): Promise<string> {
    return (await this.send('POST', '/Users', { userName, ...more })).body.id;
  }

  /** Adds a group, and returns the ID. */
  async addGroup(displayName: string, members: readonly string[] = []): Promise<string> {
    const given = members.map((value) => ({ value }));
    return (await this.send('POST', '/Groups', { displayName, members: given })).body.id;
  }

  /** The user of the registry with a subject. */
  async user(subject: string) {
    const users = await this.registry.parts.store.users({ limit: 1_000 });
    return users.find((user) => user.issuer === SCIM_ISSUER && user.subject === subject);
  }
}
