import type { Replacement } from '@krmhub/schema';
import { functionPath } from '../addresses.js';
import { QualifiedName } from '../parts/text.js';
import { useSite } from '../site.js';

/** What to use instead of a deprecated release, if its publisher named it. */
export function ReplacementLink({ replacement }: { replacement: Replacement | undefined }) {
  const { at } = useSite();
  if (replacement === undefined) return null;
  return (
    <p>
      Use{' '}
      <a href={at(functionPath(replacement))}>
        <QualifiedName name={{ ...replacement, release: replacement.releases }} />
      </a>{' '}
      instead.
    </p>
  );
}
