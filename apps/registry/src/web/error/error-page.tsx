import type { Problem } from '@krmhub/api/model';
import { HOME, searchPath } from '../addresses.js';
import { Text } from '../parts/text.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';

/** Maximum number of characters of a message on a page; the problem document has all. */
const MAX_MESSAGE = 2_000;

export function ErrorPage({ problem }: { problem: Problem }) {
  const { at } = useSite();
  const { title, status, detail = '', hint, diagnostics = [], requestId } = problem;
  return (
    <div class="error-page">
      <h1>
        {title} <span class="quiet">{status}</span>
      </h1>
      <p class="error-detail">
        <Text value={sentence(detail)} max={MAX_MESSAGE} />
      </p>
      {hint === undefined ? null : (
        <p>
          <Text value={hint} max={MAX_MESSAGE} />
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
        <a href={at(searchPath())}>Search functions</a> or go to the <a href={at(HOME)}>first page</a>.
      </p>
      {requestId === undefined ? null : (
        <p class="quiet">
          Request <code>{requestId}</code>
        </p>
      )}
    </div>
  );
}
