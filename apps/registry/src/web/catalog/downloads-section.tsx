import { fillPath } from '@krmhub/api/paths';
import type { SnapshotRecord } from '@krmhub/catalog';
import { PROFILE_SUMMARIES, PROFILES } from '@krmhub/schema';
import { useSite } from '../site.js';

/** Links to every rendition of the newest snapshot. */
export function Downloads({ snapshot, isSigned }: { snapshot: SnapshotRecord; isSigned: boolean }) {
  const { at } = useSite();
  const { catalog, serial } = snapshot;
  const name = { name: catalog };
  const fixed = { ...name, snapshot: String(serial) };
  const yaml = fillPath('catalogYaml', name);
  const json = fillPath('catalogJson', name);
  return (
    <>
      <dl class="facts">
        <div>
          <dt>Kind Catalog</dt>
          <dd>
            <a href={at(yaml)}>YAML</a> · <a href={at(json)}>JSON</a>
          </dd>
        </div>
        <div>
          <dt>Kind KRMFunctionCatalog</dt>
          <dd>
            <a href={at(`${yaml}?kind=KRMFunctionCatalog`)}>YAML</a> ·{' '}
            <a href={at(`${json}?kind=KRMFunctionCatalog`)}>JSON</a>
          </dd>
        </div>
        <div>
          <dt>This snapshot</dt>
          <dd>
            <a href={at(fillPath('snapshotJson', fixed))}>snapshot.json</a> ·{' '}
            <a href={at(fillPath('snapshotReport', fixed))}>report.json</a>
            {isSigned ? (
              <>
                {' · '}
                <a href={at(fillPath('snapshotBundle', fixed))}>snapshot.sigstore.json</a>
              </>
            ) : null}
          </dd>
        </div>
      </dl>
      <p>For tools with another dialect:</p>
      <dl class="facts">
        {PROFILES.map((profile) => (
          <div>
            <dt>
              <a href={at(`${yaml}?${new URLSearchParams({ profile })}`)}>{profile}</a>
            </dt>
            <dd>
              {PROFILE_SUMMARIES[profile]} ·{' '}
              <a href={at(fillPath('snapshotProfile', { ...fixed, profile }))}>
                what it omits<span class="unseen"> in the profile {profile}</span>
              </a>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
