import { SIGN_IN, startSignInPath } from '../addresses.js';
import { Words } from '../error/error-page.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';

export interface SignIn {
  /** Path to open after signing in. */
  from: string;
  /** Identity providers, by name. */
  providers: readonly { id: string; name: string }[];
  /** Why the user could not sign in. */
  refused?: { message: string; hint?: string | undefined };
  hasEnded?: boolean;
}

export function SignInPage({ from, providers, refused, hasEnded = false }: SignIn) {
  const { at } = useSite();
  const isToken = providers.length === 0;
  return (
    <div class="sign-in">
      <h1>Sign in</h1>
      {hasEnded && refused === undefined ? (
        <Banner title="You were signed out">
          <p>Your session or token expired, or it was ended, or the registry was restarted.</p>
        </Banner>
      ) : null}
      {refused === undefined ? null : (
        <Banner tone="danger" title="Not signed in">
          <p id="refused">
            <Text value={sentence(refused.message)} max={500} />
          </p>
          {refused.hint === undefined ? null : (
            <p>
              <Words text={refused.hint.slice(0, 500)} />
            </p>
          )}
        </Banner>
      )}
      {isToken ? null : (
        <>
          <ul class="plain-list">
            {providers.map(({ id, name }) => (
              <li>
                <a class="button" href={at(startSignInPath(id, from))}>
                  Sign in with <Text value={name} max={100} />
                </a>
              </li>
            ))}
          </ul>
          <p class="quiet">
            The pages have the permissions of your teams. You stay signed in for up to 8 hours. Your browser
            stores a cookie with a random number.
          </p>
        </>
      )}
      {isToken ? (
        <TokenForm from={from} refused={refused !== undefined} />
      ) : (
        <details>
          <summary>Sign in with a token</summary>
          <TokenForm from={from} refused={false} />
        </details>
      )}
      <p class="quiet">
        If you followed a link from another site and are already signed in,{' '}
        <a href={at(from)}>continue to the page</a>.
      </p>
    </div>
  );
}

function TokenForm({ from, refused }: { from: string; refused: boolean }) {
  const { at } = useSite();
  return (
    <>
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
            aria-invalid={refused ? 'true' : undefined}
            aria-describedby={refused ? 'refused' : undefined}
          />
        </p>
        <button type="submit">Sign in</button>
      </form>
      <p class="quiet">
        The pages have the permissions of the token. You stay signed in for 8 hours, until the token expires,
        or until you sign out. Your browser stores a cookie with a random number, not the token. The first
        token is in <code>admin.token</code> in the data folder of the registry. The operator creates more
        tokens.
      </p>
    </>
  );
}
