import type { Child } from 'hono/jsx';

/** Facts, each with its name. Those whose value is absent are left out. */
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
