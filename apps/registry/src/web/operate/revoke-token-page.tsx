import type { Token } from '@krmhub/api/model';
import { revokeTokenPath, TOKENS } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { useOperator } from './operator.js';
import { TokenRights, TokenTimes } from './tokens-page.js';

/** Asks once more: a revocation is for good. */
export function RevokeTokenPage({ token, isLastAdmin }: { token: Token; isLastAdmin: boolean }) {
  const { at } = useSite();
  const isOwn = useOperator().token.id === token.id;
  return (
    <>
      <h1>
        Revoke <Text value={token.name} max={100} />?
      </h1>
      <TokenRights token={token} />
      <TokenTimes token={token} />
      {isLastAdmin ? (
        <Banner tone="danger" title="Nobody else can administer this registry">
          <p>
            It is the last good token with the scope <code>admin</code>. Another one is made when the file{' '}
            <code>admin.token</code> in the data folder is emptied and the registry is started again.
          </p>
        </Banner>
      ) : null}
      {isOwn ? (
        <Banner tone="warning" title="You are signed in with it">
          <p>You are signed out at once.</p>
        </Banner>
      ) : null}
      <p>Whoever has it is refused from the next request on. It does not come back; another can be made.</p>
      <ActionForm action={revokeTokenPath(token)} class="buttons">
        <button class="button-danger" type="submit">
          Revoke it
        </button>
        <a href={at(TOKENS)}>Leave it as it is</a>
      </ActionForm>
    </>
  );
}
