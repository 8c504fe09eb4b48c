import { fillPath } from '@krmhub/api/paths';
import type { FunctionRecord, ReleaseHead, SigningPolicy } from '@krmhub/catalog';
import { type Derivation, type DeriveDeps, oncePerThread } from '../../derive/derivation.js';
import { readDefinition } from '../../derive/stored-definition.js';
import {
  compareReleasesPath,
  type FunctionTab,
  functionFeedPath,
  functionPath,
  functionTabPath,
} from '../addresses.js';
import { readAssets } from '../assets.js';
import { renderPage } from '../page-response.js';
import { createSite, type Site } from '../site.js';
import { CachedViews } from './cached-views.js';
import { ComparePage } from './compare-page.js';
import { FunctionPage } from './function-page.js';
import type { FunctionReading, FunctionView } from './read-function.js';
import type { StoredScript } from './view-script.js';

const siteOf = oncePerThread(({ config }): Site => createSite(config, readAssets()));
const viewsOf = oncePerThread((deps) => new CachedViews(deps));

/** The page of a function or of one of its releases. */
export const FUNCTION_DOCUMENT: Derivation<{
  reading: FunctionReading;
  /** The script of the displayed version, if the registry has it. */
  script?: StoredScript;
  policies: readonly SigningPolicy[];
  /** Whether the address names the release. */
  ofRelease: boolean;
  tab: FunctionTab;
  /** The last release of the previous page of releases. */
  after?: string;
  isIndexed: boolean;
}> = {
  name: 'function-page',
  async derive(deps, { reading, script, policies, ofRelease, tab, after, isIndexed }) {
    const view = {
      ...(await readView(deps, { reading, script, tab })),
      ...(ofRelease && reading.known !== undefined ? { asked: reading.known.release.release } : {}),
    };
    const { name, known, definition } = view;
    const title = `${name.group}/${name.kind}`;
    return renderPage(siteOf(deps), {
      head: {
        title: `${ofRelease ? `${title} ${known?.release.release}` : title}${tab === 'overview' ? '' : `: ${tab}`}`,
        description: definition.description,
        path: functionTabPath(name, tab),
        image: `${functionPath(name)}/card.png`,
        section: 'functions',
        isIndexed,
        ...(known === undefined
          ? {}
          : { feeds: [{ title: `Releases of ${title}`, path: functionFeedPath(name) }] }),
      },
      body: <FunctionPage view={view} policies={policies} tab={tab} after={after} />,
    });
  },
};

async function readView(
  deps: DeriveDeps,
  { reading, script, tab }: { reading: FunctionReading; script: StoredScript | undefined; tab: FunctionTab },
): Promise<FunctionView> {
  const views = viewsOf(deps);
  const { known, name, stored, version: shown } = reading;
  const definition = await readDefinition(deps, stored);
  const version = definition.versions.find((one) => one.name === shown)!;
  const { publicUrl } = deps.config;
  const schemaUrl =
    publicUrl && publicUrl + fillPath('functionConfigSchema', { ...name, version: version.name });
  const digest = 'entry' in stored ? stored.entry : stored.digest;
  return {
    ...reading,
    definition,
    ...(known && { known: { ...known, ...(await readReadme(views, known.release)) } }),
    version: views.version(digest, definition, version, schemaUrl),
    ...(script && { script: await views.script(script) }),
    ...(tab === 'source' && { text: await views.text(digest, definition, 'entry' in stored) }),
  };
}

async function readReadme(
  views: CachedViews,
  { readme }: ReleaseHead,
): Promise<Pick<NonNullable<FunctionView['known']>, 'readme'>> {
  return readme === undefined ? {} : { readme: await views.readme(readme) };
}

/** The page that compares two releases of a function. */
export const COMPARE_DOCUMENT: Derivation<{
  fn: FunctionRecord;
  from: ReleaseHead;
  to: ReleaseHead;
  isIndexed: boolean;
}> = {
  name: 'compare-page',
  async derive(deps, { fn, from, to, isIndexed }) {
    const changes = await viewsOf(deps).changes(from, to, (release) => readDefinition(deps, release));
    const name = `${fn.group}/${fn.kind}`;
    const between = { from: from.release, to: to.release };
    return renderPage(siteOf(deps), {
      head: {
        title: `${name}: ${between.from} to ${between.to}`,
        description: `What changes for users of ${name} from ${between.from} to ${between.to}.`,
        path: compareReleasesPath(fn, between),
        section: 'functions',
        isIndexed,
      },
      body: <ComparePage name={fn} releases={fn.releases} from={from} to={to} changes={changes} />,
    });
  },
};
