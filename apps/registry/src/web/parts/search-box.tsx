import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { useSite } from '../site.js';

/** The search form. With scripts, it suggests functions (`assets/script.js`). */
export function SearchBox({
  id,
  value = '',
  isLarge = false,
  kept = [],
}: {
  /** Unique on its page. */
  id: string;
  value?: string;
  isLarge?: boolean;
  /** Search parameters to preserve. */
  kept?: readonly (readonly [name: string, value: string])[];
}) {
  const { at } = useSite();
  return (
    <search class={isLarge ? 'search-box search-box-large' : 'search-box'}>
      <form action={at('/functions')}>
        <label class="unseen" for={id}>
          Search functions
        </label>
        <div class="search-field">
          <input
            id={id}
            type="search"
            name="q"
            value={value}
            maxlength={REQUEST_LIMITS.maxQueryLength}
            placeholder="Search functions"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            enterkeyhint="search"
            data-suggestions={at('/suggestions')}
          />
          <span class="key" aria-hidden="true">
            /
          </span>
        </div>
        {kept.map(([name, one]) => (
          <input type="hidden" name={name} value={one} />
        ))}
        <button type="submit">Search</button>
      </form>
    </search>
  );
}
