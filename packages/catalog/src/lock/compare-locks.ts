import { compareText } from '@krmhub/schema/compare-text';
import { defined } from '@krmhub/schema/defined';
import { type ReleaseChangeClass, releaseChangeClass } from '../compare/catalogs/definition-changes.js';
import { isSameContent } from '../compare/content.js';
import { compareLockedFunctions, type Lock, type LockedFunction } from './lock.js';

/** A function that one of two locks has, or that they have differently. */
export interface LockChange {
  type: 'added' | 'removed' | 'changed';
  catalog: string;
  apiVersion: string;
  kind: string;
  before?: LockedFunction;
  after?: LockedFunction;
}

/** Lists the functions that differ in the second lock, in the order of its file. Ignores catalogs and times. */
export function compareLocks(before: Lock | undefined, after: Lock): LockChange[] {
  const old = new Map((before?.functions ?? []).map((one) => [lockKey(one), one]));
  const now = new Map(after.functions.map((one) => [lockKey(one), one]));
  const names = new Map([...old, ...now]);
  return [...names.values()]
    .sort(compareLockedFunctions)
    .flatMap(({ catalog, apiVersion, kind }): LockChange[] => {
      const key = lockKey({ catalog, apiVersion, kind });
      const [was, is] = [old.get(key), now.get(key)];
      const name = { catalog, apiVersion, kind };
      if (was === undefined) return [{ type: 'added', ...name, after: is! }];
      if (is === undefined) return [{ type: 'removed', ...name, before: was }];
      return isSameContent(whatRuns(was), whatRuns(is))
        ? []
        : [{ type: 'changed', ...name, before: was, after: is }];
    });
}

/** An image that one of two locks has, or that they have with other digests. */
export interface ImageChange {
  type: LockChange['type'];
  image: string;
  /** Digests. */
  before?: string;
  after?: string;
  /** The tags that a constraint meant. */
  beforeTag?: string;
  afterTag?: string;
  /** Of a change: as `krmhub catalog diff` calls it. */
  class?: 'rebuilt' | ReleaseChangeClass;
}

/** Lists the images that differ in the second lock, in the order of its file. */
export function compareLockedImages(before: Lock | undefined, after: Lock): ImageChange[] {
  const images = (lock: Lock | undefined) => new Map((lock?.images ?? []).map((one) => [one.image, one]));
  const [old, now] = [images(before), images(after)];
  return [...new Set([...old.keys(), ...now.keys()])].sort(compareText).flatMap((image): ImageChange[] => {
    const [was, is] = [old.get(image), now.get(image)];
    const values = defined({
      before: was?.digest,
      after: is?.digest,
      beforeTag: was?.tag,
      afterTag: is?.tag,
    });
    if (was === undefined) return [{ type: 'added', image, ...values }];
    if (is === undefined) return [{ type: 'removed', image, ...values }];
    if (was.digest === is.digest && was.tag === is.tag) return [];
    const name = was.tag === is.tag ? 'rebuilt' : releaseChangeClass(was.tag, is.tag);
    return [{ type: 'changed', image, ...values, class: name }];
  });
}

function whatRuns(fn: LockedFunction): Partial<LockedFunction> {
  const { serial: _serial, notIn: _notIn, range: _range, ignoredMinAge: _ignored, ...rest } = fn;
  return rest;
}

/** The key of a lock entry: a kind of functionConfig in a catalog. */
export function lockKey({
  catalog,
  apiVersion,
  kind,
}: Pick<LockedFunction, 'catalog' | 'apiVersion' | 'kind'>): string {
  return JSON.stringify([catalog, apiVersion, kind]);
}
