import type { ConsumerCounts } from '@krmhub/catalog';
import { plural } from '@krmhub/schema/text';
import { docsPath } from '../addresses.js';
import { Reference } from '../parts/text.js';
import { useSite } from '../site.js';

/** Fields of a function on its page. */
const MAX_FIELDS = 50;

/** Who uses a function, for those who can break it. */
export function ConsumersSection({ counts, release }: { counts: ConsumerCounts; release: string }) {
  const { at } = useSite();
  const { packages, releases, fields, names } = counts;
  return (
    <section aria-labelledby="used-by">
      <h2 id="used-by">Used by</h2>
      {packages === 0 ? (
        <p>No package reported that it locks the function.</p>
      ) : (
        <>
          <p>
            {plural(packages, 'package')} reported in the last 90 days that{' '}
            {packages === 1 ? 'it locks' : 'they lock'} the function:
          </p>
          <ul>
            {releases.map((one) => (
              <li>
                {one.release === release ? <strong>{one.release}</strong> : one.release} with {one.version}:{' '}
                {plural(one.packages, 'package')}
              </li>
            ))}
          </ul>
          {fields.length === 0 ? null : (
            <details>
              <summary>Fields in use</summary>
              <ul>
                {fields.slice(0, MAX_FIELDS).map(({ version, field, packages: count }) => (
                  <li>
                    <code>{field}</code> of {version}: {plural(count, 'package')}
                  </li>
                ))}
              </ul>
            </details>
          )}
          {names.length === 0 ? null : (
            <p>
              Public ones:{' '}
              {names.map((name, index) => (
                <>
                  {index === 0 ? '' : ', '}
                  <Reference value={name} max={300} />
                </>
              ))}
            </p>
          )}
        </>
      )}
      <p>
        Only publishers of the function see this. Packages are counted with{' '}
        <a href={at(docsPath('lock', 'report-what-you-lock'))}>
          <code class="unbroken">krmhub lock --report</code>
        </a>
        .
      </p>
    </section>
  );
}
