import { SIGN_IN } from '../addresses.js';
import { useSite } from '../site.js';

/** Response to a form whose session has ended. */
export function NotSignedInPage() {
  const { at } = useSite();
  return (
    <div class="error-page">
      <h1>Not signed in</h1>
      <p class="error-detail">You signed out, or your token was revoked. Nothing was changed.</p>
      <p>
        To keep your input,{' '}
        <a href={at(SIGN_IN)} target="_blank" rel="noopener">
          sign in in another tab
        </a>
        , then reload this page. Your browser sends the form again, and you can check it before anything
        changes.
      </p>
    </div>
  );
}
