import { SIGN_IN } from '../addresses.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';

/** What a user sees who signed out of this registry, but not of the identity provider. */
export function SignedOutPage({ provider, url }: { provider: string; url: string }) {
  const { at } = useSite();
  return (
    <div class="sign-in">
      <h1>Signed out</h1>
      <p>
        You are signed out of this registry. You may still be signed in to <Text value={provider} max={100} />
        , so that the next user of this browser can sign in here again.
      </p>
      <p class="buttons">
        <a class="button" href={url} rel="noreferrer">
          Sign out of <Text value={provider} max={100} />
        </a>
        <a class="button-plain" href={at(SIGN_IN)}>
          Sign in again
        </a>
      </p>
    </div>
  );
}
