import { isGroup } from '../names/gvk.js';
import { parseOrigin } from './conversion.js';

/** The group of the functions of the kpt function catalog. */
export const KPT_GROUP = 'fn.kpt.dev';
/** The current and former registries of the kpt function catalog. */
const KPT_IMAGES = /^(?:ghcr\.io\/kptdev\/krm-functions-catalog|gcr\.io\/kpt-fn(?:-contrib)?)\//;

/** Kinds that the functions of the kpt function catalog read, if the name of the image does not say them. */
const KPT_KINDS: Readonly<Record<string, string>> = { starlark: 'StarlarkRun' };

/** Page hosts with a domain per owner, which can be a group. */
const PAGES: Readonly<Record<string, string>> = { 'github.com': 'github.io', 'gitlab.com': 'gitlab.io' };
/** Registries where the first folder is an account of a git host. */
const FORGE_REGISTRIES: Readonly<Record<string, string>> = {
  'ghcr.io': 'github.io',
  'registry.gitlab.com': 'gitlab.io',
};

/**
 * Derives a group from a link: the domain of the pages of its owner on GitHub or GitLab (`owner.github.io`), otherwise
 * the host. Undefined if the domain does not belong to the owner.
 */
export function groupOfLink(link: string): string | undefined {
  const origin = parseOrigin(link);
  if (origin === undefined) return undefined;
  const { host, owner } = origin;
  const pages = Object.hasOwn(PAGES, host) ? PAGES[host] : undefined;
  if (pages !== undefined) return owner === undefined ? undefined : asGroup(`${owner}.${pages}`);
  // The domain of another git host does not belong to its users.
  return owner === undefined ? asGroup(host) : undefined;
}

/** Returns the kind of the functionConfigs of a function of the kpt function catalog; undefined to derive it. */
export function kindOfImage(image: { host?: string | undefined; repository: string }): string | undefined {
  const name = image.repository.split('/').at(-1)!;
  const isKpt = KPT_IMAGES.test(`${image.host}/${image.repository}`);
  return isKpt && Object.hasOwn(KPT_KINDS, name) ? KPT_KINDS[name] : undefined;
}

/** Derives a group from an image, if its registry identifies the owner. */
export function groupOfImage(image: { host: string | undefined; repository: string }): string | undefined {
  if (image.host === undefined) return undefined;
  if (KPT_IMAGES.test(`${image.host}/${image.repository}`)) return KPT_GROUP;
  const pages = Object.hasOwn(FORGE_REGISTRIES, image.host) ? FORGE_REGISTRIES[image.host] : undefined;
  const [owner, ...rest] = image.repository.split('/');
  return pages === undefined || rest.length === 0 ? undefined : asGroup(`${owner}.${pages}`);
}

function asGroup(text: string): string | undefined {
  const group = text.toLowerCase();
  return isGroup(group) ? group : undefined;
}
