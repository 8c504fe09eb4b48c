import type { UserDetail } from '@krmhub/api/model';
import { USERS, userPath, usersPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Label } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { useOperator } from './operator.js';

export interface UsersPageData {
  users: readonly {
    user: UserDetail;
    sessions: number;
    /** Whether the registry still has the identity provider of the user. */
    hasProvider: boolean;
  }[];
  /** What was searched for. */
  q: string;
  /** ID after which the next page begins; absent at the end. */
  next?: string;
  isFirst: boolean;
}

const MAX_SHOWN = 10;

export function UsersPage({ users, q, next, isFirst }: UsersPageData) {
  const { at } = useSite();
  return (
    <>
      <h1>Users</h1>
      <p>
        People who signed in with an identity provider, or whom a directory announced. A suspended user cannot
        sign in, and the sessions and tokens of the user end at once.
      </p>
      <form action={at(USERS)} class="compare-form">
        <p>
          <label for="q">Name or e-mail</label>
          <input id="q" name="q" type="search" value={q} maxlength={200} />
        </p>
        <button type="submit">Find users</button>
      </form>
      {users.length === 0 ? (
        <Banner title="No user">
          <p>
            {q === ''
              ? 'Nobody signed in with an identity provider yet.'
              : 'No name or e-mail has this text.'}
          </p>
        </Banner>
      ) : (
        <ul class="operate-list">
          {users.map((shown) => (
            <UserItem {...shown} />
          ))}
        </ul>
      )}
      <Pages
        first={isFirst ? undefined : usersPath({ q })}
        next={next === undefined ? undefined : usersPath({ q, after: next })}
      />
    </>
  );
}

function UserItem({ user, sessions, hasProvider }: UsersPageData['users'][number]) {
  const { at } = useSite();
  const { teams } = user;
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
            {user.directory?.isActive === false ? null : isSuspended ? (
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
        {user.directory?.isActive === false ? (
          <li>the directory says that the user is not active: activate the user there</li>
        ) : null}
        {hasProvider ? null : <li>cannot sign in: the registry no longer has this identity provider</li>}
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
  user: UserDetail;
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
