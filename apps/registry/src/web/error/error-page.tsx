import type { Problem } from '@krmhub/api/model';
import type { Child } from 'hono/jsx';
import { type NearName, nearText } from '../../store/missing-name.js';
import {
  catalogPath,
  functionPath,
  HOME,
  policyPath,
  releasePath,
  searchPath,
  signInPath,
} from '../addresses.js';
import { Text } from '../parts/text.js';
import { TextWithTimes } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';

/** Maximum number of characters of a message on a page; the problem document has all. */
const MAX_MESSAGE = 2_000;

/**
 * `near` are the names in the hint, in their order. `signInFrom` is the path of the page, if a user who signs in may see
 * something there.
 */
export function ErrorPage({
  problem,
  near,
  signInFrom,
}: {
  problem: Problem;
  near: readonly NearName[];
  signInFrom?: string | undefined;
}) {
  const { at } = useSite();
  const { title, status, detail = '', hint, diagnostics = [], requestId } = problem;
  return (
    <div class="error-page">
      <h1>
        {title} <span class="quiet">{status}</span>
      </h1>
      <p class="error-detail">
        <TextWithTimes value={sentence(detail)} max={MAX_MESSAGE} />
      </p>
      {hint === undefined ? null : (
        <p>
          <Hint hint={hint} near={near} />
        </p>
      )}
      {signInFrom === undefined ? null : (
        <p>
          If you expected something here, <a href={at(signInPath(signInFrom))}>sign in</a>.
        </p>
      )}
      {diagnostics.length === 0 ? null : (
        <ul>
          {diagnostics.slice(0, 20).map(({ path, message }) => (
            <li>
              <code>
                <Text value={path} max={200} />
              </code>{' '}
              <Text value={message} max={500} />
            </li>
          ))}
        </ul>
      )}
      <p>
        <a href={at(searchPath())}>Search functions</a> or go to the <a href={at(HOME)}>home page</a>.
      </p>
      {requestId === undefined ? null : (
        <p class="quiet">
          Request <code>{requestId}</code>
        </p>
      )}
    </div>
  );
}

/** Links the names in a hint. */
function Hint({ hint, near }: { hint: string; near: readonly NearName[] }) {
  const { at } = useSite();
  const parts: Child[] = [];
  let rest = hint;
  for (const name of near) {
    const text = nearText(name);
    const start = rest.indexOf(text);
    if (start < 0) continue;
    parts.push(<Words text={rest.slice(0, start)} />, <a href={at(nearPath(name))}>{text}</a>);
    rest = rest.slice(start + text.length);
  }
  return (
    <>
      {parts}
      <Words text={rest} />
    </>
  );
}

/** A command, or the path of a page that has no names in it. */
const MARKED = /`([^`]*)`|(?<= )(\/|\/docs|\/api|\/operate|\/owners|\/sign-in)(?=[ .,]|$)/;

/** Shows commands, which are in backticks, as code, and paths of pages as links. */
export function Words({ text }: { text: string }) {
  const { at } = useSite();
  const parts = text.slice(0, MAX_MESSAGE).split(MARKED);
  return (
    <>
      {parts.map((part, index) => {
        if (part === undefined) return null;
        if (index % 3 === 2) return <a href={at(part)}>{part}</a>;
        return index % 3 === 1 ? (
          <code>
            <Text value={part} />
          </code>
        ) : (
          <Text value={part} />
        );
      })}
    </>
  );
}

function nearPath(near: NearName): string {
  if ('catalog' in near) return catalogPath(near.catalog);
  if ('policy' in near) return policyPath(near.policy);
  const { release } = near;
  return release === undefined ? functionPath(near) : releasePath({ ...near, release });
}
