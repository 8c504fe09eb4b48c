import { useSite } from '../site.js';

export interface Tab {
  title: string;
  path: string;
  isCurrent: boolean;
  /** Number of items, if it says something. */
  count?: number | undefined;
  /** Fragment of the section that an earlier address of this page had. The script follows it to the tab. */
  fragment?: string | undefined;
  /** Start of the fragments in this tab. */
  fragmentPrefix?: string | undefined;
}

/** Links between the pages of one object. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const { at } = useSite();
  return (
    <nav class="tabs" aria-label={label}>
      <ul>
        {tabs.map(({ title, path, isCurrent, count, fragment, fragmentPrefix }) => (
          <li>
            <a
              href={at(path)}
              aria-current={isCurrent ? 'page' : undefined}
              id={isCurrent ? undefined : fragment}
              data-fragments={isCurrent ? undefined : fragmentPrefix}
            >
              {title}
              {count === undefined ? null : (
                <>
                  {' '}
                  <span class="quiet">{count.toLocaleString('en')}</span>
                </>
              )}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
