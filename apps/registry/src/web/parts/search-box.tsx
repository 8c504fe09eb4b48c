import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { DOCS } from '../addresses.js';
import { useSite } from '../site.js';

/** What a form searches: where it leads, and its words. */
const SEARCHES = {
  functions: { path: '/functions', label: 'Search functions' },
  docs: { path: DOCS, label: 'Search the documentation' },
} as const;

/** The search form. With scripts, that of functions suggests some, and has a key (`assets/script.js`). */
export function SearchBox({
  id,
  of = 'functions',
  value = '',
  isLarge = false,
  kept = [],
}: {
  /** Unique on its page. */
  id: string;
  of?: keyof typeof SEARCHES;
  value?: string;
  isLarge?: boolean;
  /** Search parameters to preserve. */
  kept?: readonly (readonly [name: string, value: string])[];
}) {
  const { at } = useSite();
  const { path, label } = SEARCHES[of];
  return (
    <search class={isLarge ? 'search-box search-box-large' : 'search-box'}>
      <form action={at(path)}>
        <label class="unseen" for={id}>
          {label}
        </label>
        <div class="search-field">
          <input
            id={id}
            type="search"
            name="q"
            value={value}
            maxlength={REQUEST_LIMITS.maxQueryLength}
            placeholder={label}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            enterkeyhint="search"
            data-suggestions={of === 'functions' ? at('/suggestions') : undefined}
          />
          {of === 'functions' ? (
            <span class="key" aria-hidden="true">
              /
            </span>
          ) : null}
        </div>
        {kept.map(([name, one]) => (
          <input type="hidden" name={name} value={one} />
        ))}
        <button type="submit">Search</button>
      </form>
    </search>
  );
}
