import { parsePlainUrl, parseRegistryUrl } from '@krmhub/api/client';
import { isCatalogName } from '@krmhub/consume/references/catalog-name';
import { catalogUrl } from '@krmhub/consume/trust/registry-snapshot';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';

/** A catalog, and optionally one of its snapshots. */
export interface CatalogAddress {
  /** URL of the registry, without a slash at its end. */
  registry: string;
  name: string;
  /** Absent for the newest. */
  serial?: number;
  /** URL of the catalog without the snapshot. */
  url: string;
}

/** Paths of a catalog, a snapshot, and their files. */
const PATH =
  /^(.*)\/catalogs\/([^/]+)(?:\/snapshots\/([1-9]\d{0,14}))?(?:\/(?:catalog\.yaml|catalog\.json|snapshot\.json|snapshot\.sigstore\.json)?)?$/;

/** Parses a URL, or the name of a catalog of `registry`. Throws `usage`. */
export function catalogAddress(target: string, registry: string, snapshot?: number): CatalogAddress {
  const { base, name, serial } = /^https?:\/\//i.test(target)
    ? parseCatalogUrl(target)
    : { base: parseRegistryUrl(registry), name: target, serial: undefined };
  if (serial !== undefined && snapshot !== undefined && serial !== snapshot) {
    throw new KrmhubError('usage', `the snapshots differ: ${serial} in the URL, ${snapshot} in --snapshot`, {
      hint: 'Remove --snapshot.',
    });
  }
  if (!isCatalogName(name)) {
    throw new KrmhubError('usage', `${JSON.stringify(name)} is not a valid catalog name`, {
      hint: 'Use a name or a URL, for example: krmhub catalog verify https://krm.example.com/catalogs/default',
    });
  }
  const root = base.origin + base.pathname.replace(/\/+$/, '');
  const pinned = serial ?? snapshot;
  return {
    registry: root,
    name,
    url: catalogUrl(root, name),
    ...defined({ serial: pinned }),
  };
}

function parseCatalogUrl(target: string): { base: URL; name: string; serial: number | undefined } {
  const url = parsePlainUrl(target);
  const match = PATH.exec(url.pathname);
  if (match === null) {
    throw new KrmhubError('usage', `${target} is not the URL of a catalog`, {
      hint: 'Use a URL that ends in /catalogs/NAME or /catalogs/NAME/snapshots/SERIAL.',
    });
  }
  const [, prefix = '', name = '', serial] = match;
  const base = new URL(url.origin);
  base.pathname = prefix;
  return { base, name, serial: serial === undefined ? undefined : Number(serial) };
}
