/** Containers: an image, and what the function may reach. The only runtime whose digest a registry can be asked for. */

import { defined } from '@krmhub/schema/defined';
import type { ContainerRuntime } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { formatValue } from '@krmhub/schema/diagnostics/format-value';
import { type Digest, isDigest } from '@krmhub/schema/digests/is-digest';
import { fullRepository, type ImageReference, parseImageReference } from '@krmhub/schema/image-reference';
import { changedReference, comparePins, pinnedDigest } from './compare-references.js';
import { type LockField, platformsDocument, readImagePlatforms } from './lock-fields.js';
import {
  CATALOG_HINT,
  type CatalogRuntime,
  pinned,
  type ReportChange,
  type RuntimePlan,
  refused,
  type ServedImage,
} from './runtime.js';

export interface PinnedContainer {
  type: 'container';
  /** `HOST/REPOSITORY@sha256:…`, of an image or of an index of images. */
  image: string;
  /** By platform, for example `linux/amd64`: the digest of its manifest. Absent where the registry was not asked. */
  platforms?: Record<string, Digest>;
  /** The catalog declares that it needs the network; the user has to allow it. */
  network: boolean;
  /** The catalog declares that it needs mounts; the user has to allow them. */
  storage: boolean;
}

const SERVED_HINT =
  'Nothing was run. Ask the operator of the registry: the registry or a proxy serves another image.';

export const container: CatalogRuntime<ContainerRuntime, PinnedContainer> = {
  programs({ image, sha256 }) {
    const inside = digestOfImage(image)?.slice('sha256:'.length);
    return [{ reference: image, ...defined({ beside: sha256, inside }) }];
  },
  rewrite: (container, rewrite) => ({ ...container, image: rewrite(container.image) }),
  order: ({ image, sha256, requireNetwork, requireStorageMount }) => ({
    image,
    ...defined({ sha256, requireNetwork, requireStorageMount }),
  }),
  withoutPlaces({ image, sha256, ...rest }) {
    const beside = sha256 === undefined ? image : `sha256:${sha256}`;
    return { ...rest, image: digestOfImage(image) ?? beside, sha256: '' };
  },
  takedownPins: ({ image, sha256 }) => [`sha256:${sha256}`, digestOfImage(image) ?? ''].filter(isDigest),
  draft: ({
    name,
  }) => `# Declare what else it needs below image: requireNetwork: true, requireStorageMount: true.
container:
  # CHANGE: the image. After you push it, \`krmhub pin\` adds its digest.
  image: registry.example.com/functions/${name}:v0.1.0
`,
  access: ({ requireNetwork, requireStorageMount }) => ({
    network: requireNetwork === true,
    storage: requireStorageMount === true,
  }),
  permissions({ requireNetwork, requireStorageMount }) {
    const network = requireNetwork === true ? 'requires network access' : 'no network access';
    const storage = requireStorageMount === true ? 'requires mounted files' : 'only its input';
    return `container: ${network}, ${storage}`;
  },
  usage: (container) =>
    pinnedImage(container) === undefined
      ? [{ text: `Its image is not a valid image reference: ${container.image}` }]
      : [],
  unsupported: {},
  compare(before, after, at, report) {
    for (const [name, rule, what] of CAPABILITIES) {
      const [asked, asks] = [before?.[name] === true, after[name] === true];
      if (asks && !asked) report(rule, [...at, name], `the container requires ${what}`);
      if (asked && !asks) report('capability-dropped', at, `the container no longer requires ${what}`);
    }
    if (before !== undefined) compareImages(before, after, [...at, 'image'], report);
  },
  changed: (before, after) => ({
    before: changedReference(before?.image, before?.sha256),
    after: changedReference(after?.image, after?.sha256),
  }),

  pin: pinContainer,
  declare: ({ image, network, storage }) => ({
    image,
    requireNetwork: network,
    requireStorageMount: storage,
  }),
  pinnedPrograms: ({ image }) => [{ uri: image, sha256: imageDigest(image) as Digest }],
  isComplete: ({ image, network, storage }) =>
    typeof image === 'string' && typeof network === 'boolean' && typeof storage === 'boolean',
  readLock,
  lockDocument: ({ image, network, storage, platforms }) => ({
    image,
    ...defined({
      // Only what is allowed is said: without them, the container has neither.
      network: network || undefined,
      storage: storage || undefined,
      platforms: platformsDocument(platforms),
    }),
  }),
  difference(locked, declared, anyPlace) {
    const isSame = anyPlace
      ? imageDigest(locked.image) === imageDigest(declared.image)
      : locked.image === declared.image;
    if (!isSame) return `the image is ${locked.image}, expected ${declared.image}`;
    return permissionDifference(locked, declared);
  },
};

const CAPABILITIES = [
  ['requireNetwork', 'network-required', 'network access'],
  ['requireStorageMount', 'storage-required', 'mounted storage'],
] as const;

/** Returns the digest after the `@` of a pinned image. */
function imageDigest(image: string): string {
  return image.slice(image.lastIndexOf('@') + 1);
}

/** Returns the digest in a reference; undefined if it has none, or is not valid. */
function digestOfImage(image: string): string | undefined {
  const reference = parseImageReference(image);
  return reference.ok ? reference.digest : undefined;
}

export type ParsedImage = Extract<ImageReference, { ok: true }>;

/**
 * Returns the parts of the reference of an image, with the digest beside it. Undefined for invalid references, which must
 * not be in commands.
 */
export function readImage({ image, sha256 }: ContainerRuntime): ParsedImage | undefined {
  const reference = parseImageReference(image);
  if (!reference.ok) return undefined;
  const beside = sha256 !== undefined && /^[a-f0-9]{64}$/.test(sha256) ? `sha256:${sha256}` : undefined;
  return { ...reference, ...defined({ digest: reference.digest ?? beside }) };
}

/** Returns the image by digest if it is known, without the tag, because podman rejects a reference with both. */
export function pinnedImage(container: ContainerRuntime): string | undefined {
  const reference = readImage(container);
  if (reference?.digest === undefined) return reference && container.image;
  return `${reference.host === undefined ? '' : `${reference.host}/`}${reference.repository}@${reference.digest}`;
}

function pinContainer(
  container: ContainerRuntime,
  served: ServedImage | undefined,
): RuntimePlan<PinnedContainer> {
  const { image } = container;
  const parsed = parseImageReference(image);
  if (!parsed.ok) return refused('invalid-document', `the image "${image}" ${parsed.reason}`, CATALOG_HINT);
  const { tag } = parsed;
  const name = fullRepository(image);
  const inside = parsed.digest as Digest | undefined;
  const beside = container.sha256 === undefined ? undefined : `sha256:${container.sha256}`;
  if (beside !== undefined && !isDigest(beside)) {
    return refused('invalid-document', `the sha256 of the image ${image} is not a digest`, CATALOG_HINT);
  }
  if (inside !== undefined && beside !== undefined && inside !== beside) {
    return refused(
      'digest-mismatch',
      `the digest of the image ${image} differs from its sha256, ${beside}`,
      CATALOG_HINT,
    );
  }
  const known = inside ?? beside;
  if (known !== undefined && served !== undefined && served.digest !== known) {
    return refused(
      'digest-mismatch',
      `${name} has the digest ${served.digest}, expected ${known}`,
      SERVED_HINT,
    );
  }
  const warnings: string[] = [];
  if (parsed.host === undefined) {
    warnings.push(`the image ${image} has no registry; krmhub uses ${name}, as Docker does`);
  }
  if (known === undefined) {
    const reference = `${name}:${tag ?? 'latest'}`;
    if (served === undefined) return { type: 'ask', reference };
    warnings.push(`the image ${image} has no digest; ${reference} is now ${served.digest}`);
  }
  const digest = known ?? served!.digest;
  const runtime: PinnedContainer = {
    type: 'container',
    image: `${name}@${digest}`,
    ...defined({ platforms: served?.platforms }),
    network: container.requireNetwork === true,
    storage: container.requireStorageMount === true,
  };
  return pinned(runtime, warnings);
}

/**
 * Returns how a locked container differs from one whose tag the lock resolved; `reference` has the tag, and undefined
 * is returned if it follows from that.
 */
export function tagDifference(
  locked: PinnedContainer,
  reference: string,
  { requireNetwork = false, requireStorageMount = false }: Partial<ContainerRuntime> = {},
): string | undefined {
  const place = reference.slice(0, reference.lastIndexOf(':'));
  if (locked.image.slice(0, locked.image.lastIndexOf('@')) !== place) {
    return `the image is ${locked.image}, expected ${place}`;
  }
  return permissionDifference(locked, { network: requireNetwork, storage: requireStorageMount });
}

function permissionDifference(
  locked: PinnedContainer,
  declared: Pick<PinnedContainer, 'network' | 'storage'>,
): string | undefined {
  if (locked.network && !declared.network) return 'it requires network access, but the definition does not';
  return locked.storage && !declared.storage ? 'it requires mounts, but the definition does not' : undefined;
}

function compareImages(
  before: ContainerRuntime,
  after: ContainerRuntime,
  place: Path,
  report: ReportChange,
): void {
  const digests = [
    pinnedDigest(before.image, before.sha256),
    pinnedDigest(after.image, after.sha256),
  ] as const;
  comparePins('the image', ...digests, place, report);
  const [was, is] = [parseImageReference(before.image), parseImageReference(after.image)];
  if (!was.ok || !is.ok) {
    if (before.image === after.image) return;
    report(
      'registry-changed',
      place,
      `the image changed from ${formatValue(before.image)} to ${formatValue(after.image)}`,
    );
    return;
  }
  if (was.host !== is.host) {
    const message = `the image registry changed from ${was.host ?? '(none)'} to ${is.host ?? '(none)'}`;
    report('registry-changed', place, message);
  }
  const [old, now] = digests;
  const bothPinned = old !== undefined && now !== undefined;
  const digestText = bothPinned ? `, the digest ${old === now ? 'is the same' : 'changed'}` : '';
  if (was.repository !== is.repository) {
    report(
      'repository-changed',
      place,
      `the image repository changed from ${was.repository} to ${is.repository}${digestText}`,
    );
  } else if (was.tag !== is.tag) {
    report(
      'image-changed',
      place,
      `the image tag changed from ${was.tag ?? '(none)'} to ${is.tag ?? '(none)'}${digestText}`,
    );
  } else if (bothPinned && old !== now) {
    report('image-changed', place, 'the image digest changed; the tag is the same');
  }
}

function readLock(field: LockField): PinnedContainer | undefined {
  const item = field.mapping({ required: ['image'], optional: ['network', 'storage', 'platforms'] });
  const written = item?.get('image');
  if (item === undefined || written === undefined) return undefined;
  const image = written.text();
  const network = item.get('network')?.boolean() === true;
  const storage = item.get('storage')?.boolean() === true;
  const declared = item.get('platforms');
  const platforms = declared && readImagePlatforms(declared);
  if (image === undefined) return undefined;
  const reference = parseImageReference(image);
  if (!reference.ok || reference.digest === undefined) {
    written.report('lock/runtime', `the image ${reference.ok ? 'has no digest' : reference.reason}`);
    return undefined;
  }
  return { type: 'container', image, network, storage, ...defined({ platforms }) };
}
