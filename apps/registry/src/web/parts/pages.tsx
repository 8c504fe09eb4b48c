import { useSite } from '../site.js';

/** Links between the pages of a list. Pages have cursors, so there is no link to the last page. */
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
