import { isHigher, parseFunction, planImageUpdate, releaseOfImage, updateSize } from '@krmhub/catalog';
import { imageTags, tagDigest } from '@krmhub/consume/resolve/images/newest-image';
import type { Resolver } from '@krmhub/consume/resolve/resolution';
import type { OciClient } from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { fullRepository, parseImageReference } from '@krmhub/schema/image-reference';
import {
  changesTo,
  functionPage,
  type HistoryRelease,
  type HistoryRequest,
  planFrom,
  type UsedRelease,
} from './catalog-histories.js';
import {
  type JudgeContext,
  type Judged,
  knownVersion,
  releaseNotices,
  someChanges,
} from './judge-function.js';
import type { ImageUse } from './list-uses.js';
import type { KnownVersion } from './outdated-report.js';

/** A function of a catalog whose image has the same repository. */
export interface MatchedFunction extends HistoryRequest {
  /** API version of the functionConfig. */
  version: string;
}

type ImageMatcher = Pick<Resolver, 'matchImage'>;

/** Asks the registries of images, and the catalogs for their functions, once for each question. */
export class ImageSources {
  readonly #client: () => Promise<OciClient>;
  readonly #resolver: ImageMatcher;
  readonly #answers = new Map<string, Promise<unknown>>();

  constructor(client: () => Promise<OciClient>, resolver: ImageMatcher) {
    this.#client = client;
    this.#resolver = resolver;
  }

  tags(repository: string): Promise<string[]> {
    return this.#once(['tags', fullRepository(repository)], async () =>
      imageTags(await this.#client(), repository),
    );
  }

  /** Undefined if the tag does not exist. */
  digest(repository: string, tag: string): Promise<Digest | undefined> {
    return this.#once(['digest', fullRepository(repository), tag], async () =>
      tagDigest(await this.#client(), repository, tag),
    );
  }

  /** Returns the function of the catalogs with an image of the same repository. */
  match({ repository, digest, catalogs }: ImageUse): Promise<MatchedFunction | undefined> {
    const names = catalogs.map(({ text, folder }) => [text, folder]);
    return this.#once(['match', fullRepository(repository), digest, names], async () => {
      const found = await this.#resolver.matchImage(repository, digest, catalogs);
      const catalog = catalogs.find(({ text }) => text === found?.catalog);
      return found && catalog && { catalog, ...parseFunction(found) };
    });
  }

  #once<Answer>(question: unknown, ask: () => Promise<Answer>): Promise<Answer> {
    const key = JSON.stringify(question);
    const answer = (this.#answers.get(key) as Promise<Answer> | undefined) ?? ask();
    this.#answers.set(key, answer);
    return answer;
  }
}

/** Says what there is for an image that a package names itself: releases of a catalog, else tags. */
export async function judgeImage(
  use: ImageUse,
  context: JudgeContext & { images: ImageSources },
): Promise<Judged> {
  const { image, apiVersion, kind, constraint } = use;
  const base = { image, ...defined({ apiVersion, kind, range: constraint }) };
  const { repository, digest } = use;
  try {
    return { ...base, ...(await judge(use, context)) };
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    context.fail(repository, error);
    const current = digest === undefined ? undefined : lockedImage(use);
    const state = digest === undefined ? 'not-pinned' : 'unknown';
    return { ...base, ...defined({ locked: current }), state, notices: [], problem: error.message };
  }
}

async function judge(use: ImageUse, context: JudgeContext & { images: ImageSources }): Promise<Judged> {
  const { repository, digest, constraint, digestFrom } = use;
  const { images, histories } = context;
  const matched = await images.match(use);
  const history = matched && (await histories.find(matched));
  const needsTags = history === undefined || constraint !== undefined;
  const plan = planImageUpdate(use, needsTags ? await images.tags(repository) : []);
  const wantedTag =
    digestFrom === 'reference'
      ? undefined
      : (plan.wanted ?? (constraint === undefined ? 'latest' : undefined));
  const now = wantedTag === undefined ? digest : await images.digest(repository, wantedTag);
  const wanted: KnownVersion = defined({ tag: wantedTag ?? plan.wanted, digest: now });
  const locked = digest === undefined ? undefined : lockedImage(use);
  if (history === undefined) {
    const newest = plan.newest === undefined ? undefined : await newestTag(use, plan.newest, images);
    const isNewer = newest !== undefined && isNewerTag(use, plan.current, newest);
    return {
      ...defined({ locked, wanted, newest, update: updateOf(plan.current, plan.newest) }),
      state: imageState(use, wanted, isNewer),
      notices: [],
    };
  }
  const current = releaseOfImage(history.releases, { repository, tag: plan.current, digest });
  const { version, catalog } = matched!;
  const used = { version, locked: current?.digest, now: context.now };
  const { newest } = planFrom(histories, { ...used, catalog, history });
  const isNewer = newest !== undefined && newest.digest !== current?.digest;
  const page = await functionPage(histories, catalog, history);
  return {
    catalog: catalog.text,
    ...defined({ page }),
    ...defined({
      locked: locked && (current === undefined ? locked : { ...locked, ...knownVersion(current) }),
      wanted,
      newest: newest && releaseImage(newest, repository),
      update: updateOf(current?.release ?? plan.current, newest?.release),
      changes: someChanges(changesTo(history, usedImage(use, matched!), newest)),
    }),
    state: imageState(use, wanted, isNewer),
    notices: releaseNotices(current),
  };
}

/** Names the release of an image by the image. */
export function usedImage(use: ImageUse, { version }: MatchedFunction): UsedRelease {
  const { repository, digest, lockedTag, tag = lockedTag } = use;
  const named = tag === undefined ? repository : `${repository}:${tag}`;
  return { from: digest === undefined ? named : `${named}@${digest}`, version };
}

function imageState(
  { digest, digestFrom }: ImageUse,
  wanted: KnownVersion,
  isNewer: boolean,
): Judged['state'] {
  if (digest === undefined) return 'not-pinned';
  if (digestFrom === 'lock' && wanted.digest !== digest) return 'behind';
  return isNewer ? 'newer' : 'current';
}

/** The digest of a newest tag is asked for only where it is the only thing to compare. */
async function newestTag(use: ImageUse, tag: string, images: ImageSources): Promise<KnownVersion> {
  if (use.tag !== undefined || use.constraint !== undefined) return { tag };
  return { tag, ...defined({ digest: await images.digest(use.repository, tag) }) };
}

function isNewerTag({ digest }: ImageUse, current: string | undefined, newest: KnownVersion): boolean {
  if (newest.digest !== undefined) return newest.digest !== digest;
  return newest.tag !== undefined && current !== undefined && isHigher(newest.tag, current);
}

function updateOf(before: string | undefined, after: string | undefined): Judged['update'] {
  return before === undefined || after === undefined ? undefined : updateSize(before, after);
}

function lockedImage({ digest, tag, lockedTag }: ImageUse): KnownVersion {
  return defined({ tag: lockedTag ?? tag, digest });
}

/** A release with its image, if that is in the same repository. */
function releaseImage(release: HistoryRelease, repository: string): KnownVersion {
  const image = release.images?.find((text) => fullRepository(text) === fullRepository(repository));
  const reference = image === undefined ? undefined : parseImageReference(image);
  const { tag, digest } = reference?.ok === true ? reference : {};
  return { ...knownVersion(release), ...defined({ tag, digest: digest as Digest | undefined }) };
}
