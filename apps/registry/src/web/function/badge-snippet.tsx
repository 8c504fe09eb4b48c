import type { FunctionName } from '@krmhub/schema';
import { functionPath } from '../addresses.js';
import { BADGE_FACTS, type BadgeFact, badgePath } from '../badge/badge-facts.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { useSite } from '../site.js';

const TEXTS: Record<BadgeFact, string> = {
  release: 'Newest release',
  signed: 'Signature',
  pinned: 'What runs',
};

/** Markdown of badges for READMEs on other sites. */
export function BadgeSnippet({ name }: { name: FunctionName }) {
  const { at } = useSite();
  return (
    <details class="badges">
      <summary>Badges for a README</summary>
      <p>
        {BADGE_FACTS.map((fact) => (
          <>
            <img src={at(badgePath(name, fact))} alt={TEXTS[fact]} height="20" loading="lazy" />{' '}
          </>
        ))}
      </p>
      <CopySnippet
        label="Badges in Markdown"
        code={BADGE_FACTS.map((fact, index) => (
          <>
            {index === 0 ? '' : '\n'}[![{TEXTS[fact]}](
            <RegistryAddress />
            {badgePath(name, fact)})](
            <RegistryAddress />
            {functionPath(name)})
          </>
        ))}
      />
    </details>
  );
}
