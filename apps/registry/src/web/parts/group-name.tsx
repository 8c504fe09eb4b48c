import { searchPath } from '../addresses.js';
import { useSite } from '../site.js';
import { NamePart } from './text.js';

/** A group with a link, to its functions unless the page has another path. A pattern has no functions of its own. */
export function GroupName({ group, path }: { group: string; path?: string }) {
  const { at } = useSite();
  if (group.includes('*')) return <NamePart value={group} />;
  return (
    <a href={at(path ?? searchPath({ group: [group] }))}>
      <NamePart value={group} />
    </a>
  );
}
