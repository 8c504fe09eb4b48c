import { canonicalRelease, newestRelease } from '@krmhub/schema/release';

/** A tag that names a release, of the whole repository or of one folder. */
export interface ReleaseTag {
  /** `functions/set-labels/v0.2.1`. */
  tag: string;
  /** `functions/set-labels`, or `set-labels`; empty for the whole repository. */
  folder: string;
  /** `v0.2.1`. */
  release: string;
}

/** A tag as forges and monorepos write them. What git could take for something else is none. */
const RELEASE_TAG =
  /^((?:[A-Za-z0-9_][A-Za-z0-9._-]*\/)*)(v?\d+\.\d+(?:\.\d+)?(?:-[0-9A-Za-z]+(?:[.-][0-9A-Za-z]+)*)?)$/;

/** The newest release of each folder that has tags of its own, and of the whole repository. */
export function newestReleaseTags(tags: Iterable<string>): ReleaseTag[] {
  const newest = new Map<string, ReleaseTag>();
  for (const tag of tags) {
    const [, prefix, release] = RELEASE_TAG.exec(tag) ?? [];
    if (prefix === undefined || release === undefined || /\.\.|\.lock(?:\/|$)/.test(tag)) continue;
    const canonical = canonicalRelease(release);
    if (canonical === undefined) continue;
    const folder = prefix.slice(0, -1);
    const before = newest.get(folder);
    const earlier = before === undefined ? undefined : canonicalRelease(before.release)!;
    if (earlier !== undefined && (earlier === canonical || newestRelease([earlier, canonical]) === earlier))
      continue;
    newest.set(folder, { tag, folder, release });
  }
  return [...newest.values()].sort((a, b) => (a.folder < b.folder ? -1 : 1));
}

/** The release tag of a file: that of the deepest folder that has one. Folders match by their last names. */
export function tagOfFile(tags: readonly ReleaseTag[], path: string): ReleaseTag | undefined {
  const folder = `/${path.split('/').slice(0, -1).join('/')}/`;
  const matching = tags.filter((one) => one.folder === '' || folder.includes(`/${one.folder}/`));
  return matching.reduce<ReleaseTag | undefined>(
    (best, one) => (best === undefined || one.folder.length > best.folder.length ? one : best),
    undefined,
  );
}
