import type { Token } from '@krmhub/api/model';
import { revokeTokenPath, TOKENS } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { useOperator } from './operator.js';
import { TokenRights, TokenTimes } from './tokens-page.js';

/** Asks for a confirmation, because a revocation is permanent. */
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
        <Banner tone="danger" title="This is the last administrator token">
          <p>
            This is the last valid token with the scope <code>admin</code>. To create another token, empty the
            file <code>admin.token</code> in the data folder and restart the registry.
          </p>
        </Banner>
      ) : null}
      {isOwn ? (
        <Banner tone="warning" title="You are signed in with this token">
          <p>You will be signed out.</p>
        </Banner>
      ) : null}
      <p>
        The registry rejects requests with this token immediately. You cannot undo this, but you can create
        another token.
      </p>
      <ActionForm action={revokeTokenPath(token)} class="buttons">
        <button class="button-danger" type="submit">
          Revoke it
        </button>
        <a href={at(TOKENS)}>Cancel</a>
      </ActionForm>
    </>
  );
}
