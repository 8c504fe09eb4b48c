import { IdentityProvider } from './identity-provider.js';
import { providerFetch } from './provider-http.js';
import type { ProviderSettings } from './provider-settings.js';

/** The identity providers of a registry. */
export class SignInProviders {
  /** In the order of the settings. */
  readonly all: readonly IdentityProvider[];

  constructor(
    { signIn = [], publicUrl = '' }: { signIn?: readonly ProviderSettings[]; publicUrl?: string },
    { temporaryFolder, clock }: { temporaryFolder: string; clock: () => Date },
  ) {
    this.all = signIn.map((settings, index) => {
      const fetch = providerFetch(settings.issuer, { temporaryFolder });
      const path = index === 0 ? CALLBACK : OTHER_CALLBACK.replace('{provider}', settings.id);
      return new IdentityProvider(settings, { fetch, redirectUri: `${publicUrl}${path}`, clock });
    });
  }

  /** Finds a provider by its ID in paths. */
  byId(id: string): IdentityProvider | undefined {
    return this.all.find(({ settings }) => settings.id === id);
  }

  /**
   * Finds the provider that answers at its own redirect URI; without an ID, the first one. Else a provider could send
   * browsers on to another one, and get its codes (RFC 9700, section 4.4).
   */
  byCallback(id: string | undefined): IdentityProvider | undefined {
    const [first, ...others] = this.all;
    return id === undefined ? first : others.find(({ settings }) => settings.id === id);
  }

  /** Finds the provider of a user. */
  byIssuer(issuer: string): IdentityProvider | undefined {
    return this.all.find(({ settings }) => settings.issuer === issuer);
  }

  /** Whether groups of this provider have plain names in Access documents. */
  isFirst(provider: IdentityProvider): boolean {
    return this.all[0] === provider;
  }
}

/** Path of the redirect URI of the first provider, which operators register there. */
export const CALLBACK = '/sign-in/callback';
/** Path of that of another provider. */
export const OTHER_CALLBACK = '/sign-in/{provider}/callback';
