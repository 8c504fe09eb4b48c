import type { Child } from 'hono/jsx';
import {
  AUDIT,
  EVENTS,
  OPERATE,
  OPERATE_ACCESS,
  OPERATE_POLICIES,
  RECIPES,
  RELEASES,
  SIGN_OUT,
  sourcesPath,
  TOKENS,
} from '../addresses.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { type Operator, OperatorProvider } from './operator.js';

const PAGES = [
  ['Overview', OPERATE],
  ['Sources', sourcesPath()],
  ['Recipes', RECIPES],
  ['Releases', RELEASES],
  ['Policies', OPERATE_POLICIES],
  ['Access', OPERATE_ACCESS],
  ['Tokens', TOKENS],
  ['Events', EVENTS],
  ['Audit', AUDIT],
] as const;

/** The bar above each page: links to the other pages, and the signed-in user. */
export function Frame({ operator, path, children }: { operator: Operator; path: string; children?: Child }) {
  const { at } = useSite();
  return (
    <OperatorProvider value={operator}>
      <div class="operate">
        <div class="operate-bar">
          <nav class="site-nav" aria-label="Operate">
            <ul>
              {PAGES.map(([name, page]) => (
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
            <Text value={token.name} max={100} />
          </b>{' '}
          ({token.scopes.join(', ')}
          {token.team === undefined ? '' : `, team ${token.team}`}) until{' '}
          <Time at={new Date(session.expires).toISOString()} />
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

function isWithin(path: string, page: string): boolean {
  return page === OPERATE ? path === page : path === page || path.startsWith(`${page}/`);
}
