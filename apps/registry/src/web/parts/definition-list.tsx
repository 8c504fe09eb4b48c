import type { Child } from 'hono/jsx';

/** A list of names and values. Omits absent values. */
export function DefinitionList({
  items,
}: {
  items: readonly (readonly [term: string, value: Child | undefined])[];
}) {
  return (
    <dl class="facts">
      {items.map(([term, value]) =>
        value === undefined || value === null ? null : (
          <div>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
