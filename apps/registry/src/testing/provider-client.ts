import { tmpdir } from 'node:os';
import type { KrmhubError } from '@krmhub/schema';
import { type Confirmation, IdentityProvider } from '../sign-in/identity-provider.js';
import { providerFetch } from '../sign-in/provider-http.js';
import type { ProviderSettings } from '../sign-in/provider-settings.js';
import { beginFlow, type SignInFlow } from '../sign-in/sign-in-flow.js';
import { signInSettings, TestProvider, type TestProviderOptions } from './test-provider.js';

export const REDIRECT = 'https://krm.example.com/sign-in/callback';

/** A test provider, and a registry that uses it, without the pages. */
export class ProviderClient {
  readonly idp: TestProvider;
  /** Time of the registry, in milliseconds since 1970. */
  now = Date.now();

  private constructor(idp: TestProvider) {
    this.idp = idp;
  }

  static async start(options: Partial<TestProviderOptions> = {}): Promise<ProviderClient> {
    return new ProviderClient(await TestProvider.start({ redirectUri: REDIRECT, ...options }));
  }

  /** Returns the provider as a registry with these settings sees it. */
  provider(settings: Partial<ProviderSettings> = {}): IdentityProvider {
    return new IdentityProvider(
      { ...signInSettings(this.idp), ...settings },
      {
        fetch: providerFetch(this.idp.issuer, { temporaryFolder: tmpdir() }),
        redirectUri: REDIRECT,
        clock: () => new Date(this.now),
      },
    );
  }

  begin(): SignInFlow {
    return beginFlow({ provider: 'test', from: '/operate', now: this.now });
  }

  /** Goes to the provider, and returns what the browser brings back. */
  async leave(provider: IdentityProvider, flow: SignInFlow): Promise<URLSearchParams> {
    const back = await this.idp.signIn((await provider.authorizationUrl(flow)).href);
    if (back.origin + back.pathname !== REDIRECT) throw new Error(`the provider leads to ${back}`);
    return back.searchParams;
  }

  /** Signs in; `change` edits what the browser brings back. */
  async signIn(
    provider: IdentityProvider,
    change: (query: URLSearchParams) => void = () => undefined,
  ): Promise<Confirmation> {
    const flow = this.begin();
    const query = await this.leave(provider, flow);
    change(query);
    return provider.finish(query, flow);
  }
}

/** Returns the code, message, and hint with which work fails. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    const { name, code, message, hint } = error as KrmhubError;
    if (name !== 'KrmhubError') throw error;
    return `${code}: ${message}. ${hint}`;
  }
  throw new Error('accepted');
}
