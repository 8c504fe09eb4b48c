import { fillPath } from '@krmhub/api/paths';
import { type CatalogEntryRow, type EntryPage, REPORT_REMARKS, type ReportRemark } from '@krmhub/catalog';
import type { RefusalCode } from '@krmhub/schema';
import type { Child } from 'hono/jsx';
import { catalogReportPath, functionPath } from '../addresses.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { Empty } from '../parts/empty.js';
import { Label } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { ShortSigner } from '../parts/signer.js';
import { QualifiedName, Reference, Text } from '../parts/text.js';
import { useSite } from '../site.js';
import type { CatalogCounts } from './cached-counts.js';
import { CatalogHead } from './catalog-head.js';
import { type CatalogView, failingSources, invalidEntries } from './read-catalog.js';
import { REFUSAL_TEXTS, REMARK_TEXTS } from './report-texts.js';
import { Problem } from './sources-section.js';

export interface ReportPageData {
  view: CatalogView;
  counts: CatalogCounts;
  /** The kind of remark to show; absent for the overview. */
  of?: ReportRemark;
  /** One page for each kind that is shown. */
  pages: Partial<Record<ReportRemark, EntryPage>>;
  after?: string;
}

/** Maximum number of remarks about one function; `krmhub catalog report` prints all. */
const MAX_REMARKS = 10;
const MAX_MESSAGE = 500;

/**
 * Shows what a catalog does not include and why: an overview with the first functions of each kind of remark, or all of one
 * kind.
 */
export function ReportPage({ view, counts, of, pages, after }: ReportPageData) {
  const { at } = useSite();
  const { name, newest } = view.catalog;
  const shown = REPORT_REMARKS.filter((remark) => (pages[remark]?.rows.length ?? 0) > 0 || remark === of);
  const isNothing =
    newest !== undefined &&
    shown.length === 0 &&
    failingSources(view).length === 0 &&
    invalidEntries(view) === 0;
  return (
    <div class="catalog report">
      <CatalogHead view={view} counts={counts} tab="report" />
      <h2 id="not-included">Not included</h2>
      <p>
        {newest === undefined
          ? 'What the catalog does not include. It has no snapshot yet.'
          : 'What the current snapshot does not include, and why. Each snapshot has its own report.'}
      </p>
      <nav class="contents" aria-label="Kinds of remarks">
        <ul>
          <li>
            <a href={at(catalogReportPath(name))} aria-current={of === undefined ? 'true' : undefined}>
              Overview
            </a>
          </li>
          {REPORT_REMARKS.map((remark) => (
            <li>
              <a
                href={at(catalogReportPath(name, { of: remark }))}
                aria-current={remark === of ? 'true' : undefined}
              >
                {REMARK_TEXTS[remark].title}{' '}
                <span class="quiet">{counts.remarks[remark].toLocaleString('en')}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {isNothing && of === undefined ? (
        <Empty title="Nothing is omitted.">
          <p>The catalog contains all functions of its sources.</p>
        </Empty>
      ) : null}
      {of === undefined ? <FailedSources view={view} /> : null}
      {shown.map((remark) => (
        <Remarks
          name={name}
          remark={remark}
          count={counts.remarks[remark]}
          page={pages[remark] ?? { rows: [] }}
          isOverview={of === undefined}
          after={after}
        />
      ))}
      {of === undefined ? <InvalidEntries view={view} /> : null}
      {of === undefined ? <CompletedEntries view={view} /> : null}
      {of === undefined ? <LookAlikeGroups view={view} /> : null}
      <h2>For scripts</h2>
      <CopySnippet
        label="Report with krmhub"
        caption="Show this report in a terminal:"
        code={`krmhub catalog report ${name}`}
      />
      <p>
        <a href={at(fillPath('catalogReport', { name }))}>This report as JSON</a>
        {newest === undefined ? null : (
          <>
            {' · '}
            <a href={at(fillPath('snapshotReport', { name, snapshot: String(newest.serial) }))}>
              report.json of snapshot {newest.serial}
            </a>
          </>
        )}
      </p>
    </div>
  );
}

function Remarks({
  name,
  remark,
  count,
  page,
  isOverview,
  after,
}: {
  name: string;
  remark: ReportRemark;
  count: number;
  page: EntryPage;
  isOverview: boolean;
  after: string | undefined;
}) {
  const { at } = useSite();
  const { title, meaning, remedy } = REMARK_TEXTS[remark];
  return (
    <section aria-labelledby={remark}>
      <h2 id={remark}>
        {title} <span class="quiet">{count.toLocaleString('en')}</span>
      </h2>
      <p>
        {meaning} <strong>What to do:</strong> {remedy}
      </p>
      {remark === 'refused' ? <Codes places={page.rows} /> : null}
      {page.rows.length === 0 ? (
        <p class="quiet">{after === undefined ? 'None.' : 'No more.'}</p>
      ) : (
        <ol class="places">
          {page.rows.map((row) => (
            <li>
              <OmittedName place={row} isHeld={row.entry !== undefined} />
              <ul class="plain-list">
                <RowRemarks place={row} remark={remark} />
              </ul>
            </li>
          ))}
        </ol>
      )}
      {isOverview ? (
        page.next === undefined ? null : (
          <p>
            <a href={at(catalogReportPath(name, { of: remark }))}>
              All {count.toLocaleString('en')} functions
            </a>
          </p>
        )
      ) : (
        <Pages
          first={after === undefined ? undefined : catalogReportPath(name, { of: remark })}
          next={
            page.next &&
            catalogReportPath(name, { of: remark, after: `${page.next.group}/${page.next.kind}` })
          }
        />
      )}
    </section>
  );
}

/** A function in no catalog has no page, unless this registry has a release of it. */
function OmittedName({ place: row, isHeld }: { place: CatalogEntryRow; isHeld: boolean }) {
  const { at } = useSite();
  const isOwn = [...row.shadowed, ...(row.refused ?? []), ...row.yanked].some(
    ({ release }) => release !== undefined,
  );
  const text = <QualifiedName name={row} />;
  return isHeld || isOwn ? (
    <a class="place-name" href={at(functionPath(row))}>
      {text}
    </a>
  ) : (
    <span class="place-name">{text}</span>
  );
}

function RowRemarks({ place: row, remark }: { place: CatalogEntryRow; remark: ReportRemark }) {
  const remarks = { refused: refusedItems, shadowed: shadowedItems, yanked: yankedItems }[remark](row);
  return (
    <>
      {remarks.slice(0, MAX_REMARKS).map((item) => (
        <li>{item}</li>
      ))}
      {remarks.length > MAX_REMARKS ? <li class="quiet">and {remarks.length - MAX_REMARKS} more</li> : null}
    </>
  );
}

function refusedItems({ refused = [] }: CatalogEntryRow): Child[] {
  return refused.map(({ version, source, release, reasons }) => (
    <>
      {version} of {source}
      {release === undefined ? '' : ` ${release}`}
      {reasons.map(({ code, message }) => (
        <>
          {' '}
          <Label tone="warning">{code}</Label> <ShortSigner value={message} max={MAX_MESSAGE} />
        </>
      ))}
    </>
  ));
}

function shadowedItems({ shadowed }: CatalogEntryRow): Child[] {
  return shadowed.map(({ version, source, release, by }) => (
    <>
      {version} of {source}
      {release === undefined ? '' : ` ${release}`} <span class="quiet">comes from</span> {by.source}
      {by.release === undefined ? '' : ` ${by.release}`}
    </>
  ));
}

function yankedItems({ yanked }: CatalogEntryRow): Child[] {
  return yanked.map(({ release, source }) => (
    <>
      {release} <span class="quiet">of</span> {source}
    </>
  ));
}

/** The refusal codes on this page, with their meaning. */
function Codes({ places: entryRows }: { places: readonly CatalogEntryRow[] }) {
  const codes = new Set(
    entryRows.flatMap(({ refused = [] }) =>
      refused.flatMap(({ reasons }) => reasons.map(({ code }) => code)),
    ),
  );
  const known = (Object.keys(REFUSAL_TEXTS) as RefusalCode[]).filter((code) => codes.has(code));
  return (
    <dl class="facts">
      {known.map((code) => (
        <div>
          <dt>
            <Label tone="warning">{code}</Label>
          </dt>
          <dd>
            {REFUSAL_TEXTS[code].meaning} <span class="quiet">{REFUSAL_TEXTS[code].remedy}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function FailedSources({ view }: { view: CatalogView }) {
  const failing = failingSources(view);
  if (failing.length === 0) return null;
  return (
    <section aria-labelledby="failing">
      <h2 id="failing">
        Sources whose sync failed <span class="quiet">{failing.length}</span>
      </h2>
      {failing.map((record) => (
        <>
          <h3>{record.source}</h3>
          <Problem record={record} />
        </>
      ))}
    </section>
  );
}

/** The entries that the recipe's defaults completed. */
function CompletedEntries({ view }: { view: CatalogView }) {
  const sources = view.sources.flatMap(({ record }) => {
    const { completed, completedEntries: count = 0 } = record?.copy ?? {};
    if (record === undefined || completed === undefined) return [];
    const entries = completed.map(({ fields, ...entry }) => ({ ...entry, text: fields.join(', ') }));
    return [{ source: record.source, count, entries }];
  });
  return (
    <SourceEntries id="completed" title="Completed entries" sources={sources}>
      Fields are missing in these entries. The <code>defaults</code> of the recipe for their source set these
      fields.
    </SourceEntries>
  );
}

function InvalidEntries({ view }: { view: CatalogView }) {
  const sources = view.sources.flatMap(({ record }) => {
    const { invalid = [], invalidEntries: count = 0 } = record?.copy ?? {};
    if (record === undefined || count === 0) return [];
    const entries = invalid.map(({ message, ...entry }) => ({ ...entry, text: message }));
    return [{ source: record.source, count, entries }];
  });
  return (
    <SourceEntries id="invalid" title="Invalid entries" total={invalidEntries(view)} sources={sources}>
      Invalid source entries. They do not affect other entries. <strong>What to do:</strong> tell the
      publisher of the catalog. <code>krmhub lint</code> lists the errors of a file.
    </SourceEntries>
  );
}

/** Groups of sources that readers could take for groups of this registry. */
function LookAlikeGroups({ view }: { view: CatalogView }) {
  const warnings = view.sources.flatMap(({ name, record }) =>
    (record?.copy?.warnings ?? []).map(({ message }) => ({ name, message })),
  );
  if (warnings.length === 0) return null;
  return (
    <section aria-labelledby="look-alike">
      <h2 id="look-alike">
        Look-alike groups <span class="quiet">{warnings.length}</span>
      </h2>
      <p>
        Groups of sources that readers could take for groups of this registry. Their entries are included.{' '}
        <strong>What to do:</strong> if one imitates another group, add it to <code>policy.deny</code> of the
        recipe.
      </p>
      <ol class="places">
        {warnings.map(({ name, message }) => (
          <li>
            <span class="place-name">{name}</span>
            <p>
              <Text value={message} max={MAX_MESSAGE} />
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The first entries of each source that a remark is about; only these are stored. */
function SourceEntries({
  id,
  title,
  total,
  sources,
  children,
}: {
  id: string;
  title: string;
  total?: number;
  sources: readonly {
    source: string;
    count: number;
    entries: readonly { entry: number; group?: string; kind?: string; text: string }[];
  }[];
  children: Child;
}) {
  if (sources.length === 0) return null;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {title}
        {total === undefined ? null : <span class="quiet"> {total.toLocaleString('en')}</span>}
      </h2>
      <p>{children}</p>
      {sources.map(({ source, count, entries }) => (
        <>
          <h3>
            {source} <span class="quiet">{count.toLocaleString('en')}</span>
          </h3>
          <ol class="places">
            {entries.map(({ entry, group, kind, text }) => (
              <li>
                <span class="place-name">
                  entry {entry}{' '}
                  {group === undefined || kind === undefined ? null : (
                    <Reference value={`${group}/${kind}`} max={160} />
                  )}
                </span>
                <p>
                  <Text value={text} max={MAX_MESSAGE} />
                </p>
              </li>
            ))}
          </ol>
          {count > entries.length ? (
            <p class="quiet">And {(count - entries.length).toLocaleString('en')} more are not stored.</p>
          ) : null}
        </>
      ))}
    </section>
  );
}
