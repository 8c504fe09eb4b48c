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
    this.all = signIn.map((settings) => {
      const fetch = providerFetch(settings.issuer, { temporaryFolder });
      return new IdentityProvider(settings, { fetch, redirectUri: `${publicUrl}${CALLBACK}`, clock });
    });
  }

  /** Finds a provider by its ID in paths. */
  byId(id: string): IdentityProvider | undefined {
    return this.all.find(({ settings }) => settings.id === id);
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

/** Path of the redirect URI, which operators register at their providers. */
export const CALLBACK = '/sign-in/callback';
