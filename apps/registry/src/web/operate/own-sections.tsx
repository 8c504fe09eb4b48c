import type { SessionRecord } from '../../store/session-store.js';
import { END_OTHER_SESSIONS, endSessionPath, groupPath, TOKENS } from '../addresses.js';
import { GroupName } from '../parts/group-name.js';
import { Label } from '../parts/label.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { useOperator } from './operator.js';
import type { TokenWithState } from './tokens-page.js';

/** What belongs to a user. */
export interface OwnThings {
  teams: readonly { name: string; displayName?: string; owns: readonly string[] }[];
  /** Groups of the user at the identity provider. */
  ssoGroups: readonly string[];
  /** Usable ones, the newest first. */
  tokens: readonly TokenWithState[];
  /** The newest first. */
  sessions: readonly SessionRecord[];
}

/** Texts of a list that are shown. */
const MAX_SHOWN = 20;

/** What a user owns, and the tokens and sessions of the user. */
export function OwnSections({ own: { teams, ssoGroups, tokens, sessions } }: { own: OwnThings }) {
  const { at } = useSite();
  return (
    <>
      <section aria-labelledby="own">
        <h2 id="own">What you own</h2>
        {teams.length === 0 ? (
          <p>
            You are in no team, so you can read what is public or internal, and change nothing. An
            administrator adds you to a team, by a group of your identity provider or by name.
          </p>
        ) : (
          <ul class="operate-list">
            {teams.map(({ name, displayName, owns }) => (
              <li>
                Team{' '}
                <b>
                  <Text value={displayName || name} max={100} />
                </b>
                {owns.length === 0 ? ': owns no group' : ': '}
                {owns.slice(0, MAX_SHOWN).map((group, index) => (
                  <>
                    {index === 0 ? '' : ', '}
                    <GroupName group={group} path={groupPath(group)} />
                  </>
                ))}
                <More of={owns} />
              </li>
            ))}
          </ul>
        )}
        <p class="quiet">
          Your groups at the identity provider:{' '}
          {ssoGroups.length === 0 ? (
            'none'
          ) : (
            <Text value={ssoGroups.slice(0, MAX_SHOWN).join(', ')} max={1_000} />
          )}
          <More of={ssoGroups} />
        </p>
      </section>
      <section aria-labelledby="own-tokens">
        <h2 id="own-tokens">Your tokens</h2>
        {tokens.length === 0 ? (
          <p>You have no token. They have at most your own rights, and are suspended with you.</p>
        ) : (
          <ul class="operate-list">
            {tokens.slice(0, MAX_SHOWN).map(({ name, lastUsedAt, expiresAt }) => (
              <li>
                <b>
                  <Text value={name} max={100} />
                </b>
                {lastUsedAt === undefined ? ', never used' : ', last used '}
                {lastUsedAt === undefined ? null : <Time at={lastUsedAt} />}
                {expiresAt === undefined ? null : (
                  <>
                    , expires <Time at={expiresAt} />
                  </>
                )}
              </li>
            ))}
          </ul>
        )}
        <p>
          <a href={at(TOKENS)}>All your tokens</a>
        </p>
      </section>
      <Sessions sessions={sessions} />
    </>
  );
}

function Sessions({ sessions }: { sessions: readonly SessionRecord[] }) {
  const { of } = useOperator().session;
  const isCurrent = ({ hash }: SessionRecord) => 'hash' in of && of.hash === hash;
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Your sessions</h2>
      <ul class="operate-list">
        {sessions.map((session) => (
          <li>
            <div class="operate-head">
              <span>
                from <Text value={session.address ?? 'an unknown address'} max={100} />
              </span>
              {isCurrent(session) ? (
                <Label>this one</Label>
              ) : (
                <ActionForm action={endSessionPath(sessionName(session))}>
                  <button class="button-plain" type="submit">
                    End{' '}
                    <span class="unseen">
                      the session of <Time at={session.createdAt} />
                    </span>
                  </button>
                </ActionForm>
              )}
            </div>
            <ul class="found-facts">
              <li>
                started <Time at={session.createdAt} />
              </li>
              <li>
                confirmed <Time at={session.confirmedAt ?? session.createdAt} />
              </li>
              <li>
                ends <Time at={session.expiresAt} />
              </li>
            </ul>
          </li>
        ))}
      </ul>
      {sessions.length < 2 ? null : (
        <ActionForm action={END_OTHER_SESSIONS}>
          <button class="button-plain" type="submit">
            End all others
          </button>
        </ActionForm>
      )}
    </section>
  );
}

/** Returns the name of a session in paths: of its hash, which signs nobody in, as much as the audit log has. */
export function sessionName({ hash }: SessionRecord): string {
  return hash.slice(0, 16);
}

function More({ of }: { of: readonly unknown[] }) {
  return of.length > MAX_SHOWN ? <> and {of.length - MAX_SHOWN} more</> : null;
}
