import type { FacetName } from '@krmhub/schema/facets';
import { FacetText } from '../parts/facet-text.js';
import { useSite } from '../site.js';
import type { FacetValue, FacetView } from './search-view.js';

/** Folded on narrow screens; on wide ones the style sheet shows the content. */
export function Facets({ views }: { views: readonly FacetView[] }) {
  if (views.length === 0) return null;
  return (
    <details class="facets">
      <summary>Filter</summary>
      <nav aria-label="Filters">
        {views.map(({ name, title, first, more }) => (
          <section class="facet">
            <h2>{title}</h2>
            <Values facet={name} values={first} />
            {more.length === 0 ? null : (
              <details class="facet-more">
                <summary>
                  {more.length} more<span class="unseen"> of {title}</span>
                </summary>
                <Values facet={name} values={more} />
              </details>
            )}
          </section>
        ))}
      </nav>
    </details>
  );
}

function Values({ facet, values }: { facet: FacetName; values: readonly FacetValue[] }) {
  const { at } = useSite();
  return (
    <ul>
      {values.map(({ text, count, isChosen, path }) => (
        <li>
          <a href={at(path)} rel="nofollow" aria-current={isChosen ? 'true' : undefined}>
            <span class="facet-value">
              <FacetText facet={facet} value={text} max={80} />
              {isChosen ? <span class="unseen"> – remove</span> : null}
            </span>
            {count === undefined ? null : <span class="facet-count">{count.toLocaleString('en')}</span>}
          </a>
        </li>
      ))}
    </ul>
  );
}
