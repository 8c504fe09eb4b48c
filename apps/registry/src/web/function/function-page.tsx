import { builtFrom, imageTag, type SigningPolicy } from '@krmhub/catalog';
import { isPrerelease } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { FUNCTION_TABS, type FunctionTab, functionPath, functionTabPath, groupPath } from '../addresses.js';
import { importedRelease } from '../parts/imported-release.js';
import { Label, VisibilityLabel } from '../parts/label.js';
import { type Tab, Tabs } from '../parts/tabs.js';
import { NamePart, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { WorkflowLine } from '../parts/workflow-line.js';
import { useSite } from '../site.js';
import { TryItSection } from '../try/try-section.js';
import { cutText } from '../visible-text.js';
import { AboutSection } from './about-section.js';
import { Banners } from './banners.js';
import { ConfigTab } from './config-tab.js';
import type { FunctionView } from './read-function.js';
import { ReadmeSection } from './readme-section.js';
import { ReleasesSection } from './releases-section.js';
import { RuntimeSection } from './runtime-section.js';
import { SignatureSection } from './signature-section.js';
import { SourceSection } from './source-section.js';
import { Summary } from './summary.js';
import { UseSection } from './use-section.js';

export interface FunctionPageProps {
  view: FunctionView;
  policies: readonly SigningPolicy[];
  tab: FunctionTab;
  /** The last release of the previous page of releases. */
  after?: string | undefined;
}

export function FunctionPage({ view, policies, tab, after }: FunctionPageProps) {
  const isOverview = tab === 'overview';
  return (
    <div class={isOverview ? 'function' : 'function function-tab'}>
      <div class="function-head">
        <Banners view={view} />
        <Header view={view} />
        <Tabs label={`Pages of ${view.name.kind}`} tabs={tabs(view, tab)} />
        {isOverview && view.known?.release.yanked === undefined ? <UseSection view={view} /> : null}
      </div>
      {isOverview ? <AboutSection view={view} /> : null}
      <div class="function-main">
        {isOverview ? <ReadmeSection view={view} /> : null}
        {isOverview ? <TryItSection view={view} /> : null}
        {tab === 'configuration' ? <ConfigTab view={view} /> : null}
        {tab === 'releases' ? <ReleasesSection view={view} policies={policies} after={after} /> : null}
        {tab === 'signatures' ? <SignatureSection view={view} /> : null}
        {tab === 'source' ? (
          <>
            <RuntimeSection version={view.version.version} script={view.script} />
            <SourceSection view={view} />
          </>
        ) : null}
      </div>
    </div>
  );
}

const TITLES: Record<FunctionTab, string> = {
  overview: 'Overview',
  configuration: 'Configuration',
  releases: 'Releases',
  signatures: 'Signatures',
  source: 'Permissions',
};

/** Sections that the page of a function had before it had tabs. */
const FRAGMENTS: Partial<Record<FunctionTab, string>> = {
  configuration: 'config',
  releases: 'releases',
  signatures: 'signatures',
  source: 'runtime',
};

/** A chosen API version stays chosen. */
function tabs({ name, asked, releases, version, versions }: FunctionView, current: FunctionTab): Tab[] {
  const { name: shown } = version.version;
  const query = shown === versions[0] ? '' : `?${new URLSearchParams({ version: shown })}`;
  return FUNCTION_TABS.map((tab) => ({
    title: TITLES[tab],
    path: functionTabPath({ ...name, release: asked }, tab) + (tab === 'releases' ? '' : query),
    isCurrent: tab === current,
    ...defined({
      count: tab === 'releases' && releases.length > 0 ? releases.length : undefined,
      fragment: current === 'overview' ? FRAGMENTS[tab] : undefined,
      fragmentPrefix: current === 'overview' && tab === 'configuration' ? 'field-' : undefined,
    }),
  }));
}

/** Characters of a description that are shown at once, and that open. */
const MAX_LEAD = 300;
const MAX_DESCRIPTION = 2_000;

/** The description. The rest of a long one is in a fold. */
function Lead({ description }: { description: string }) {
  if (description.length <= MAX_LEAD) {
    return (
      <p class="lead">
        <Text value={description} />
      </p>
    );
  }
  const cut = cutText(description, MAX_LEAD).slice(0, -1);
  const start = /^.*(?=\s)/s.exec(cut)?.[0] ?? cut;
  return (
    <details class="lead">
      <summary>
        <Text value={`${start} …`} />
      </summary>
      <p class="description">
        <Text value={`… ${description.slice(start.length).trim()}`} max={MAX_DESCRIPTION} />
      </p>
    </details>
  );
}

function Header({ view }: { view: FunctionView }) {
  const { name, definition, known, version } = view;
  const source = known && builtFrom(known.verdict);
  const { at } = useSite();
  const isShown = known?.release.release === known?.shown;
  return (
    <header>
      <div class="function-name" data-copy="Name of the function">
        <h1>
          <code>
            <a class="function-group" href={at(groupPath(name.group))}>
              <NamePart value={`${name.group}/`} />
            </a>
            <wbr />
            <NamePart value={name.kind} />
          </code>{' '}
          <VisibilityLabel visibility={view.visibility} />
        </h1>
      </div>
      <Lead description={definition.description} />
      <ul class="function-facts">
        <li>
          {known === undefined ? (
            <Label>{importedRelease(imageTag(definition))}</Label>
          ) : (
            <>
              <strong>{known.release.release}</strong>{' '}
              {isPrerelease(known.release.release) ? <Label>pre-release</Label> : null}{' '}
              {isShown ? (
                <span class="quiet">newest</span>
              ) : (
                <a href={at(functionPath(name))}>go to newest, {known.shown}</a>
              )}
            </>
          )}
        </li>
        {known === undefined ? null : (
          <li>
            published <Time at={known.release.publishedAt} /> by{' '}
            {known.run === undefined ? (
              <Text value={known.release.publishedBy} max={60} />
            ) : (
              <WorkflowLine run={known.run} />
            )}
          </li>
        )}
        {source === undefined ? null : (
          <li>
            <Text value={source} max={200} />
          </li>
        )}
        <li>
          <Text value={version.version.license} max={60} />
        </li>
      </ul>
      <Summary view={view} />
    </header>
  );
}
