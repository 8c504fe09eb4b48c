import { useSite } from '../site.js';

/** From one page of a list to the next, which a cursor leads to: there is no way to the last. */
export function Pages({ first, next }: { first?: string | undefined; next?: string | undefined }) {
  const { at } = useSite();
  if (first === undefined && next === undefined) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {first === undefined ? null : (
        <a href={at(first)} rel="first">
          First page
        </a>
      )}
      {next === undefined ? null : (
        <a href={at(next)} rel="next">
          Next page
        </a>
      )}
    </nav>
  );
}
