import { SIGN_IN } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';

export interface SignIn {
  /** Path to open after signing in. */
  from: string;
  /** Why a token was refused. */
  refused?: { message: string; hint?: string | undefined };
  hasEnded?: boolean;
}

export function SignInPage({ from, refused, hasEnded = false }: SignIn) {
  const { at } = useSite();
  return (
    <div class="sign-in">
      <h1>Sign in</h1>
      {hasEnded && refused === undefined ? (
        <Banner title="You were signed out">
          <p>Your session or token expired, your token was revoked, or the registry was restarted.</p>
        </Banner>
      ) : null}
      {refused === undefined ? null : (
        <Banner tone="danger" title="Not signed in">
          <p id="refused">
            <Text value={sentence(refused.message)} max={500} />
          </p>
          {refused.hint === undefined ? null : (
            <p>
              <Text value={refused.hint} max={500} />
            </p>
          )}
        </Banner>
      )}
      <form method="post" action={at(SIGN_IN)}>
        <input type="hidden" name="from" value={from} />
        <p class="entry">
          <label for="token">Token of this registry</label>
          <input
            id="token"
            name="token"
            type="password"
            required
            maxlength={200}
            autocomplete="current-password"
            autocapitalize="none"
            spellcheck={false}
            aria-invalid={refused === undefined ? undefined : 'true'}
            aria-describedby={refused === undefined ? undefined : 'refused'}
          />
        </p>
        <button type="submit">Sign in</button>
      </form>
      <p class="quiet">
        The pages have the permissions of your token. You stay signed in for 8 hours, until the token expires,
        or until you sign out. Your browser stores a cookie with a random number, not the token.
      </p>
      <p class="quiet">
        The first token is in <code>admin.token</code> in the data folder of the registry. The operator
        creates more tokens. If you followed a link from another site and are already signed in,{' '}
        <a href={at(from)}>continue to the page</a>.
      </p>
    </div>
  );
}
