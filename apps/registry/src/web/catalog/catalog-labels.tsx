import { Text } from '../parts/text.js';

/** Labels of a catalog with their values. */
export function CatalogLabels({ labels }: { labels: Readonly<Record<string, string>> | undefined }) {
  const all = Object.entries(labels ?? {});
  if (all.length === 0) return null;
  return (
    <ul class="tags" aria-label="Labels">
      {all.map(([name, value]) => (
        <li>
          <Text value={name} max={80} />
          <span class="quiet">: </span>
          <Text value={value} max={80} />
        </li>
      ))}
    </ul>
  );
}
