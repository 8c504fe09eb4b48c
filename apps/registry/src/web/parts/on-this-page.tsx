/** Fewer headings need no list. */
const MIN_HEADINGS = 3;

/** Links to the headings of a text. Omits the list if it has few. */
export function OnThisPage({
  label,
  headings,
}: {
  label: string;
  headings: readonly { id: string; title: string }[];
}) {
  if (headings.length < MIN_HEADINGS) return null;
  return (
    <nav class="on-this-page" aria-label={label}>
      <p>{label}</p>
      <ul>
        {headings.map(({ id, title }) => (
          <li>
            <a href={`#${encodeURIComponent(id)}`}>{title}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
