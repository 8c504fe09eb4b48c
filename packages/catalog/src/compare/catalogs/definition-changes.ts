import {
  canonicalRelease,
  compareReleases,
  type FunctionDefinition,
  type FunctionVersion,
  type ImageReference,
  parseImageReference,
  RUNTIME_KINDS,
  releaseFromPath,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { CatalogRuntime } from '../../runtimes/runtime.js';
import { changedReferences } from '../../runtimes/runtimes.js';
import type { Change, CompatibilityRule } from '../rules.js';
import type { FunctionChanges } from './changes.js';
import type { CatalogChangeClass } from './classes.js';

/** Rules with a fixed class. Other rules are about the accepted functionConfig. */
const RULE_CLASSES: Partial<Record<CompatibilityRule, CatalogChangeClass>> = {
  'version-removed': 'version-removed',
  'alpha-version-removed': 'alpha-version-removed',
  'version-added': 'version-added',
  'network-required': 'network-needed',
  'storage-required': 'storage-needed',
  'registry-changed': 'registry-changed',
  'repository-changed': 'registry-changed',
  'runtime-changed': 'runtime-changed',
  'digest-removed': 'digest-removed',
  'digest-added': 'digest-added',
  'platform-removed': 'platform-removed',
  'platform-added': 'platform-added',
  'idempotent-removed': 'idempotent-removed',
  'idempotent-added': 'idempotent-added',
  'license-changed': 'license-changed',
  'publisher-changed': 'publisher-changed',
};

const EFFECT_CLASSES = {
  breaking: 'schema-breaking',
  review: 'schema-review',
  compatible: 'schema-compatible',
} as const;

/** Maximum number of listed texts. Further texts are counted. */
const MAX_TEXTS = 3;

/** The permissions of a container, with the classes for requiring them and for no longer requiring them. */
export const CAPABILITIES = [
  { field: 'requireNetwork', needed: 'network-needed', dropped: 'network-dropped', what: 'network access' },
  {
    field: 'requireStorageMount',
    needed: 'storage-needed',
    dropped: 'storage-dropped',
    what: 'mounted storage',
  },
] as const;

/** Maps the changes of two definitions to classes of catalog changes. */
export function addDefinitionChanges(
  before: FunctionDefinition,
  after: FunctionDefinition,
  found: readonly Change[],
  changes: FunctionChanges,
): void {
  const old = new Map(before.versions.map((version) => [version.name, version]));
  const now = new Map(after.versions.map((version) => [version.name, version]));
  const texts: string[] = [];
  for (const change of found) {
    const { rule, version: name, message, effect } = change;
    const details = { rule, ...defined({ version: name }) };
    const [was, is] = [old.get(name ?? ''), now.get(name ?? '')];
    if (rule === 'documentation-changed') {
      texts.push(name === undefined ? message : `${name}: ${message}`);
    } else if (rule === 'image-changed' || rule === 'download-changed') {
      if (was !== undefined && is !== undefined) addMove(was, is, change, changes);
    } else if (rule === 'capability-dropped') {
      if (was !== undefined && is !== undefined) addDroppedCapabilities(was, is, changes);
    } else {
      const values = changedValues(change, { before, after, was, is });
      changes.add(RULE_CLASSES[rule] ?? EFFECT_CLASSES[effect], message, { ...details, ...values });
    }
  }
  if (texts.length === 0) return;
  const more = texts.length > MAX_TEXTS ? `; and ${texts.length - MAX_TEXTS} more` : '';
  changes.add('texts-changed', `${texts.slice(0, MAX_TEXTS).join('; ')}${more}`);
}

export type ReleaseChangeClass = 'upgraded' | 'downgraded' | 'release-changed';

/** Classifies a changed release or tag. */
export function releaseChangeClass(
  before: string | undefined,
  after: string | undefined,
): ReleaseChangeClass {
  const [was, is] = [canonicalRelease(before ?? ''), canonicalRelease(after ?? '')];
  const order = was === undefined || is === undefined ? 0 : compareReleases(is, was);
  return order > 0 ? 'upgraded' : order < 0 ? 'downgraded' : 'release-changed';
}

/** Reports a changed release or tag, and a tag only if it adds information to the release. */
export function addReleaseChange(
  what: string,
  before: string | undefined,
  after: string | undefined,
  details: { version: string; rule?: CompatibilityRule },
  changes: FunctionChanges,
): void {
  const name = releaseChangeClass(before, after);
  const known = changes.has('upgraded', details.version) || changes.has('downgraded', details.version);
  if (changes.has(name, details.version) || (known && name === 'release-changed')) return;
  const message = `${what} changed from ${before ?? 'none'} to ${after ?? 'none'}`;
  changes.add(name, message, { ...details, before, after });
}

/** Executables and scripts of a registry are named as images are. */
function readOciAddress(address: string): ImageReference | undefined {
  return address.startsWith('oci://') ? parseImageReference(address.slice('oci://'.length)) : undefined;
}

/**
 * Classifies a reference: another tag or URL is another release, and the same one with another digest is a rebuild.
 */
function addMove(
  was: FunctionVersion,
  is: FunctionVersion,
  { rule, at, message }: Change,
  changes: FunctionChanges,
): void {
  const details = { version: is.name, rule };
  if (rule === 'image-changed') {
    const [old, now] = [was.runtime.container, is.runtime.container].map((container) =>
      parseImageReference(container?.image ?? ''),
    );
    if (!old?.ok || !now?.ok) return;
    if (old.tag !== now.tag) {
      addReleaseChange('the image tag', old.tag, now.tag, details, changes);
      return;
    }
    const { before, after } = referencesAt(at, was, is);
    changes.add('rebuilt', message, { ...details, before: before?.digest, after: after?.digest });
    return;
  }
  const { before, after } = referencesAt(at, was, is);
  if (before?.address === undefined || after?.address === undefined) return;
  if (before.address === after.address) {
    changes.add('rebuilt', message, { ...details, before: before.digest, after: after.digest });
    return;
  }
  const [from, to] = [before.address, after.address].map(readOciAddress);
  if (from?.ok && to?.ok && from.host === to.host && from.repository === to.repository) {
    const isKnown = changes.has('upgraded', is.name) || changes.has('downgraded', is.name);
    if (from.tag !== to.tag) addReleaseChange('the tag', from.tag, to.tag, details, changes);
    else if (!isKnown)
      changes.add('rebuilt', message, { ...details, before: before.digest, after: after.digest });
    return;
  }
  const [old, now] = [before.address, after.address].map(releaseFromPath);
  if (old !== undefined && now !== undefined && old !== now) {
    addReleaseChange('the downloaded version', old, now, details, changes);
  } else {
    const addresses = { before: before.address, after: after.address };
    changes.add('release-changed', message, { ...details, ...addresses });
  }
}

function addDroppedCapabilities(was: FunctionVersion, is: FunctionVersion, changes: FunctionChanges): void {
  for (const { field, dropped, what } of CAPABILITIES) {
    const [asked, asks] = [was, is].map(({ runtime }) => runtime.container?.[field] === true);
    if (!asked || asks) continue;
    changes.add(dropped, `the container no longer requires ${what}`, {
      version: is.name,
      rule: 'capability-dropped',
    });
  }
}

/** Returns the old and the new value of a change. */
function changedValues(
  { rule, at }: Change,
  {
    before,
    after,
    was,
    is,
  }: {
    before: FunctionDefinition;
    after: FunctionDefinition;
    was: FunctionVersion | undefined;
    is: FunctionVersion | undefined;
  },
): { before?: string | undefined; after?: string | undefined } {
  if (rule === 'publisher-changed') return { before: before.publisher, after: after.publisher };
  if (was === undefined || is === undefined) return {};
  if (rule === 'license-changed') return { before: was.license, after: is.license };
  const references = referencesAt(at, was, is);
  if (rule === 'digest-removed' || rule === 'digest-added') {
    return { before: references.before?.digest, after: references.after?.digest };
  }
  if (rule !== 'registry-changed' && rule !== 'repository-changed') return {};
  return { before: references.before?.address, after: references.after?.address };
}

/** Returns the object of a change: an image, the executable of a platform, or a script. */
function referencesAt(
  at: Change['at'],
  was: FunctionVersion,
  is: FunctionVersion,
): ReturnType<CatalogRuntime<never, never>['changed']> {
  const runtime = at.indexOf('runtime');
  const kind = RUNTIME_KINDS.find((one) => one === at[runtime + 1]);
  if (kind === undefined) return {};
  return changedReferences(was.runtime, is.runtime, kind, at.slice(runtime + 2));
}
