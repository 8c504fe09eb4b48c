import type { LoginResult, PendingLogin } from '@krmhub/api/model';
import { SERVER_LIMITS } from '../limits.js';
import type { OpenConfig } from '../server/open-options.js';
import { TestBrowser } from './operator-session.js';
import { signInSettings, TestProvider, type TestProviderOptions } from './test-provider.js';
import { openTestRegistry, type TestRegistry } from './test-registry.js';

export const PUBLIC_URL = 'https://krm.example.com';

/** A registry whose users sign in with a test provider. */
export class ProviderRegistry {
  readonly idp: TestProvider;
  readonly registry: TestRegistry;

  private constructor(idp: TestProvider, registry: TestRegistry) {
    this.idp = idp;
    this.registry = registry;
  }

  static async start(
    options: Partial<TestProviderOptions> = {},
    config: Partial<OpenConfig> = {},
  ): Promise<ProviderRegistry> {
    const redirectUri = `${PUBLIC_URL}/sign-in/callback`;
    const idp = await TestProvider.start({ redirectUri, isIdTokenComplete: true, ...options });
    const settings = { publicUrl: PUBLIC_URL, signIn: [signInSettings(idp)], ...config };
    return new ProviderRegistry(idp, await openTestRegistry({ config: settings }));
  }

  /** Requests of the provider for refresh tokens. */
  get refreshes(): number {
    return this.idp.grants.filter((grant) => grant === 'refresh_token').length;
  }

  async signIn(user = 'alice'): Promise<TestBrowser> {
    const browser = new TestBrowser(this.registry, PUBLIC_URL);
    const left = await browser.get('/sign-in/test/start');
    const back = await this.idp.signIn(left.headers.get('location')!, user);
    const landed = await browser.get(back.pathname + back.search);
    if (landed.status !== 200) throw new Error(`signing in was answered by ${landed.status}`);
    return browser;
  }

  /** Makes a personal token on a page, and returns its secret. */
  async makeToken(browser: TestBrowser, fields: Record<string, string | string[]> = {}): Promise<string> {
    const form = { name: 'made', scopes: ['read', 'publish'], groups: '*', repositories: '*' };
    const made = await browser.act('/operate/tokens/new', { ...form, expiresInDays: '90', ...fields });
    const page = await browser.text(made.headers.get('location')!);
    return /krmhub_[a-f0-9]{72}/.exec(page)![0];
  }

  /** Allows `krmhub login` on the page, and returns the secret of its token. `between` runs before the program asks. */
  async logIn(
    browser: TestBrowser,
    between: () => Promise<unknown> = async () => undefined,
  ): Promise<string> {
    const post = <Body>(target: string, body: object) => this.registry.send<Body>('POST', target, body, '');
    const { body } = await post<PendingLogin>('/api/v1/login/requests', { client: 'laptop' });
    await browser.act('/login/device', { code: body.code, answer: 'allow', days: '90' });
    await between();
    const taken = await post<LoginResult & { detail?: string }>('/api/v1/login/token', {
      secret: body.secret,
    });
    if (taken.body.state !== 'approved') throw new Error(`${taken.status}: ${taken.body.detail}`);
    return taken.body.token!;
  }

  /** Asks who has the token. */
  whoami(secret: string) {
    return this.registry.send<{ ssoGroups?: string[]; detail?: string; hint?: string }>(
      'GET',
      '/api/v1/whoami',
      undefined,
      `Bearer ${secret}`,
    );
  }

  /** Moves the clock so that the provider must be asked again. */
  minute(): void {
    this.registry.advance(SERVER_LIMITS.confirmMilliseconds);
  }

  async close(): Promise<void> {
    await this.registry.close();
    await this.idp.close();
  }
}
