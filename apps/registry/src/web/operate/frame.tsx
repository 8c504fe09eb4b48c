import type { Child } from 'hono/jsx';
import { OPERATE, SIGN_OUT } from '../addresses.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { type Operator, OperatorProvider } from './operator.js';
import { openTabs } from './tabs.js';

/** The bar above each page: links to the other pages, and the signed-in user. */
export function Frame({ operator, path, children }: { operator: Operator; path: string; children?: Child }) {
  const { at } = useSite();
  return (
    <OperatorProvider value={operator}>
      <div class="operate">
        <div class="operate-bar">
          <nav class="site-nav" aria-label="Operate">
            <ul>
              {openTabs(operator).map(({ name, path: page }) => (
                <li>
                  <a href={at(page)} aria-current={isWithin(path, page) ? 'page' : undefined}>
                    {name}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          <SessionLine operator={operator} />
        </div>
        {children}
      </div>
    </OperatorProvider>
  );
}

/** Who is signed in, and a button to end that. */
export function SessionLine({ operator }: { operator: Operator }) {
  const { token, session } = operator;
  return (
    <OperatorProvider value={operator}>
      <div class="operate-session">
        <p>
          Signed in as{' '}
          <b>
            <Text value={token.user?.name ?? token.name} max={100} />
          </b>{' '}
          (<Rights operator={operator} />) until <Time at={new Date(session.expires).toISOString()} />
        </p>
        <ActionForm action={SIGN_OUT}>
          <button class="button-plain" type="submit">
            Sign out
          </button>
        </ActionForm>
      </div>
    </OperatorProvider>
  );
}

/** What gives the rights: the teams of a user, the scopes of a token. */
function Rights({ operator: { token, rules } }: { operator: Operator }) {
  if (token.user === undefined) {
    return <>{token.scopes.join(', ') + (token.team === undefined ? '' : `, team ${token.team}`)}</>;
  }
  const teams = rules.teamsOf(token.user);
  return <>{teams.length === 0 ? 'in no team' : teams.slice(0, MAX_TEAMS).join(', ')}</>;
}

const MAX_TEAMS = 5;

function isWithin(path: string, page: string): boolean {
  return page === OPERATE ? path === page : path === page || path.startsWith(`${page}/`);
}
