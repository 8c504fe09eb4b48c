import { REPORT_REMARKS } from '@krmhub/catalog';
import { catalogReportPath } from '../addresses.js';
import { counted } from '../counted.js';
import { useSite } from '../site.js';
import type { CatalogCounts } from './cached-counts.js';
import { type CatalogView, failingSources, invalidEntries } from './read-catalog.js';
import { REMARK_TEXTS } from './report-texts.js';

/** Numbers of functions that the catalog leaves out. */
export function ReportSection({ view, counts }: { view: CatalogView; counts: CatalogCounts }) {
  const { at } = useSite();
  const { name } = view.catalog;
  const failing = failingSources(view).length;
  const invalid = invalidEntries(view);
  const remarks = REPORT_REMARKS.filter((remark) => counts.remarks[remark] > 0);
  const isEmpty = remarks.length === 0 && failing === 0 && invalid === 0;
  return (
    <section aria-labelledby="report">
      <h2 id="report">What is omitted</h2>
      {isEmpty ? (
        <p>Nothing: the catalog contains all functions of its sources.</p>
      ) : (
        <dl class="facts">
          {remarks.map((remark) => (
            <div>
              <dt>{REMARK_TEXTS[remark].title}</dt>
              <dd>
                <a href={at(catalogReportPath(name, { of: remark }))}>
                  {counted(counts.remarks[remark], 'function')}
                </a>
                <br />
                <span class="quiet">{REMARK_TEXTS[remark].meaning}</span>
              </dd>
            </div>
          ))}
          {invalid === 0 ? null : (
            <div>
              <dt>Invalid</dt>
              <dd>
                <a href={at(`${catalogReportPath(name)}#invalid`)}>
                  {invalid === 1 ? '1 entry' : `${invalid.toLocaleString('en')} entries`}
                </a>
                <br />
                <span class="quiet">Invalid source entries. They do not affect other entries.</span>
              </dd>
            </div>
          )}
          {failing === 0 ? null : (
            <div>
              <dt>Not current</dt>
              <dd>
                <a href="#sources">{counted(failing, 'source')}</a>
              </dd>
            </div>
          )}
        </dl>
      )}
      <p>
        <a href={at(catalogReportPath(name))}>The report</a>
        {view.catalog.newest === undefined ? null : ', function by function and with reasons'}
      </p>
    </section>
  );
}
