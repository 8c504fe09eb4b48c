import type { CatalogDetail } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';

export interface CatalogAddresses {
  /** The newest snapshot. */
  yaml: string;
  json: string;
  /** This snapshot, YAML; its bytes never change. */
  snapshot?: string;
}

/** Where a catalog is served, for tools that read catalogs by URL. */
export function catalogAddresses(registry: string, { name, newest }: CatalogDetail): CatalogAddresses {
  return {
    yaml: registry + fillPath('catalogYaml', { name }),
    json: registry + fillPath('catalogJson', { name }),
    ...(newest === undefined
      ? {}
      : { snapshot: registry + fillPath('snapshotCatalogYaml', { name, snapshot: String(newest.serial) }) }),
  };
}
