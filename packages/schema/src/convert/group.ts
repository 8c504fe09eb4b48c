import { isGroup } from '../names/gvk.js';
import { parseOrigin } from './conversion.js';

/** The group of the functions of the kpt function catalog. */
export const KPT_GROUP = 'fn.kpt.dev';
/** Where the images of the kpt function catalog are, now and before. */
const KPT_IMAGES = /^(?:ghcr\.io\/kptdev\/krm-functions-catalog|gcr\.io\/kpt-fn(?:-contrib)?)\//;

/** Pages of an owner, whose domain is a group that only this owner can hold. */
const PAGES: Readonly<Record<string, string>> = { 'github.com': 'github.io', 'gitlab.com': 'gitlab.io' };
/** Registries in which the first folder is an account of a forge. */
const FORGE_REGISTRIES: Readonly<Record<string, string>> = {
  'ghcr.io': 'github.io',
  'registry.gitlab.com': 'gitlab.io',
};

/**
 * The group that a link suggests: the domain of the owner's pages on GitHub or GitLab (`owner.github.io`), else the
 * host. Undefined where no group comes out that only the owner can hold.
 */
export function groupOfLink(link: string): string | undefined {
  const origin = parseOrigin(link);
  if (origin === undefined) return undefined;
  const { host, owner } = origin;
  const pages = PAGES[host];
  if (pages !== undefined) return owner === undefined ? undefined : asGroup(`${owner}.${pages}`);
  // The host of another forge belongs to no one who publishes on it.
  return owner === undefined ? asGroup(host) : undefined;
}

/** The group that an image suggests, if its registry says who pushed it. */
export function groupOfImage(image: { host: string | undefined; repository: string }): string | undefined {
  if (image.host === undefined) return undefined;
  if (KPT_IMAGES.test(`${image.host}/${image.repository}`)) return KPT_GROUP;
  const pages = FORGE_REGISTRIES[image.host];
  const [owner, ...rest] = image.repository.split('/');
  return pages === undefined || rest.length === 0 ? undefined : asGroup(`${owner}.${pages}`);
}

function asGroup(text: string): string | undefined {
  const group = text.toLowerCase();
  return isGroup(group) ? group : undefined;
}
