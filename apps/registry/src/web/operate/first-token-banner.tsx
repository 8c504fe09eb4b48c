import { isFirstToken } from '@krmhub/api/token-scopes';
import { NEW_TOKEN, revokeTokenPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { useSite } from '../site.js';
import { useOperator } from './operator.js';

/** Tells an operator who signed in with the first token of a registry to replace it. */
export function FirstTokenBanner() {
  const { at } = useSite();
  const { token } = useOperator();
  if (!isFirstToken(token)) return null;
  return (
    <Banner tone="warning" title="This is the first administrator token">
      <p>
        It has no owner, and it does not expire. <a href={at(NEW_TOKEN)}>Create a token with your name</a> and
        the scope <code>admin</code>, sign in with it, and then{' '}
        <a href={at(revokeTokenPath(token))}>revoke the first token</a>.
      </p>
    </Banner>
  );
}
