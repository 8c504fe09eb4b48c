import type { Token } from '@krmhub/api/model';
import { isLimitedBy } from '@krmhub/api/token-scopes';
import { actorName } from '@krmhub/catalog';
import { NEW_TOKEN, operateEventsPath, revokeTokenPath, TOKENS } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Label } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { NameList, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { FirstTokenBanner } from './first-token-banner.js';
import { useOperator } from './operator.js';
import type { Paged } from './paged.js';

/** A token, and whether it is still usable. */
export interface TokenWithState extends Token {
  /** `good`, or why it cannot be used. */
  state: string;
}

export interface TokensPageData {
  tokens: Paged<TokenWithState>;
  total: number;
  good: number;
  /** The token that was just revoked. */
  revoked?: TokenWithState | undefined;
}

export function TokensPage({ shown: { tokens, total, good, revoked } }: { shown: TokensPageData }) {
  const { at } = useSite();
  return (
    <>
      <div class="operate-head">
        <h1>Tokens</h1>
        <a class="button" href={at(NEW_TOKEN)}>
          Create a token
        </a>
      </div>
      <FirstTokenBanner />
      {revoked?.revokedAt === undefined ? null : (
        <Banner tone="good" title="The token is revoked">
          <p>
            <Text value={revoked.name} max={100} /> was revoked at <Time at={revoked.revokedAt} />.
          </p>
        </Banner>
      )}
      <p>{total === 0 ? 'No tokens yet.' : `${good} of ${total} valid. Secrets are not stored.`}</p>
      {tokens.items.length === 0 ? null : (
        <ul class="operate-list">
          {tokens.items.map((token) => (
            <TokenItem token={token} />
          ))}
        </ul>
      )}
      <Pages
        first={tokens.page === 1 ? undefined : TOKENS}
        next={tokens.hasNext ? `${TOKENS}?page=${tokens.page + 1}` : undefined}
      />
    </>
  );
}

function TokenItem({ token }: { token: TokenWithState }) {
  const { at } = useSite();
  const isOwn = useOperator().token.id === token.id;
  return (
    <li id={token.id}>
      <div class="operate-head">
        <h2>
          <Text value={token.name} max={100} />
        </h2>
        {token.state === 'good' ? null : <Label>{token.state}</Label>}
        {isOwn ? <Label>your token</Label> : null}
        {token.state === 'good' ? (
          <a class="button-plain" href={at(revokeTokenPath(token))}>
            Revoke{' '}
            <span class="unseen">
              <Text value={token.name} max={100} />
            </span>
          </a>
        ) : null}
      </div>
      <TokenRights token={token} />
      <TokenTimes token={token} />
    </li>
  );
}

export function TokenRights({ token: { scopes, groups, repositories, team, user } }: { token: Token }) {
  const ofGroups = isLimitedBy(scopes, 'groups') || isLimitedBy(scopes, 'none');
  return (
    <p>
      {scopes.join(', ')}
      {ofGroups ? (
        <>
          {' '}
          for <Globs globs={groups} all="every group" />
        </>
      ) : null}
      {isLimitedBy(scopes, 'repositories') ? (
        <>
          ; {scopes.includes('push') ? 'pushes to' : 'reads'}{' '}
          <Globs globs={repositories} all="every repository" />
        </>
      ) : null}
      {team === undefined ? null : `; at most what the team ${team} may do`}
      {user === undefined ? null : (
        <>
          ; at most what <Text value={user.name} max={100} /> may do
        </>
      )}
    </p>
  );
}

export function TokenTimes({ token }: { token: Token }) {
  const { at } = useSite();
  const { id, createdAt, createdBy, lastUsedAt, expiresAt, revokedAt, revokedBy, revokedReason } = token;
  return (
    <ul class="found-facts">
      <li>
        created <Time at={createdAt} /> by <Text value={createdBy} max={100} />
      </li>
      <li>
        {lastUsedAt === undefined ? (
          'never used'
        ) : (
          <>
            last used <Time at={lastUsedAt} />
          </>
        )}
      </li>
      <li>
        {expiresAt === undefined ? (
          'does not expire'
        ) : (
          <>
            expires <Time at={expiresAt} />
          </>
        )}
      </li>
      {revokedAt === undefined ? null : (
        <li>
          revoked <Time at={revokedAt} />
          {revokedBy === undefined ? null : (
            <>
              {' '}
              by <Text value={revokedBy} max={100} />
            </>
          )}
          {revokedReason === undefined ? null : (
            <>
              : <Text value={revokedReason} max={200} />
            </>
          )}
        </li>
      )}
      <li>
        <a href={at(operateEventsPath({ by: actorName(token) }))}>
          its events
          <span class="unseen">
            {' '}
            of <Text value={token.name} max={100} />
          </span>
        </a>
      </li>
      <li>
        <code>{id}</code>
      </li>
    </ul>
  );
}

const MAX_NAMED = 10;

function Globs({ globs, all }: { globs: readonly string[]; all: string }) {
  return <NameList values={globs.includes('*') ? [all] : globs} max={MAX_NAMED} />;
}
