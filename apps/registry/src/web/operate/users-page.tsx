import type { UserRecord } from '@krmhub/catalog';
import { USERS, userPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Label } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { useOperator } from './operator.js';

export interface UsersPageData {
  users: readonly { user: UserRecord; teams: readonly string[]; sessions: number }[];
  /** ID after which the next page begins; absent at the end. */
  next?: string;
  isFirst: boolean;
}

const MAX_SHOWN = 10;

export function UsersPage({ users, next, isFirst }: UsersPageData) {
  return (
    <>
      <h1>Users</h1>
      <p>
        People who signed in with an identity provider, or whom a directory announced. A suspended user cannot
        sign in, and the sessions and tokens of the user end at once.
      </p>
      {users.length === 0 ? (
        <Banner title="No user">
          <p>Nobody signed in with an identity provider yet.</p>
        </Banner>
      ) : null}
      <ul class="operate-list">
        {users.map((shown) => (
          <UserItem {...shown} />
        ))}
      </ul>
      <Pages
        first={isFirst ? undefined : USERS}
        next={next === undefined ? undefined : `${USERS}?after=${next}`}
      />
    </>
  );
}

function UserItem({ user, teams, sessions }: UsersPageData['users'][number]) {
  const { at } = useSite();
  const isOwn = useOperator().token.user?.id === user.id;
  const isSuspended = user.suspendedAt !== undefined;
  const shortened = (texts: readonly string[]) =>
    texts.slice(0, MAX_SHOWN).join(', ') +
    (texts.length > MAX_SHOWN ? ` and ${texts.length - MAX_SHOWN} more` : '');
  return (
    <li id={user.id}>
      <div class="operate-head">
        <h2>
          <Text value={user.name} max={100} />
        </h2>
        {isSuspended ? <Label tone="danger">suspended</Label> : null}
        {isOwn ? <Label>you</Label> : null}
        {isOwn ? null : (
          <div class="buttons">
            {sessions === 0 ? null : <UserForm user={user} action="sign-out" text="Sign out" />}
            {isSuspended ? (
              <UserForm user={user} action="restore" text="Restore" />
            ) : (
              <UserForm user={user} action="suspend" text="Suspend" />
            )}
          </div>
        )}
      </div>
      <p>
        <code>
          <Text value={user.subject} max={255} />
        </code>{' '}
        at <Text value={user.issuer} max={300} />
        {user.email === undefined ? null : (
          <>
            , <Text value={user.email} max={254} />
          </>
        )}
      </p>
      <p>
        {teams.length === 0 ? 'In no team' : <>Teams: {shortened(teams)}</>}
        {'; '}
        {user.groups.length === 0 ? (
          'no groups at the provider'
        ) : (
          <>
            groups: <Text value={shortened(user.groups)} max={1_000} />
          </>
        )}
      </p>
      <ul class="found-facts">
        <li>
          {user.signedInAt === undefined ? (
            'never signed in'
          ) : (
            <>
              signed in <Time at={user.signedInAt} />
            </>
          )}
        </li>
        <li>
          confirmed <Time at={user.confirmedAt} />
        </li>
        <li>{sessions === 1 ? '1 session' : `${sessions} sessions`}</li>
        {user.suspendedAt === undefined ? null : (
          <li>
            suspended <Time at={user.suspendedAt} /> by <Text value={user.suspendedBy ?? ''} max={100} />
          </li>
        )}
        <li>
          <a href={at(`/operate/audit?object=${encodeURIComponent(`user/${user.id}`)}`)}>
            what was done
            <span class="unseen">
              {' '}
              about <Text value={user.name} max={100} />
            </span>
          </a>
        </li>
      </ul>
    </li>
  );
}

function UserForm({
  user,
  action,
  text,
}: {
  user: UserRecord;
  action: Parameters<typeof userPath>[1];
  text: string;
}) {
  return (
    <ActionForm action={userPath(user, action)}>
      <button class="button-plain" type="submit">
        {text}{' '}
        <span class="unseen">
          <Text value={user.name} max={100} />
        </span>
      </button>
    </ActionForm>
  );
}
