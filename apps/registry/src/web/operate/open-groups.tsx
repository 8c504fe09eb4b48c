import type { AccessRules } from '@krmhub/catalog';
import { OPERATE_ACCESS } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { useSite } from '../site.js';

/** Says that every group is open, as in a registry that was upgraded, and how to close it. */
export function OpenGroups({ rules }: { rules: AccessRules }) {
  const { at } = useSite();
  if (!rules.opensEveryGroup) return null;
  return (
    <Banner title="Every group is open">
      <p>
        Every token with the scope <code>publish</code> for all groups may begin new groups, as before krmhub
        had access rules. To close the registry, remove <code>"*"</code> from <code>openGroups</code> in the{' '}
        <a href={at(OPERATE_ACCESS)}>Access document</a>.
      </p>
    </Banner>
  );
}
