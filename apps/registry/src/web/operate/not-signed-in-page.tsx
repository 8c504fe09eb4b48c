import { SIGN_IN } from '../addresses.js';
import { useSite } from '../site.js';

/** For who sends a form and is not signed in any more. */
export function NotSignedInPage() {
  const { at } = useSite();
  return (
    <div class="error-page">
      <h1>Not signed in</h1>
      <p class="error-detail">You are signed out, or your token was revoked. Nothing was changed.</p>
      <p>
        To keep what you have written,{' '}
        <a href={at(SIGN_IN)} target="_blank" rel="noopener">
          sign in in another tab
        </a>
        , then load this page again: your browser sends the form once more, and you look it over before
        anything is done.
      </p>
    </div>
  );
}
