import type { Child } from 'hono/jsx';

/** A list of names and values. Omits absent values; nothing if it has no other. */
export function DefinitionList({
  items,
}: {
  items: readonly (readonly [term: string, value: Child | undefined])[];
}) {
  const given = items.filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) return null;
  return (
    <dl class="facts">
      {given.map(([term, value]) => (
        <div>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
