import type { JsonObject } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { toYaml } from '../render/to-yaml.js';
import { platformsDocument } from '../runtimes/lock-fields.js';
import { findRules } from '../runtimes/runtimes.js';
import {
  LOCK_API_VERSION,
  LOCK_KIND,
  type Lock,
  type LockedCatalog,
  type LockedFunction,
  type LockedImage,
  sortLock,
} from './lock.js';

const HEADER = '# `krmhub lock` writes this file. To upgrade functions: krmhub lock --upgrade\n';

/**
 * Renders a lock file. The bytes depend on nothing but the lock, and each fact is on a line of its own, so that a
 * change of one function changes only its lines.
 */
export function writeLock(lock: Lock): string {
  return HEADER + toYaml(lockDocument(lock));
}

/** The document that is read as this lock. */
export function lockDocument(lock: Lock): JsonObject {
  const { catalogs, functions, images = [] } = sortLock(lock);
  return {
    apiVersion: LOCK_API_VERSION,
    kind: LOCK_KIND,
    catalogs: catalogs.map(catalogDocument),
    functions: functions.map(functionDocument),
    ...defined({ images: images.length === 0 ? undefined : images.map(imageDocument) }),
  };
}

function catalogDocument({ reference, name, serial, digest, key }: LockedCatalog): JsonObject {
  return defined({ reference, name, serial, digest, key });
}

function imageDocument({ image, tag, digest, platforms }: LockedImage): JsonObject {
  return defined({ image, tag, digest, platforms: platformsDocument(platforms) });
}

function functionDocument(locked: LockedFunction): JsonObject {
  const { catalog, apiVersion, kind, serial, range, release, ignoredMinAge, definition, signedBy } = locked;
  const { notIn = [], runtime } = locked;
  const before = notIn.length === 0 ? undefined : [...notIn].sort();
  return {
    ...defined({ catalog, apiVersion, kind, serial, range, release }),
    ...defined({
      ignoredMinAge: ignoredMinAge && {
        minAge: ignoredMinAge.minAge,
        publishedAt: ignoredMinAge.publishedAt,
      },
    }),
    ...defined({ definition, signedBy, notIn: before }),
    [runtime.type]: findRules(runtime).lockDocument(runtime),
  };
}
