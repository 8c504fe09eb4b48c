import { renderEntry } from '@krmhub/catalog/render/render';
import { pinRuntime, type ServedImage } from '@krmhub/catalog/resolve/pin-runtime';
import type { PinnedRuntime } from '@krmhub/catalog/runtimes/runtimes';
import { defined } from '@krmhub/schema/defined';
import type { FunctionDefinition, FunctionRuntime, FunctionVersion } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { EntryStore } from '../cache/cache-writer.js';
import type { NamedCatalog } from '../references/parse-catalog.js';
import { hasTrustFile } from '../trust/has-trust-file.js';
import type { EntrySigner } from '../trust/judge-entry.js';
import {
  formatRelease,
  type RegistryRelease,
  type ReleaseState,
  readReleaseState,
} from '../trust/registry-release.js';
import { rememberSeen } from './locked/seen-functions.js';
import type { OpenedCatalog } from './open/open-context.js';
import type { EntryOrigin, ReadState } from './read/catalog-reader.js';
import type { CatalogState, ChosenRelease, Resolution } from './resolution.js';
import { catalogError, ImageError, imageError } from './resolve-errors.js';
import type { SearchContext, SearchedFunction } from './search-context.js';

export interface MatchedEntry {
  request: SearchedFunction;
  catalog: NamedCatalog;
  opened: OpenedCatalog;
  state: ReadState;
  store: EntryStore;
  definition: FunctionDefinition;
  version: FunctionVersion;
  origin?: EntryOrigin;
  /** Catalogs that were searched before. */
  searched: CatalogState[];
  /** What the settings of the package chose; absent without settings for the function. */
  chosen?: ChosenRelease;
  /** The newest state of the catalog, if the entry is of an earlier snapshot. */
  current?: ReadState;
}

/** Judges an entry by the policies of this user, and pins what it runs. */
export async function resolveEntry(context: SearchContext, match: MatchedEntry): Promise<Resolution> {
  const { request, catalog, opened, state, store, definition, version, origin, searched } = match;
  const { chosen, current = state } = match;
  const { text } = catalog.reference;
  try {
    const release = registryRelease(match);
    const lifecycle = await lifecycleWarnings(context, match, release);
    const signer = await requireSigner(context, {
      group: definition.group,
      kind: definition.names.kind,
      name: version.name,
      version,
      ...defined({ release }),
    });
    const { runtime, warnings } = await pin(context, version.runtime);
    const digest = origin?.definition ?? renderEntry(definition).digest;
    await rememberSeen(
      store,
      { ...request, catalog },
      { definition: digest, digest: state.digest, entry: definition, runtime: version.runtime },
    );
    return {
      ...request,
      catalog: { reference: text, ...current, trustedBy: opened.trustedBy },
      searched,
      entry: definition,
      ...defined({ release: origin?.release }),
      definition: digest,
      ...signer,
      ...defined({ chosen }),
      runtime,
      inline: false,
      warnings: [...opened.warnings, ...lifecycle, ...(chosen?.warnings ?? []), ...warnings].map(
        escapeControls,
      ),
    };
  } catch (error) {
    if (error instanceof ImageError) throw imageError(request, error);
    if (error instanceof KrmhubError) throw catalogError(request, text, error);
    throw error;
  }
}

/** The release in the registry of the catalog; undefined for an entry that does not come from there. */
function registryRelease({ catalog, definition, origin }: MatchedEntry): RegistryRelease | undefined {
  if (catalog.registry === undefined || origin?.release === undefined) return undefined;
  return {
    registry: catalog.registry.url,
    group: definition.group,
    kind: definition.names.kind,
    release: origin.release,
    definition: origin.definition,
  };
}

/** Returns who signed a release, if a policy of this user requires that. Throws `untrusted`. */
export async function requireSigner(
  context: SearchContext,
  entry: Parameters<typeof import('../trust/judge-entry.js').judgeEntry>[1],
): Promise<EntrySigner | undefined> {
  if (!(await hasTrustFile(context.io))) return undefined;
  const { judgeEntry } = await import('../trust/judge-entry.js');
  return judgeEntry(context, entry);
}

/** A single entry says the state of its release; a signed snapshot, which never changes, does not. */
async function lifecycleWarnings(
  { fetcher }: SearchContext,
  { state, origin }: MatchedEntry,
  release: RegistryRelease | undefined,
): Promise<string[]> {
  if (release === undefined || origin === undefined) return [];
  const isSigned = state.key !== undefined;
  return describeState(
    release,
    isSigned && !fetcher.isOffline ? await readReleaseState(fetcher, release) : origin,
  );
}

/** One sentence for each state of a release that a user should know. */
export function describeState(
  release: RegistryRelease,
  { yanked, deprecated, replacement }: ReleaseState,
): string[] {
  const name = formatRelease(release);
  return [
    ...(yanked === undefined ? [] : [`${name} was yanked: ${yanked}`]),
    ...(deprecated === undefined
      ? []
      : [`${name} is deprecated: ${withReplacement(deprecated, replacement)}`]),
  ];
}

/** Adds the replacement to the reason, which may be all that the reason says. */
function withReplacement(reason: string, replacement: string | undefined): string {
  return replacement === undefined || reason === `use ${replacement}`
    ? reason
    : `${reason}; use ${replacement}`;
}

/** Pins a runtime, and asks the registry of an image for what the catalog does not say. */
async function pin(
  { images, runtime: kind, platforms }: SearchContext,
  runtime: FunctionRuntime,
): Promise<{ runtime: PinnedRuntime; warnings: string[] }> {
  const planned = (image?: ServedImage) => pinRuntime(runtime, defined({ runtime: kind, image }));
  let plan = planned();
  if (plan.type === 'ask')
    plan = planned(await askFor(images, plan.reference, 'cannot resolve the tag of image'));
  if (plan.type === 'pinned' && plan.runtime.type === 'container') {
    const { image, platforms: known } = plan.runtime;
    if (platforms && known === undefined) {
      const served = await findPlatforms(images, image);
      if (typeof served === 'string') return { ...plan, warnings: [...plan.warnings, served] };
      plan = planned(served);
    }
  }
  if (plan.type === 'pinned') return plan;
  if (plan.type === 'ask') throw new TypeError('the registry was asked');
  throw new KrmhubError(plan.code, plan.reason, { hint: plan.hint });
}

async function askFor(
  images: SearchContext['images'],
  reference: string,
  what: string,
): Promise<ServedImage> {
  try {
    return await images.find(reference);
  } catch (error) {
    if (error instanceof KrmhubError) throw new ImageError(`${what} ${reference}`, error);
    throw error;
  }
}

/** The runtime is known without them, so an unreachable registry is a warning, not an error. */
async function findPlatforms(images: SearchContext['images'], image: string): Promise<ServedImage | string> {
  try {
    return await images.find(image);
  } catch (error) {
    const mayDoWithout = ['unreachable', 'unavailable', 'unauthorized', 'rate-limited'];
    if (error instanceof KrmhubError && mayDoWithout.includes(error.code)) {
      return `the platforms of its image are unknown: ${error.message}`;
    }
    throw error;
  }
}
