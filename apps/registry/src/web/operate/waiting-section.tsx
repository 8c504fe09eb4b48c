import { groupPath, publishersPath } from '../addresses.js';
import { GroupName } from '../parts/group-name.js';
import { NamePart, QualifiedName, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';
import type { Waiting } from './find-waiting.js';

/** Items of each kind that are shown. */
const MAX_SHOWN = 10;

/** What waits for the signed-in user. Nothing, if nothing waits. */
export function WaitingSection({ waiting: { claims, publishers, names } }: { waiting: Waiting }) {
  const { at } = useSite();
  if (claims.length + publishers.length + names.length === 0) return null;
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">Waiting for you</h2>
      <ul class="operate-list">
        {claims.slice(0, MAX_SHOWN).map(({ group, team, problem, endsAt, proof }) => (
          <li>
            <b>
              <GroupName group={group} path={groupPath(group)} />
            </b>
            : the proof that the team <Text value={team} max={100} /> owns it is missing. Without it, the team
            owns the group until <Time at={endsAt} />.
            <p class="quiet">
              {problem === undefined ? null : <Text value={sentence(problem)} max={500} />}{' '}
              {proof === undefined ? null : <Text value={proof} max={1_000} />} Then run{' '}
              <code>krmhub owner verify {group}</code>.
            </p>
          </li>
        ))}
        {publishers.slice(0, MAX_SHOWN).map(({ id, group, kind, endsAt, isOver }) => (
          <li>
            <b>
              <QualifiedName name={{ group, kind }} />
            </b>
            : no workflow has used the <a href={at(`${publishersPath()}#${id}`)}>trusted publisher</a> yet.{' '}
            {isOver ? (
              <>
                It ended <Time at={endsAt} />: remove it, and add it again.
              </>
            ) : (
              <>
                Run the workflow before <Time at={endsAt} />, or remove the publisher.
              </>
            )}
          </li>
        ))}
        {names.slice(0, MAX_SHOWN).map(({ group, reason, by, at: time }) => (
          <li>
            <b>
              <NamePart value={group} />
            </b>
            : the registry rejected a release of <Text value={by} max={100} /> at <Time at={time} />.
            <p class="quiet">
              <Text value={sentence(reason)} max={500} /> If the name is right, publish the first release
              yourself, with the definition of its author: <code>krmhub publish FILE</code>. After that, its
              publishers can continue.
            </p>
          </li>
        ))}
      </ul>
      {[claims, publishers, names].map((all) =>
        all.length <= MAX_SHOWN ? null : <p class="quiet">And {all.length - MAX_SHOWN} more.</p>,
      )}
    </section>
  );
}
