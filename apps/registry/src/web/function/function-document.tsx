import { fillPath } from '@krmhub/api/paths';
import type { FunctionRecord, ReleaseHead, SigningPolicy } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { type Derivation, type DeriveDeps, oncePerThread } from '../../workers/derive/derivation.js';
import { readDefinition } from '../../workers/derive/stored-definition.js';
import {
  catalogPath,
  compareReleasesPath,
  type FunctionTab,
  functionFeedPath,
  functionPath,
  functionTabPath,
  imagePath,
} from '../addresses.js';
import { readAssets } from '../assets.js';
import { renderPage } from '../page-response.js';
import { UNKNOWN_URL } from '../parts/registry-address.js';
import { createSite, type Site } from '../site.js';
import { readRecordedExamples, type StoredReport } from '../try/recorded-examples.js';
import { type CachedViews, cachedViews } from './cached-views.js';
import { ComparePage } from './compare-page.js';
import { FunctionPage } from './function-page.js';
import type { FunctionReading, FunctionView } from './read-function.js';
import { type StoredImage, storedImageType } from './release-images.js';
import { releasesOfPage } from './releases-section.js';
import type { StoredScript } from './view-script.js';

const getSite = oncePerThread(({ config }): Site => createSite(config, readAssets()));

/** The page of a function or of one of its releases. */
export const FUNCTION_DOCUMENT: Derivation<{
  reading: FunctionReading;
  /** The script of the displayed version, if the registry has it. */
  script?: StoredScript;
  isScriptHere?: boolean;
  /** The report whose examples the page shows. */
  report?: StoredReport;
  /** The images that the README names and the release has. */
  images?: readonly StoredImage[];
  policies: readonly SigningPolicy[];
  /** Whether the address names the release. */
  ofRelease: boolean;
  tab: FunctionTab;
  /** The last release of the previous page of releases. */
  after?: string;
  isIndexed: boolean;
}> = {
  name: 'function-page',
  async derive(
    deps,
    { reading, script, isScriptHere, report, images = [], policies, ofRelease, tab, after, isIndexed },
  ) {
    const view = {
      ...(await readView(deps, { reading, script, images, tab, after })),
      ...defined({
        isScriptHere,
        examples: report && (await readRecordedExamples(deps, report)),
        asked: ofRelease && reading.known !== undefined ? reading.known.release.release : undefined,
      }),
    };
    const { name, known, definition } = view;
    const title = `${name.group}/${name.kind}`;
    return renderPage(getSite(deps), {
      head: {
        title: `${ofRelease ? `${title} ${known?.release.release}` : title}${tab === 'overview' ? '' : `: ${tab}`}`,
        description: definition.description,
        path: functionTabPath(name, tab),
        image: `${functionPath(name)}/card.png`,
        section: 'functions',
        isIndexed,
        ...defined({
          feeds:
            known === undefined
              ? undefined
              : [{ title: `Releases of ${title}`, path: functionFeedPath(name) }],
        }),
      },
      body: <FunctionPage view={view} policies={policies} tab={tab} after={after} />,
    });
  },
};

async function readView(
  deps: DeriveDeps,
  {
    reading,
    script,
    images,
    tab,
    after,
  }: {
    reading: FunctionReading;
    script: StoredScript | undefined;
    images: readonly StoredImage[];
    tab: FunctionTab;
    after: string | undefined;
  },
): Promise<FunctionView> {
  const views = cachedViews(deps);
  const { known, name, stored, version: shown } = reading;
  const definition = await readDefinition(deps, stored);
  const version = definition.versions.find((one) => one.name === shown)!;
  const { publicUrl } = deps.config;
  const catalog = findCatalogOfRelease(reading);
  const addresses = {
    schema: publicUrl && publicUrl + fillPath('functionConfigSchema', { ...name, version: version.name }),
    catalog: catalog && (publicUrl ?? UNKNOWN_URL) + catalogPath(catalog),
  };
  const digest = 'entry' in stored ? stored.entry : stored.digest;
  return {
    ...reading,
    definition,
    ...defined({
      rows: tab === 'releases' ? await releaseRows(deps, reading, after) : undefined,
      known: known ? { ...known, ...(await readReadme(deps, views, known.release, images)) } : undefined,
    }),
    version: views.version(digest, definition, version, addresses),
    ...defined({
      script: script ? await views.script(script) : undefined,
      text: tab === 'source' ? await views.text(digest, definition, 'entry' in stored) : undefined,
    }),
  };
}

/** Loads a Markdown parser, which a registry does not need to start. */
async function releaseRows(deps: DeriveDeps, { name, releases }: FunctionReading, after: string | undefined) {
  const { readRows } = await import('./release-rows.js');
  return readRows(deps, name, releases, releasesOfPage(releases, after).shown);
}

/** Returns a catalog with the displayed release, or with the displayed upstream entry. */
function findCatalogOfRelease({ known, catalogs, entries, version }: FunctionReading): string | undefined {
  if (known === undefined) return entries[0]?.catalog;
  const having = catalogs.filter(({ versions }) =>
    versions.some(({ name, release }) => name === version && release === known.release.release),
  );
  return having.find(({ catalog }) => catalog === 'default')?.catalog ?? having[0]?.catalog;
}

async function readReadme(
  deps: DeriveDeps,
  views: CachedViews,
  release: ReleaseHead,
  images: readonly StoredImage[],
): Promise<Pick<NonNullable<FunctionView['known']>, 'readme' | 'hasAttachedImages'>> {
  if (release.readme === undefined) return {};
  const { at } = getSite(deps);
  const shown: StoredImage[] = [];
  for (const image of images) {
    if ((await storedImageType(deps.artifacts, image.digest)) !== undefined) shown.push(image);
  }
  const sources = new Map(shown.map(({ path, digest }) => [path, at(imagePath(release, digest))]));
  return {
    readme: await views.readme(release.readme, sources),
    hasAttachedImages: shown.some(({ isAttached }) => isAttached),
  };
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
    const changes = await cachedViews(deps).changes(from, to, (release) => readDefinition(deps, release));
    const name = `${fn.group}/${fn.kind}`;
    const between = { from: from.release, to: to.release };
    return renderPage(getSite(deps), {
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
